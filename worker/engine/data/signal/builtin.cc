// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/builtin.h"

#include <string>
#include <utility>

#include "worker/engine/data/signal/edf_records.h"
#include "worker/engine/data/signal/wfdb_records.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;
using catalogue::Rule;

// What windows of any recording take.
std::vector<Parameter> WindowParameters() {
  return {{.name = "leads",
           .type = "list<string>",
           .aliases = {"channels", "signals"},
           .scalar_ok = true,
           .help = "names of leads, or numbers from 0, in the order wanted; "
                   "absent: all"},
          {.name = "missing_leads",
           .type = "string",
           .default_value = "error",
           .choices = {"error", "zero"},
           .help = "what a record without one of the leads gives"},
          {.name = "window",
           .type = "float",
           .min = 0,
           .exclusive_min = true,
           .help = "seconds of a sample; absent: a whole record"},
          {.name = "stride",
           .type = "float",
           .min = 0,
           .exclusive_min = true,
           .help = "seconds from one window to the next; absent: the window"},
          {.name = "rest",
           .type = "string",
           .default_value = "drop",
           .choices = {"drop", "pad"},
           .help = "what becomes of a last window that is shorter"},
          {.name = "fs",
           .type = "float",
           .min = 0,
           .exclusive_min = true,
           .aliases = {"sampling_rate"},
           .help = "samples a second to resample to; absent: the records'"},
          {.name = "fill",
           .type = "float",
           .default_value = 0.0,
           .help = "value where a record has no sample"}};
}

WindowOptions ReadWindowOptions(const Params& params) {
  return {.window = params.OptionalFloat("window").value_or(0),
          .stride = params.OptionalFloat("stride").value_or(0),
          .pad_rest = params.String("rest") == "pad",
          .fs = params.OptionalFloat("fs").value_or(0),
          .fill = params.Float("fill")};
}

LabelSource ReadSource(const std::string& name) {
  if (name == "record") return LabelSource::kRecord;
  if (name == "comment") return LabelSource::kComment;
  if (name == "rhythm" || name == "annotation") return LabelSource::kAnnotation;
  if (name == "beat") return LabelSource::kBeat;
  if (name == "csv") return LabelSource::kCsv;
  return LabelSource::kNone;
}

// Where the labels and groups of any recording come from: `labels` and `group`
// with what they may be, and what of it a format has alone.
std::vector<Parameter> LabelParameters(Parameter labels, Parameter group) {
  return {std::move(labels),
          {.name = "classes",
           .type = "list<string>",
           .help = "labels in the order of their numbers"},
          {.name = "multi_label",
           .type = "bool",
           .default_value = false,
           .help = "a 0 or 1 per class in place of one class"},
          {.name = "unknown_label",
           .type = "string",
           .default_value = "error",
           .choices = {"error", "skip"},
           .help = "what a label that is no class does; skip leaves the window "
                   "out, or the label with multi_label"},
          {.name = "label_file",
           .type = "path",
           .help = "CSV file with a row per record, for labels and groups"},
          {.name = "record_column",
           .type = "string",
           .default_value = "record",
           .help = "its column of record names"},
          {.name = "label_column",
           .type = "string",
           .default_value = "label",
           .help = "its column of labels"},
          std::move(group),
          {.name = "group_column",
           .type = "string",
           .default_value = "patient",
           .help = "the CSV file's column of groups"}};
}

std::vector<Rule> LabelRules(std::vector<Json> labels) {
  return {{.check = Rule::Check::kNeeds,
           .of = {"classes"},
           .when = {{"labels", std::move(labels)}}},
          {.check = Rule::Check::kDistinct, .of = {"classes"}},
          {.check = Rule::Check::kNeeds,
           .of = {"label_file"},
           .when = {{"labels", {"csv"}}}},
          {.check = Rule::Check::kNeeds,
           .of = {"label_file"},
           .when = {{"group", {"csv"}}}}};
}

Component Recordings(const char* name, const char* help, Parameter records,
                     std::vector<Parameter> labels, std::vector<Rule> rules) {
  Component component{.kind = "dataset",
                      .name = name,
                      .help = help,
                      .parameters = {std::move(records)}};
  for (Parameter& each : WindowParameters()) {
    component.parameters.push_back(std::move(each));
  }
  for (Parameter& each : labels) {
    component.parameters.push_back(std::move(each));
  }
  component.rules = std::move(rules);
  return component;
}

void ReadRecordOptions(const Params& params, RecordOptions& options) {
  options.records = params.String("records");
  options.leads = params.Strings("leads");
  options.zero_missing_leads = params.String("missing_leads") == "zero";
  options.windows = ReadWindowOptions(params);
  options.labels = ReadSource(params.String("labels"));
  options.classes = {.names = params.Strings("classes"),
                     .is_multi = params.Bool("multi_label"),
                     .skip_unknown = params.String("unknown_label") == "skip"};
  options.group = ReadSource(params.String("group"));
  options.label_file = params.OptionalString("label_file").value_or("");
  options.record_column = params.String("record_column");
  options.label_column = params.String("label_column");
  options.group_column = params.String("group_column");
  options.notice = [&params](const std::string& text) {
    params.Notice("warning", params.path() + ": " + text);
  };
  if (!options.label_file.empty() && options.labels != LabelSource::kCsv &&
      options.group != LabelSource::kCsv) {
    params.Fail("label_file",
                "\"" + options.label_file +
                    "\", and neither labels nor group is csv, which reads it");
  }
}

Component WfdbRecordsComponent() {
  Component component = Recordings(
      "WfdbRecords", "windows of WFDB records [leads, samples], with labels",
      {.name = "records",
       .type = "path",
       .required = true,
       .aliases = {"db_dir"},
       .help = "folder, list of records (RECORDS) or header"},
      LabelParameters(
          {.name = "labels",
           .type = "string",
           .default_value = "none",
           .choices = {"none", "comment", "rhythm", "beat", "csv"},
           .help = "where labels stand: a header's comment, rhythm annotations "
                   "such as (AFIB, a CSV file; beat: a window about each "
                   "annotation whose symbol, such as N or V, is a class"},
          {.name = "group",
           .type = "string",
           .default_value = "record",
           .choices = {"record", "comment", "csv"},
           .help = "what the column `group` for splits is made of"}),
      LabelRules({"comment", "rhythm", "beat", "csv"}));
  component.rules.push_back({.check = Rule::Check::kNeeds,
                             .of = {"window"},
                             .when = {{"labels", {"beat"}}}});
  component.rules.push_back({.check = Rule::Check::kAbsent,
                             .of = {"stride"},
                             .when = {{"labels", {"beat"}}}});
  const std::vector<Parameter> own = {
      {.name = "label_key",
       .type = "string",
       .default_value = "Dx",
       .help = "comment `KEY: label, label` of headers"},
      {.name = "annotations",
       .type = "string",
       .default_value = "atr",
       .help = "extension of the annotation files"},
      {.name = "group_key",
       .type = "string",
       .default_value = "Patient",
       .help = "comment `KEY: group` of headers"},
      {.name = "checksums",
       .type = "string",
       .default_value = "warn",
       .choices = {"ignore", "warn", "error"},
       .help = "what a wrong checksum does, seen where a signal is read from "
               "end to end"},
      {.name = "verify",
       .type = "bool",
       .default_value = false,
       .help = "read every record once at the start"}};
  for (const Parameter& each : own) component.parameters.push_back(each);
  return component;
}

std::shared_ptr<Dataset> MakeWfdbRecords(const Params& params) {
  WfdbRecordsOptions options;
  ReadRecordOptions(params, options);
  options.label_key = params.String("label_key");
  options.annotations = params.String("annotations");
  options.group_key = params.String("group_key");
  options.verify = params.Bool("verify");
  const std::string checksums = params.String("checksums");
  options.checksums = checksums == "error"  ? ChecksumPolicy::kError
                      : checksums == "warn" ? ChecksumPolicy::kWarn
                                            : ChecksumPolicy::kIgnore;
  return LoadWfdbRecords(options);
}

Component EdfRecordsComponent() {
  return Recordings(
      "EdfRecords", "windows of EDF or BDF files [leads, samples], with labels",
      {.name = "records",
       .type = "path",
       .required = true,
       .help = "folder, or one file"},
      LabelParameters({.name = "labels",
                       .type = "string",
                       .default_value = "none",
                       .choices = {"none", "annotation", "csv"},
                       .help = "where labels stand: annotations of EDF+ whose "
                               "text is a class, a CSV file"},
                      {.name = "group",
                       .type = "string",
                       .default_value = "record",
                       .choices = {"record", "csv"},
                       .help = "what the column `group` for splits is made of; "
                               "record: each file is one"}),
      LabelRules({"annotation", "csv"}));
}

std::shared_ptr<Dataset> MakeEdfRecords(const Params& params) {
  RecordOptions options;
  ReadRecordOptions(params, options);
  return LoadEdfRecords(options);
}

}  // namespace

std::vector<Entry<Dataset>> BuiltinSignalDatasets() {
  return {{WfdbRecordsComponent(), MakeWfdbRecords},
          {EdfRecordsComponent(), MakeEdfRecords}};
}

}  // namespace epochd::engine
