// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/table/builtin.h"

#include <map>
#include <string>
#include <utility>

#include "worker/engine/data/table/csv_dataset.h"
#include "worker/engine/data/table/inline_tensors.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;

Component Csv() {
  return {.kind = "dataset",
          .name = "Csv",
          .help = "rows of a CSV file as numbers",
          .parameters =
              {{.name = "file",
                .type = "path",
                .required = true,
                .help = "CSV file, plain or gzip"},
               {.name = "header",
                .type = "bool",
                .default_value = true,
                .help = "the first row names the columns"},
               {.name = "delimiter",
                .type = "string",
                .default_value = ",",
                .aliases = {"sep"},
                .help = "one character, or \\t"},
               {.name = "input",
                .type = "list<string>",
                .scalar_ok = true,
                .help = "columns of the field `input`, by name or number from "
                        "0; absent: all that are nothing else"},
               {.name = "target",
                .type = "list<string>",
                .scalar_ok = true,
                .help = "columns of the field `target`; absent: it has none"},
               {.name = "target_type",
                .type = "string",
                .default_value = "auto",
                .choices = {"auto", "class", "number"},
                .help = "auto: a class where one column holds whole numbers "
                        "from 0 or `classes` is given"},
               {.name = "classes",
                .type = "list<string>",
                .help = "names of classes in the order of their numbers"},
               {.name = "group",
                .type = "string",
                .help = "column that splits by group may ask for"},
               {.name = "fields",
                .type = "map<list<string>>",
                .scalar_ok = true,
                .help = "further fields of numbers and their columns, such as "
                        "{sample_weight: w}: [B] of one column, [B, columns] "
                        "of more"},
               {.name = "ignore",
                .type = "list<string>",
                .scalar_ok = true,
                .help = "columns that are not input"},
               {.name = "missing",
                .type = "float",
                .help = "value of an empty cell; absent: an error"}},
          .rules = {
              {.check = catalogue::Rule::Check::kDistinct, .of = {"classes"}}}};
}

std::vector<std::pair<std::string, std::vector<std::string>>> FieldsOf(
    const Params& params) {
  std::vector<std::pair<std::string, std::vector<std::string>>> fields;
  if (!params.Has("fields")) return fields;
  for (const auto& [field, columns] : params.Raw("fields").items()) {
    fields.emplace_back(field, std::vector<std::string>());
    if (columns.is_string()) {
      fields.back().second.push_back(columns.get<std::string>());
    } else {
      columns.get_to(fields.back().second);
    }
  }
  return fields;
}

std::shared_ptr<Dataset> MakeCsv(const Params& params) {
  const std::string delimiter = params.String("delimiter");
  if (delimiter.size() != 1 && delimiter != "\\t") {
    params.Fail("delimiter",
                "\"" + delimiter + "\"; one character, or \\t, is accepted");
  }
  const std::string type = params.String("target_type");
  return LoadCsvDataset(
      {.file = params.String("file"),
       .csv = {.delimiter = delimiter.size() == 1 ? delimiter[0] : '\t',
               .has_header = params.Bool("header")},
       .inputs = params.Strings("input"),
       .targets = params.Strings("target"),
       .target_type = type == "class"    ? TargetType::kClass
                      : type == "number" ? TargetType::kNumber
                                         : TargetType::kAuto,
       .classes = params.Strings("classes"),
       .group = params.OptionalString("group").value_or(""),
       .fields = FieldsOf(params),
       .ignored = params.Strings("ignore"),
       .missing = params.OptionalFloat("missing"),
       .notice = [&params](const std::string& text) {
         params.Notice("warning", params.path() + ": " + text);
       }});
}

Component Tensors() {
  return {.kind = "dataset",
          .name = "Tensors",
          .help = "values written in the job file, a sample per entry",
          .parameters = {
              {.name = "fields",
               .type = "map<any>",
               .required = true,
               .min_items = 1,
               .help = "field to nested lists of numbers; a `target` of whole "
                       "numbers is int64, other numbers are float32"},
              {.name = "types",
               .type = "map<string>",
               .help = "field to float32, int64 or bool"}}};
}

std::shared_ptr<Dataset> MakeTensors(const Params& params) {
  std::map<std::string, std::string> types;
  if (params.Has("types")) {
    for (const auto& [field, type] : params.Raw("types").items()) {
      types[field] = type.get<std::string>();
      if (types[field] != "float32" && types[field] != "int64" &&
          types[field] != "bool") {
        params.Fail("types", "field \"" + field + "\" is \"" + types[field] +
                                 "\"; float32, int64 or bool is accepted");
      }
    }
  }
  Batch columns;
  for (const auto& [field, values] : params.Raw("fields").items()) {
    columns.Set(field,
                TensorOf(values, field, types[field], field == "target"));
  }
  return std::make_shared<TensorDataset>(std::move(columns));
}

}  // namespace

std::vector<Entry<Dataset>> BuiltinTableDatasets() {
  return {{Csv(), MakeCsv}, {Tensors(), MakeTensors}};
}

}  // namespace epochd::engine
