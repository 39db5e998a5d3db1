// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/loader_parameters.h"

#include <utility>

#include "worker/engine/data/views.h"

namespace epochd::engine {

std::vector<catalogue::Parameter> LoaderParameters() {
  return {
      {.name = "batch_size",
       .type = "int",
       .default_value = 32,
       .min = 1,
       .help = "samples of a batch, per rank"},
      {.name = "shuffle",
       .type = "bool",
       .default_value = false,
       .help = "another order each epoch, by seed and epoch"},
      {.name = "order",
       .type = "string",
       .default_value = "hashed",
       .choices = {"hashed", "torch"},
       .help = "of shuffled samples: a permutation of our own, or the one that "
               "torch's DistributedSampler makes of seed and epoch"},
      {.name = "threads",
       .type = "int",
       .default_value = 0,
       .min = 0,
       .max = 256,
       .aliases = {"num_workers"},
       .help = "threads that make batches ahead; 0: made when asked for"},
      {.name = "prefetch",
       .type = "int",
       .default_value = 4,
       .min = 1,
       .max = 1024,
       .help = "batches made ahead, over all threads"},
      {.name = "drop_last",
       .type = "bool",
       .default_value = false,
       .help = "leave out a last batch that is not full"},
      {.name = "endless",
       .type = "bool",
       .default_value = false,
       .help = "one epoch without end: the data again and again, each time in "
               "another order when shuffling"},
      {.name = "transforms",
       .type = "list<component<transform>>",
       .default_value = catalogue::Json::array(),
       .scalar_ok = true,
       .help = "what is done to each sample, in order"},
  };
}

std::shared_ptr<Dataset> WithTransforms(std::shared_ptr<Dataset> dataset,
                                        const Params& params) {
  auto transforms = params.MakeList<Transform>("transforms");
  if (transforms.empty()) return dataset;
  return std::make_shared<TransformedDataset>(std::move(dataset),
                                              std::move(transforms));
}

LoaderOptions ReadLoaderOptions(const Params& params) {
  LoaderOptions options;
  options.batch_size = params.Int("batch_size");
  options.shuffle = params.Bool("shuffle");
  options.threads = static_cast<int>(params.Int("threads"));
  options.prefetch = static_cast<int>(params.Int("prefetch"));
  options.drop_last = params.Bool("drop_last");
  return options;
}

}  // namespace epochd::engine
