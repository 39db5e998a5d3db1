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
      {.name = "sampler",
       .type = "component<sampler>",
       .help = "which samples an epoch has; each once by default"},
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
      {.name = "prefetch_bytes",
       .type = "size",
       .default_value = "1GiB",
       .help = "most memory of batches made ahead"},
      {.name = "pin_memory",
       .type = "bool",
       .default_value = false,
       .help = "batches lie in memory from which a GPU copies without waiting; "
               "nothing without a GPU"},
      {.name = "on_error",
       .type = "string",
       .default_value = "fail",
       .choices = {"fail", "skip"},
       .help = "what becomes of a sample that cannot be read: an error, or it "
               "is left out and counted; in training the next one stands in"},
      {.name = "max_skipped",
       .type = "int",
       .default_value = 100,
       .min = 0,
       .help = "samples that may be left out in an epoch of a rank"},
      {.name = "pad_batches",
       .type = "section<PadBatches>",
       .help = "samples of different lengths, or heights and widths, are "
               "padded to the longest of their batch"},
      {.name = "drop_last",
       .type = "bool",
       .default_value = false,
       .help = "leave out a last batch that is not full"},
      {.name = "endless",
       .type = "bool",
       .default_value = false,
       .help = "one epoch without end: the data again and again, each time in "
               "another order when shuffling; an IterationTrainer goes round "
               "anyway, and its epochs are the passes"},
      {.name = "transforms",
       .type = "list<component<transform>>",
       .default_value = catalogue::Json::array(),
       .scalar_ok = true,
       .help = "what is done to each sample, in order"},
  };
}

std::vector<catalogue::Rule> LoaderRules() {
  // A sampler says the order.
  return {{.check = catalogue::Rule::Check::kIs,
           .of = {"shuffle"},
           .values = {false},
           .when = {{.parameter = "sampler"}}}};
}

catalogue::Component PadBatchesSection() {
  catalogue::Component section{
      .kind = "section",
      .name = "PadBatches",
      .help = "how samples of different lengths become a batch"};
  section.parameters = {
      {.name = "field",
       .type = "string",
       .default_value = "input",
       .help = "whose lengths the mask tells"},
      {.name = "dims",
       .type = "int",
       .default_value = 1,
       .min = 1,
       .max = 2,
       .help = "1: samples differ in their last dimension, their length; 2: in "
               "the last two, height and width"},
      {.name = "mask",
       .type = "string",
       .default_value = "mask",
       .help = "field [B, L], of two dims [B, 1, H, W], that is made: true "
               "where samples are real"},
      {.name = "value",
       .type = "float",
       .default_value = 0.0,
       .help = "what fields are padded with"},
      {.name = "label",
       .type = "int",
       .default_value = -100,
       .help = "what whole numbers beside `field` are padded with"},
      {.name = "multiple",
       .type = "int",
       .default_value = 1,
       .min = 1,
       .max = 1 << 24,
       .help = "lengths are rounded up to a multiple"}};
  return section;
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
  options.sampler = params.Make<Sampler>("sampler");
  options.prefetch_bytes =
      catalogue::ParseBytes(params.String("prefetch_bytes")).value();
  options.policy.skip = params.String("on_error") == "skip";
  options.max_skipped = params.Int("max_skipped");
  options.pin_memory = params.Bool("pin_memory");
  if (params.Has("pad_batches")) {
    const catalogue::Json& given = params.Raw("pad_batches");
    CollateOptions& collate = options.collate;
    collate.pad = true;
    collate.pad_field = given.value("field", collate.pad_field);
    collate.dims = given.value("dims", collate.dims);
    collate.mask = given.value("mask", collate.mask);
    collate.pad_value = given.value("value", collate.pad_value);
    collate.pad_label = given.value("label", collate.pad_label);
    collate.multiple = given.value("multiple", collate.multiple);
  }
  return options;
}

}  // namespace epochd::engine
