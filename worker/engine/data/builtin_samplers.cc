// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/builtin_samplers.h"

#include "worker/engine/data/samplers.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;
using catalogue::Rule;

const Parameter kShuffle{.name = "shuffle",
                         .type = "bool",
                         .default_value = true,
                         .help = "another order each epoch"};
const Parameter kClassField{.name = "field",
                            .type = "string",
                            .default_value = "target",
                            .help = "field of class labels"};

template <bool kEndless>
std::shared_ptr<Sampler> MakePlain(const Params& params) {
  return std::make_shared<PlainSampler>(params.Bool("shuffle"), kEndless);
}

Component Weighted() {
  Component weighted{.kind = "sampler",
                     .name = "WeightedSampler",
                     .aliases = {"WeightedRandomSampler"},
                     .help = "draws samples in proportion to their weights"};
  weighted.parameters = {
      {.name = "weights",
       .type = "list<float>",
       .min = 0,
       .min_items = 1,
       .help = "one per sample"},
      {.name = "weight_field",
       .type = "string",
       .help = "the field of the data set that holds them"},
      {.name = "class_weights",
       .type = "list<float>",
       .min = 0,
       .min_items = 1,
       .help = "one per class, from 0"},
      {.name = "inverse_frequency",
       .type = "bool",
       .default_value = false,
       .help = "a sample weighs 1 / samples of its class"},
      kClassField,
      {.name = "num_samples",
       .type = "int",
       .min = 1,
       .help = "samples of an epoch, over all ranks; as many as the data set "
               "has by default"},
      {.name = "replacement",
       .type = "bool",
       .default_value = true,
       .help = "a sample may come several times in an epoch"}};
  // `inverse_frequency: false` says nothing.
  weighted.rules = {{.check = Rule::Check::kOneOf,
                     .of = {"weights", "weight_field", "class_weights"},
                     .when = {{"inverse_frequency", {false}}}},
                    {.check = Rule::Check::kAbsent,
                     .of = {"weights", "weight_field", "class_weights"},
                     .when = {{"inverse_frequency", {true}}}}};
  return weighted;
}

std::shared_ptr<Sampler> MakeWeighted(const Params& params) {
  WeightedSampler::Options options;
  options.weights = params.Floats("weights");
  options.weight_field = params.OptionalString("weight_field").value_or("");
  options.class_weights = params.Floats("class_weights");
  options.inverse_frequency = params.Bool("inverse_frequency");
  options.field = params.String("field");
  options.num_samples = params.OptionalInt("num_samples");
  options.replacement = params.Bool("replacement");
  return std::make_shared<WeightedSampler>(std::move(options));
}

Component Balanced() {
  Component balanced{.kind = "sampler",
                     .name = "BalancedSampler",
                     .aliases = {"ClassBalancedSampler"},
                     .help = "as many samples of each class, in each batch"};
  balanced.parameters = {
      kClassField,
      {.name = "per_class",
       .type = "int",
       .min = 1,
       .help = "samples of each class in an epoch, over all ranks"},
      {.name = "mode",
       .type = "string",
       .default_value = "oversample",
       .choices = {"oversample", "undersample"},
       .help = "per_class by default: samples of the greatest class, or of the "
               "smallest"}};
  return balanced;
}

std::shared_ptr<Sampler> MakeBalanced(const Params& params) {
  return std::make_shared<BalancedSampler>(BalancedSampler::Options{
      .field = params.String("field"),
      .per_class = params.OptionalInt("per_class"),
      .undersample = params.String("mode") == "undersample"});
}

Component Bucket() {
  Component bucket{
      .kind = "sampler",
      .name = "BucketSampler",
      .aliases = {"BucketBatchSampler"},
      .help = "batches of samples of like lengths; with pad_batches"};
  bucket.parameters = {{.name = "field",
                        .type = "string",
                        .default_value = "length",
                        .help = "field of lengths"},
                       {.name = "pool",
                        .type = "int",
                        .default_value = 100,
                        .min = 1,
                        .help = "batches whose samples are sorted together; "
                                "more: lengths are more alike, orders less "
                                "random"},
                       kShuffle};
  return bucket;
}

std::shared_ptr<Sampler> MakeBucket(const Params& params) {
  return std::make_shared<BucketSampler>(
      BucketSampler::Options{.field = params.String("field"),
                             .pool = params.Int("pool"),
                             .shuffle = params.Bool("shuffle")});
}

}  // namespace

std::vector<Entry<Sampler>> BuiltinSamplers() {
  return {{{.kind = "sampler",
            .name = "DefaultSampler",
            .aliases = {"DistributedSampler"},
            .help = "each sample once; the same as `shuffle` of the data set",
            .parameters = {kShuffle}},
           MakePlain<false>},
          {{.kind = "sampler",
            .name = "InfiniteSampler",
            .help = "each sample once, again and again; the same as `endless` "
                    "of the data set",
            .parameters = {kShuffle}},
           MakePlain<true>},
          {Weighted(), MakeWeighted},
          {Balanced(), MakeBalanced},
          {Bucket(), MakeBucket}};
}

}  // namespace epochd::engine
