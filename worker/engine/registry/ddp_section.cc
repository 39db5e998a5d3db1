// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/ddp_section.h"

#include <algorithm>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

constexpr char kKey[] = "ddp";

Compression ParseCompression(const std::string& name) {
  if (name == "fp16") return Compression::kFp16;
  if (name == "bf16") return Compression::kBf16;
  if (name == "powersgd") return Compression::kPowerSgd;
  return Compression::kNone;
}

BufferSync ParseBuffers(const std::string& name) {
  if (name == "mean") return BufferSync::kMean;
  if (name == "local") return BufferSync::kLocal;
  return BufferSync::kBroadcast;
}

}  // namespace

catalogue::Component DdpSection() {
  const SyncOptions sync;
  const PowerSgdOptions power_sgd;
  catalogue::Component ddp{.kind = "section",
                           .name = "Ddp",
                           .help = "how the ranks of a run work together"};
  ddp.parameters = {
      {.name = "find_unused_parameters",
       .type = "bool",
       .default_value = false,
       .help = "some parameters may get no gradient in a step"},
      {.name = "static_graph",
       .type = "bool",
       .default_value = false,
       .help = "every step uses the parameters that the first one used"},
      {.name = "compression",
       .type = "string",
       .default_value = "none",
       .choices = {"none", "fp16", "bf16", "powersgd"},
       .help = "of gradients on the way between ranks"},
      {.name = "powersgd_rank",
       .type = "int",
       .default_value = power_sgd.rank,
       .min = 1,
       .help = "of the factors"},
      {.name = "powersgd_start_step",
       .type = "int",
       .default_value = power_sgd.start_step,
       .min = 2,
       .help = "steps without compression, at first"},
      {.name = "powersgd_min_compression_rate",
       .type = "float",
       .default_value = power_sgd.min_compression_rate,
       .min = 0,
       .help = "matrices that would shrink less stay as they are"},
      {.name = "powersgd_error_feedback",
       .type = "bool",
       .default_value = power_sgd.error_feedback,
       .help = "add what the last step's compression lost"},
      {.name = "powersgd_warm_start",
       .type = "bool",
       .default_value = power_sgd.warm_start,
       .help = "start from the last step's factors"},
      {.name = "powersgd_epsilon",
       .type = "float",
       .default_value = power_sgd.epsilon,
       .min = 0,
       .help = "added to norms, against division by zero"},
      {.name = "buffers",
       .type = "string",
       .default_value = "broadcast",
       .choices = {"broadcast", "mean", "local"},
       .help = "running statistics: rank 0's before each pass; each rank its "
               "own, averaged before validation; or its own throughout"},
      {.name = "bucket_mb",
       .type = "float",
       .default_value = static_cast<double>(sync.bucket_bytes >> 20),
       .min = 0,
       .exclusive_min = true,
       .aliases = {"bucket_cap_mb"},
       .help = "gradients are summed in groups of about this size"},
      {.name = "shard_optimizer",
       .type = "bool",
       .default_value = false,
       .help = "each rank keeps a part of the optimizer's state (ZeRO stage "
               "1)"},
      {.name = "uneven",
       .type = "string",
       .default_value = "pad",
       .choices = {"pad", "drop"},
       .help = "training samples that do not share out evenly over ranks: "
               "some twice, or the last ones not at all"},
      {.name = "timeout",
       .type = "duration",
       .default_value = "2m",
       .help = "how long a rank waits for another"}};
  return ddp;
}

DdpOptions ReadDdp(const Registry& registry, const catalogue::Json& experiment,
                   const std::string& root) {
  static const catalogue::Json kNone = catalogue::Json::object();
  const auto found = experiment.find(kKey);
  const bool is_given = found != experiment.end() && !found->is_null();
  const catalogue::Json given =
      Complete(*registry.Find("section", "Ddp"), is_given ? *found : kNone);
  DdpOptions options;
  SyncOptions& sync = options.sync;
  sync.find_unused_parameters = given.at("find_unused_parameters").get<bool>();
  sync.static_graph = given.at("static_graph").get<bool>();
  if (sync.find_unused_parameters && sync.static_graph) {
    throw Error(ErrorKind::kBadSpec,
                root + "." + kKey +
                    ": find_unused_parameters and static_graph exclude each "
                    "other; a static graph finds unused ones in its first "
                    "step");
  }
  sync.compression = ParseCompression(given.at("compression"));
  sync.power_sgd = {
      .rank = given.at("powersgd_rank").get<int64_t>(),
      .start_step = given.at("powersgd_start_step").get<int64_t>(),
      .min_compression_rate =
          given.at("powersgd_min_compression_rate").get<double>(),
      .error_feedback = given.at("powersgd_error_feedback").get<bool>(),
      .warm_start = given.at("powersgd_warm_start").get<bool>(),
      .epsilon = given.at("powersgd_epsilon").get<double>()};
  sync.buffers = ParseBuffers(given.at("buffers"));
  sync.bucket_bytes = std::max<int64_t>(
      1, static_cast<int64_t>(given.at("bucket_mb").get<double>() * (1 << 20)));
  options.shards_optimizer = given.at("shard_optimizer").get<bool>();
  options.drops_uneven = given.at("uneven") == "drop";
  return options;
}

std::optional<std::chrono::milliseconds> PeerTimeout(
    const std::string& experiment_json) {
  const auto experiment = catalogue::Json::parse(experiment_json, nullptr,
                                                 /*allow_exceptions=*/false);
  if (!experiment.is_object() || !experiment.contains(kKey)) return {};
  const catalogue::Json& ddp = experiment.at(kKey);
  if (!ddp.is_object() || !ddp.contains("timeout") ||
      !ddp.at("timeout").is_string()) {
    return {};
  }
  const auto seconds =
      catalogue::ParseDuration(ddp.at("timeout").get<std::string>());
  if (!seconds) return {};
  return std::chrono::milliseconds(static_cast<int64_t>(*seconds * 1000));
}

}  // namespace epochd::engine
