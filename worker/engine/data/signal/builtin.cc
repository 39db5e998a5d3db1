// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/builtin.h"

#include <string>
#include <utility>

#include "worker/engine/data/signal/edf_records.h"
#include "worker/engine/data/signal/wfdb_records.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;

// What windows of any recording take.
std::vector<Parameter> WindowParameters() {
  return {{.name = "leads",
           .type = "list<string>",
           .aliases = {"channels", "signals"},
           .scalar_ok = true,
           .help = "Names of leads, or numbers from 0, in the order wanted; "
                   "absent: all."},
          {.name = "missing_leads",
           .type = "string",
           .default_value = "error",
           .choices = {"error", "zero"},
           .help = "What a record without one of the leads gives."},
          {.name = "window",
           .type = "float",
           .min = 0,
           .exclusive_min = true,
           .help = "Seconds of a sample; absent: a whole record."},
          {.name = "stride",
           .type = "float",
           .min = 0,
           .exclusive_min = true,
           .help = "Seconds from one window to the next; absent: the window."},
          {.name = "rest",
           .type = "string",
           .default_value = "drop",
           .choices = {"drop", "pad"},
           .help = "What becomes of a last window that is shorter."},
          {.name = "fs",
           .type = "float",
           .min = 0,
           .exclusive_min = true,
           .aliases = {"sampling_rate"},
           .help = "Samples a second to resample to; absent: the records'."},
          {.name = "fill",
           .type = "float",
           .default_value = 0.0,
           .help = "Value where a record has no sample."}};
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
  if (name == "rhythm") return LabelSource::kRhythm;
  if (name == "csv") return LabelSource::kCsv;
  return LabelSource::kNone;
}

Component WfdbRecordsComponent() {
  Component component{
      .kind = "dataset",
      .name = "WfdbRecords",
      .help = "Windows of WFDB records [leads, samples], with labels.",
      .parameters = {{.name = "records",
                      .type = "path",
                      .required = true,
                      .aliases = {"db_dir"},
                      .help = "Folder, list of records (RECORDS) or header."}}};
  for (Parameter& each : WindowParameters()) {
    component.parameters.push_back(std::move(each));
  }
  const std::vector<Parameter> labels = {
      {.name = "labels",
       .type = "string",
       .default_value = "none",
       .choices = {"none", "comment", "rhythm", "csv"},
       .help = "Where labels stand: a header's comment, rhythm annotations "
               "such as (AFIB, a CSV file."},
      {.name = "classes",
       .type = "list<string>",
       .help = "Labels in the order of their numbers."},
      {.name = "multi_label",
       .type = "bool",
       .default_value = false,
       .help = "A 0 or 1 per class in place of one class."},
      {.name = "unknown_label",
       .type = "string",
       .default_value = "error",
       .choices = {"error", "skip"},
       .help = "What a label that is no class does; skip leaves the window "
               "out, or the label with multi_label."},
      {.name = "label_key",
       .type = "string",
       .default_value = "Dx",
       .help = "Comment `KEY: label, label` of headers."},
      {.name = "annotations",
       .type = "string",
       .default_value = "atr",
       .help = "Extension of the annotation files."},
      {.name = "label_file",
       .type = "path",
       .help = "CSV file with a row per record, for labels and groups."},
      {.name = "record_column",
       .type = "string",
       .default_value = "record",
       .help = "Its column of record names."},
      {.name = "label_column",
       .type = "string",
       .default_value = "label",
       .help = "Its column of labels."},
      {.name = "group",
       .type = "string",
       .default_value = "record",
       .choices = {"record", "comment", "csv"},
       .help = "What the column `group` for splits is made of."},
      {.name = "group_key",
       .type = "string",
       .default_value = "Patient",
       .help = "Comment `KEY: group` of headers."},
      {.name = "group_column",
       .type = "string",
       .default_value = "patient",
       .help = "The CSV file's column of groups."},
      {.name = "checksums",
       .type = "string",
       .default_value = "warn",
       .choices = {"ignore", "warn", "error"},
       .help = "What a wrong checksum does, seen where a signal is read from "
               "end to end."},
      {.name = "verify",
       .type = "bool",
       .default_value = false,
       .help = "Read every record once at the start."}};
  for (const Parameter& each : labels) component.parameters.push_back(each);
  return component;
}

std::shared_ptr<Dataset> MakeWfdbRecords(const Params& params) {
  WfdbRecordsOptions options{
      .records = params.String("records"),
      .leads = params.Strings("leads"),
      .zero_missing_leads = params.String("missing_leads") == "zero",
      .windows = ReadWindowOptions(params),
      .labels = ReadSource(params.String("labels")),
      .label_key = params.String("label_key"),
      .annotations = params.String("annotations"),
      .label_file = params.OptionalString("label_file").value_or(""),
      .record_column = params.String("record_column"),
      .label_column = params.String("label_column"),
      .classes = {.names = params.Strings("classes"),
                  .is_multi = params.Bool("multi_label"),
                  .skip_unknown = params.String("unknown_label") == "skip"},
      .group = ReadSource(params.String("group")),
      .group_key = params.String("group_key"),
      .group_column = params.String("group_column"),
      .verify = params.Bool("verify")};
  const std::string checksums = params.String("checksums");
  options.checksums = checksums == "error"  ? ChecksumPolicy::kError
                      : checksums == "warn" ? ChecksumPolicy::kWarn
                                            : ChecksumPolicy::kIgnore;
  if (options.labels != LabelSource::kNone && options.classes.names.empty()) {
    params.Fail("classes", "missing; labels need the classes' names");
  }
  if ((options.labels == LabelSource::kCsv ||
       options.group == LabelSource::kCsv) &&
      options.label_file.empty()) {
    params.Fail("label_file", "missing; labels or groups from a CSV need it");
  }
  return LoadWfdbRecords(options);
}

Component EdfRecordsComponent() {
  Component component{.kind = "dataset",
                      .name = "EdfRecords",
                      .help = "Windows of EDF or BDF files [leads, samples].",
                      .parameters = {{.name = "records",
                                      .type = "path",
                                      .required = true,
                                      .help = "Folder, or one file."}}};
  for (Parameter& each : WindowParameters()) {
    component.parameters.push_back(std::move(each));
  }
  const std::vector<Parameter> labels = {
      {.name = "label_file",
       .type = "path",
       .help = "CSV file with a row per file; absent: no labels."},
      {.name = "record_column",
       .type = "string",
       .default_value = "record",
       .help = "Its column of file names without extension."},
      {.name = "label_column",
       .type = "string",
       .default_value = "label",
       .help = "Its column of labels."},
      {.name = "group_column",
       .type = "string",
       .help = "Its column of groups; absent: each file is one."},
      {.name = "classes",
       .type = "list<string>",
       .help = "Labels in the order of their numbers."},
      {.name = "multi_label",
       .type = "bool",
       .default_value = false,
       .help = "A 0 or 1 per class in place of one class."},
      {.name = "unknown_label",
       .type = "string",
       .default_value = "error",
       .choices = {"error", "skip"},
       .help = "What a label that is no class does."}};
  for (const Parameter& each : labels) component.parameters.push_back(each);
  return component;
}

std::shared_ptr<Dataset> MakeEdfRecords(const Params& params) {
  EdfRecordsOptions options{
      .records = params.String("records"),
      .leads = params.Strings("leads"),
      .zero_missing_leads = params.String("missing_leads") == "zero",
      .windows = ReadWindowOptions(params),
      .label_file = params.OptionalString("label_file").value_or(""),
      .record_column = params.String("record_column"),
      .label_column = params.String("label_column"),
      .classes = {.names = params.Strings("classes"),
                  .is_multi = params.Bool("multi_label"),
                  .skip_unknown = params.String("unknown_label") == "skip"},
      .group_column = params.OptionalString("group_column").value_or("")};
  if (!options.label_file.empty() && options.classes.names.empty()) {
    params.Fail("classes", "missing; labels need the classes' names");
  }
  return LoadEdfRecords(options);
}

}  // namespace

std::vector<Entry<Dataset>> BuiltinSignalDatasets() {
  return {{WfdbRecordsComponent(), MakeWfdbRecords},
          {EdfRecordsComponent(), MakeEdfRecords}};
}

}  // namespace epochd::engine
