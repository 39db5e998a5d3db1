// SPDX-License-Identifier: Apache-2.0
//
// Metrics of classes and labels.
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/loss/declarations.h"
#include "worker/engine/metric/accuracy.h"
#include "worker/engine/metric/challenge_score.h"
#include "worker/engine/metric/decisions.h"
#include "worker/engine/metric/declarations.h"
#include "worker/engine/metric/ranking.h"
#include "worker/engine/metric/weight_table.h"

namespace epochd::engine {
namespace {

using catalogue::Parameter;

Parameter IgnoredClass() {
  return {.name = "ignore_index",
          .type = "int",
          .default_value = -100,
          .help = "samples of this class do not count"};
}

Parameter FromLogits() {
  return {.name = "from_logits",
          .type = "bool",
          .default_value = true,
          .help = "scores are logits, not probabilities"};
}

void AddTo(std::vector<Parameter>& parameters, std::vector<Parameter> more) {
  for (Parameter& each : more) parameters.push_back(std::move(each));
}

// What ReadLabels() asks.
std::vector<Parameter> LabelParameters() {
  return {{.name = "task",
           .type = "string",
           .default_value = "auto",
           .choices = {"auto", "multiclass", "multilabel", "binary"},
           .help = "auto: integer targets without the second dimension are "
                   "classes, targets of the scores' shape are labels"},
          IgnoredClass(),
          FromLogits()};
}

Parameter Threshold() {
  return {.name = "threshold",
          .type = "float",
          .default_value = 0.5,
          .min = 0.0,
          .max = 1.0,
          .help = "probability from which on a label is given"};
}

Parameter ClassNamesParameter() {
  return {.name = "classes",
          .type = "list<string>",
          .default_value = catalogue::Json::array(),
          .aliases = {"class_names"},
          .help = "names of the classes; numbers when empty"};
}

std::vector<Parameter> AverageParameters() {
  return {{.name = "average",
           .type = "string",
           .default_value = "macro",
           .choices = {"macro", "micro", "weighted"},
           .help = "each class alike, all counts together, or by how often a "
                   "class is true"},
          {.name = "per_class",
           .type = "bool",
           .default_value = false,
           .help = "also <name>/<class> of each class"},
          ClassNamesParameter()};
}

LabelOptions LabelsFrom(const Params& params) {
  LabelOptions options;
  options.fields = MetricFields(params);
  options.task = LabelTaskOf(params.String("task"));
  options.ignore_index = params.Int("ignore_index");
  options.weighing = WeighingFrom(params);
  options.from_logits = params.Bool("from_logits");
  return options;
}

void FillDecision(const Params& params, DecisionOptions& options) {
  options.labels = LabelsFrom(params);
  options.name = params.String("name");
  options.threshold = params.Float("threshold");
  options.classes = params.Strings("classes");
}

std::shared_ptr<Metric> MakeTopKOf(const Params& params, int64_t k,
                                   std::string name) {
  TopKAccuracy::Options options;
  options.fields = MetricFields(params);
  options.name = std::move(name);
  options.k = k;
  options.ignore_index = params.Int("ignore_index");
  options.weighing = WeighingFrom(params);
  options.from_logits = params.Bool("from_logits");
  return std::make_shared<TopKAccuracy>(std::move(options));
}

std::shared_ptr<Metric> MakeAccuracy(const Params& params) {
  return MakeTopKOf(params, 1, params.String("name"));
}

std::shared_ptr<Metric> MakeTopK(const Params& params) {
  const int64_t k = params.Int("k");
  return MakeTopKOf(params, k,
                    params.OptionalString("name").value_or(
                        "top" + std::to_string(k) + "_accuracy"));
}

template <ClassScore::Kind kind>
std::shared_ptr<Metric> MakeClassScore(const Params& params) {
  ClassScore::Options options;
  FillDecision(params, options);
  options.kind = kind;
  if (kind == ClassScore::Kind::kFBeta) options.beta = params.Float("beta");
  options.average = AverageOf(params.String("average"));
  options.per_class = params.Bool("per_class");
  return std::make_shared<ClassScore>(options);
}

// A metric with per_class.
catalogue::Component ByClass(const std::string& type,
                             std::vector<std::string> aliases,
                             const std::string& name, const std::string& help,
                             std::vector<Parameter> parameters) {
  AddTo(parameters, LabelParameters());
  return {
      .kind = "metric",
      .name = type,
      .aliases = std::move(aliases),
      .help = help,
      .parameters = MetricParameters(std::move(parameters), name),
      .gives = {"val/{name}", "test/{name}", "val/{name}/*", "test/{name}/*"}};
}

template <ClassScore::Kind kind>
Entry<Metric> ScoreEntry(const std::string& type,
                         std::vector<std::string> aliases,
                         const std::string& name, const std::string& help) {
  std::vector<Parameter> parameters;
  if (kind == ClassScore::Kind::kFBeta) {
    parameters.push_back({.name = "beta",
                          .type = "float",
                          .default_value = 1.0,
                          .min = 0.0,
                          .exclusive_min = true,
                          .help = "how much more recall weighs"});
  }
  AddTo(parameters, AverageParameters());
  parameters.push_back(Threshold());
  return {ByClass(type, std::move(aliases), name, help, std::move(parameters)),
          &MakeClassScore<kind>};
}

template <bool precision>
std::shared_ptr<Metric> MakeRanking(const Params& params) {
  RankingMetric::Options options;
  options.precision = precision;
  options.labels = LabelsFrom(params);
  options.name = params.String("name");
  options.average = AverageOf(params.String("average"));
  options.per_class = params.Bool("per_class");
  options.classes = params.Strings("classes");
  return std::make_shared<RankingMetric>(std::move(options));
}

template <bool precision>
Entry<Metric> RankingEntry(const std::string& type,
                           std::vector<std::string> aliases,
                           const std::string& name, const std::string& help) {
  return {ByClass(type, std::move(aliases), name, help, AverageParameters()),
          &MakeRanking<precision>};
}

Entry<Metric> ConfusionEntry() {
  std::vector<Parameter> parameters = {ClassNamesParameter(), Threshold()};
  AddTo(parameters, LabelParameters());
  return {{.kind = "metric",
           .name = "ConfusionMatrix",
           .aliases = {"confusion_matrix"},
           .help = "counts of true against predicted classes, or of each "
                   "label; MetricLogger writes them as CSV, and "
                   "<name>/labels says how many there are",
           .parameters =
               MetricParameters(std::move(parameters), "confusion_matrix"),
           .gives = {"val/{name}/labels", "test/{name}/labels"}},
          [](const Params& params) -> std::shared_ptr<Metric> {
            DecisionOptions options;
            FillDecision(params, options);
            return std::make_shared<ConfusionMatrix>(std::move(options));
          }};
}

// `weights`, a list of rows.
std::vector<std::vector<double>> MatrixFrom(const Params& params) {
  std::vector<std::vector<double>> rows;
  const catalogue::Json& given = params.Raw("weights");
  const auto fail = [&params] {
    params.Fail("weights",
                "a square matrix is accepted: as many numbers in each row as "
                "there are rows");
  };
  for (const auto& row : given) {
    rows.emplace_back();
    if (row.size() != given.size()) fail();
    for (const auto& number : row) {
      rows.back().push_back(number.get<double>());
    }
  }
  return rows;
}

int64_t NormalClassFrom(const Params& params,
                        const std::vector<std::string>& classes,
                        int64_t count) {
  const catalogue::Json& given = params.Raw("normal_class");
  if (given.is_number_integer()) {
    const auto index = given.get<int64_t>();
    if (index >= 0 && index < count) return index;
  } else if (given.is_string()) {
    for (size_t i = 0; i < classes.size(); ++i) {
      if (classes[i] == given.get<std::string>()) {
        return static_cast<int64_t>(i);
      }
    }
  }
  params.Fail("normal_class",
              given.dump() + " is none of the " + std::to_string(count) +
                  " classes; a number from 0 or a name of `classes` is "
                  "accepted");
}

std::shared_ptr<Metric> MakeChallengeScore(const Params& params) {
  ChallengeScore::Options options;
  options.labels = LabelsFrom(params);
  options.name = params.String("name");
  options.threshold = params.Float("threshold");
  std::vector<std::string> classes = params.Strings("classes");
  if (params.Has("weights")) {
    options.weights = MatrixFrom(params);
    if (!classes.empty() && classes.size() != options.weights.size()) {
      params.Fail("classes", std::to_string(classes.size()) + " names for " +
                                 std::to_string(options.weights.size()) +
                                 " rows of weights");
    }
  } else {
    WeightTable table = ReadWeightTable(params.String("weights_file"), classes);
    options.weights = std::move(table.weights);
    classes = std::move(table.classes);
  }
  if (options.weights.empty()) {
    params.Fail("weights", "a matrix of at least one class is accepted");
  }
  options.normal_class = NormalClassFrom(
      params, classes, static_cast<int64_t>(options.weights.size()));
  return std::make_shared<ChallengeScore>(std::move(options));
}

Entry<Metric> ChallengeEntry() {
  std::vector<Parameter> parameters = {
      {.name = "weights",
       .type = "list<list<float>>",
       .min_items = 1,
       .help = "what each pair of a true (row) and a given class (column) "
               "earns"},
      {.name = "weights_file",
       .type = "path",
       .help = "the same as CSV whose first row and column name the classes, "
               "as weights.csv of the challenges"},
      {.name = "classes",
       .type = "list<string>",
       .default_value = catalogue::Json::array(),
       .help = "names of the scores' classes in order; with weights_file those "
               "of its classes that are meant, all by default"},
      {.name = "normal_class",
       .type = "any",
       .required = true,
       .help = "what an inactive detector says: its number or name (426783006, "
               "sinus rhythm, in the challenges)"},
      Threshold()};
  AddTo(parameters, LabelParameters());
  return {
      {.kind = "metric",
       .name = "ChallengeScore",
       .aliases = {"CinCScore", "challenge_metric"},
       .help = "score of the PhysioNet/CinC challenges of 2020 and 2021",
       .parameters = MetricParameters(std::move(parameters), "challenge_score"),
       .rules = {{.check = catalogue::Rule::Check::kOneOf,
                  .of = {"weights", "weights_file"}}}},
      &MakeChallengeScore};
}

}  // namespace

std::vector<Entry<Metric>> BuiltinLabelMetrics() {
  using Kind = ClassScore::Kind;
  return {
      {{.kind = "metric",
        .name = "Accuracy",
        .aliases = {"accuracy"},
        .help = "share of samples whose class has the highest score; of one "
                "score, whose label is right",
        .parameters =
            MetricParameters({IgnoredClass(), FromLogits()}, "accuracy")},
       &MakeAccuracy},
      {{.kind = "metric",
        .name = "TopK",
        .aliases = {"TopKAccuracy", "top_k"},
        .help = "share of samples whose class is among the k highest scores",
        .parameters = MetricParametersNamed(
            {{.name = "k",
              .type = "int",
              .default_value = 5,
              .min = 1,
              .aliases = {"topk", "top_k"},
              .help = "how many scores count"},
             IgnoredClass(),
             FromLogits()},
            {.name = "name",
             .type = "string",
             .help = "name behind the phase; top<k>_accuracy when absent"})},
       &MakeTopK},
      ScoreEntry<Kind::kAccuracy>(
          "LabelAccuracy", {"BinaryAccuracy", "MultilabelAccuracy"},
          "label_accuracy", "share of yes-or-no labels that are right"),
      ScoreEntry<Kind::kPrecision>("Precision", {"precision"}, "precision",
                                   "share of what is predicted that is true"),
      ScoreEntry<Kind::kRecall>("Recall", {"Sensitivity", "recall"}, "recall",
                                "share of what is true that is predicted"),
      ScoreEntry<Kind::kFBeta>("F1", {"F1Score", "FBeta", "FBetaScore", "f1"},
                               "f1", "harmonic mean of precision and recall"),
      ScoreEntry<Kind::kSpecificity>(
          "Specificity", {"specificity"}, "specificity",
          "share of what is not true that is not predicted"),
      ScoreEntry<Kind::kIou>("IoU", {"JaccardIndex", "iou"}, "iou",
                             "what is true and predicted over what is either"),
      ConfusionEntry(),
      RankingEntry<false>("AUROC", {"ROCAUC", "auroc"}, "auroc",
                          "area under the ROC curve"),
      RankingEntry<true>("AveragePrecision", {"AUPRC", "auprc"}, "auprc",
                         "area under the precision-recall curve, as a sum over "
                         "thresholds"),
      ChallengeEntry(),
  };
}

}  // namespace epochd::engine
