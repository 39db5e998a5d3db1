// SPDX-License-Identifier: Apache-2.0
// That archives of Python's load and compute the same is in tests/golden.
#include "worker/engine/model/torch_script.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <fstream>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kLinear[] = R"(
def forward(self, x):
    return torch.matmul(x, self.weight) + self.bias
)";

class TorchScriptTest : public ::testing::Test {
 protected:
  // An archive whose forward method is `source`.
  std::string Save(const std::string& source) {
    torch::jit::Module module("Net");
    module.register_parameter(
        "weight", at::ones({64, 10}).div_(64).requires_grad_(), false);
    module.register_parameter("bias", at::zeros({10}).requires_grad_(), false);
    module.register_buffer("scale", at::ones({1}));
    module.register_attribute("training", c10::BoolType::get(), true);
    module.define(source);
    const std::string path = folder_ / "net.pt";
    module.save(path);
    return path;
  }

  std::string WhyRefused(const Json& experiment,
                         const Registry& registry = Allowing()) {
    CollectingSink sink;
    const auto communicator = MakeSingleCommunicator();
    try {
      BuildExperiment(registry, experiment,
                      {.environment = {.communicator = communicator.get(),
                                       .events = &sink,
                                       .output_dir = ""}});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadSpec);
      return error.what();
    }
    return "";
  }

  static const Registry& Allowing() {
    static const Registry registry = [] {
      Registry filled;
      AddBuiltins(filled);
      filled.Add(hooks::BuiltinHooks());
      filled.AllowTorchScript();
      filled.Freeze();
      return filled;
    }();
    return registry;
  }

  static Json Experiment(const std::string& file) {
    Json experiment = DigitsExperiment(1);
    experiment["model"] = {{"type", "TorchScript"}, {"file", file}};
    return experiment;
  }

  TempFolder folder_;
};

TEST_F(TorchScriptTest, IsRefusedUnlessTheWorkerAllowsIt) {
  const std::string file = Save(kLinear);
  EXPECT_THAT(WhyRefused(Experiment(file), TestRegistry()),
              HasSubstr("experiment.model: a TorchScript archive holds code"));
  EXPECT_EQ(WhyRefused(Experiment(file)), "");
}

TEST_F(TorchScriptTest, TrainsLikeAnyOtherModel) {
  CollectingSink sink;
  const auto communicator = MakeSingleCommunicator();
  class Experiment experiment =
      BuildExperiment(Allowing(), TorchScriptTest::Experiment(Save(kLinear)),
                      {.environment = {.communicator = communicator.get(),
                                       .events = &sink,
                                       .output_dir = ""}});
  Trainer& trainer = *experiment.trainer;
  ASSERT_EQ(trainer.model().Parameters().size(), 2u);
  EXPECT_EQ(trainer.model().Parameters()[0].name, "weight");
  EXPECT_EQ(trainer.model().Buffers()[0].name, "scale");
  trainer.Start();
  trainer.Run();
  EXPECT_GT(trainer.monitor().best, 0.5);
  EXPECT_FALSE(
      trainer.model().Parameters()[0].tensor.eq(1.0 / 64).all().item<bool>());
}

TEST_F(TorchScriptTest, IsTriedOnASampleBeforeTraining) {
  const std::string wide = Save(R"(
def forward(self, x):
    return torch.matmul(x, self.weight.t())
)");
  const std::string reason = WhyRefused(Experiment(wide));
  EXPECT_THAT(reason, HasSubstr("a pass with one sample (input [1, 64] float"));
  const std::string two = Save(R"(
def forward(self, x):
    return (torch.matmul(x, self.weight), x)
)");
  EXPECT_THAT(WhyRefused(Experiment(two)),
              HasSubstr("returned 2 values; a tensor for each of its outputs "
                        "(output) is accepted"));
  const std::string whole = Save(R"(
def forward(self, x):
    return torch.argmax(torch.matmul(x, self.weight), 1)
)");
  EXPECT_THAT(WhyRefused(Experiment(whole)),
              HasSubstr("\"output\" is of type Long"));
  const std::string raises = Save(R"(
def forward(self, x):
    assert x.size(0) > 5, "too few"
    return torch.matmul(x, self.weight)
)");
  EXPECT_THAT(WhyRefused(Experiment(raises)), HasSubstr("too few"));
}

// Images [1, 8, 8] of whole numbers, of which the first cannot be read.
class WholeImages : public Dataset {
 public:
  int64_t Size() const override { return 8; }
  Batch Get(int64_t index, const SampleSeed& /*seed*/) const override {
    if (index == 0) throw Error(ErrorKind::kBadSpec, "0.png: broken");
    return Batch{{"input", at::full({1, 7, 8}, index, at::kByte)},
                 {"target", at::scalar_tensor(index, at::kLong)}};
  }
};

// What is tried is what the model will see: read as the loader does, and gone
// through the preprocessor, in the precision of the run.
TEST_F(TorchScriptTest, IsTriedOnWhatThePreprocessorMakes) {
  Registry registry;
  AddBuiltins(registry);
  registry.Add(hooks::BuiltinHooks());
  registry.Add<Dataset>(
      {{{.kind = "dataset", .name = "WholeImages", .help = "for tests"},
        [](const Params&) -> std::shared_ptr<Dataset> {
          return std::make_shared<WholeImages>();
        }}});
  registry.AllowTorchScript();
  registry.Freeze();
  // Of 7 x 8 bytes: floats, padded to 8 x 8.
  const std::string file = Save(R"(
def forward(self, x):
    assert x.size(2) == 8 and x.size(3) == 8, "not padded"
    return torch.matmul(x.flatten(1), self.weight)
)");
  Json json = Experiment(file);
  for (const char* part : {"train", "val"}) {
    json["data"][part] = {
        {"type", "WholeImages"}, {"batch_size", 4}, {"on_error", "skip"}};
  }
  const Json pads = {{"type", "DevicePreprocessor"},
                     {"mean", 2.0},
                     {"std", 4.0},
                     {"pad_size_divisor", 8}};
  json["preprocessor"] = pads;
  EXPECT_EQ(WhyRefused(json, registry), "");
  json.erase("preprocessor");
  EXPECT_THAT(
      WhyRefused(json, registry),
      AllOf(HasSubstr("input [1, 1, 7, 8] byte"), HasSubstr("not padded")));
  // Of a type that only autocast brings together with the weights.
  json["preprocessor"] = pads;
  json["preprocessor"]["cast"] = "bfloat16";
  EXPECT_THAT(WhyRefused(json, registry),
              HasSubstr("input [1, 1, 8, 8] bfloat16"));
  json["trainer"]["precision"] = "bf16";
  EXPECT_EQ(WhyRefused(json, registry), "");
  // The first sample counts where it must be read.
  json["data"]["train"]["on_error"] = "fail";
  EXPECT_THAT(WhyRefused(json, registry),
              HasSubstr("data: sample 0: 0.png: broken"));
}

// Signals of different lengths, with the mask that the loader makes.
TEST_F(TorchScriptTest, IsTriedOnWhatTheLoaderPads) {
  Json json = Experiment(Save(R"(
def forward(self, x, mask):
    assert mask.size(1) == 72 and mask.sum().item() == 64
    return torch.matmul(x[:, :64] * mask[:, :64], self.weight)
)"));
  json["model"]["inputs"] = {"input", "mask"};
  for (const char* part : {"train", "val"}) {
    json["data"][part]["pad_batches"] = {{"multiple", 9}};
  }
  EXPECT_EQ(WhyRefused(json), "");
  json["data"]["train"].erase("pad_batches");
  EXPECT_THAT(WhyRefused(json), HasSubstr("mask"));
}

TEST_F(TorchScriptTest, ReturnsTuplesListsAndDictionaries) {
  const Batch batch{{"a", at::ones({2, 64})}, {"b", at::full({2, 64}, 2.0)}};
  const auto run = [&](const std::string& source) {
    return LoadTorchScript({.file = Save(source),
                            .inputs = {"a", "b"},
                            .outputs = {"x", "y"}})
        ->Forward(batch);
  };
  for (const char* source : {R"(
def forward(self, a, b):
    return (a + b, a * b)
)",
                             R"(
def forward(self, a, b):
    return [a + b, a * b]
)",
                             R"(
def forward(self, a, b):
    return {"y": a * b, "x": a + b, "z": a}
)"}) {
    const Batch result = run(source);
    EXPECT_TRUE(result.At("x").eq(3).all().item<bool>()) << source;
    EXPECT_TRUE(result.At("y").eq(2).all().item<bool>()) << source;
  }
  EXPECT_THROW(run(R"(
def forward(self, a, b):
    return {"y": a * b}
)"),
               Error);
}

TEST_F(TorchScriptTest, RefusesWhatIsNoArchive) {
  EXPECT_THAT(WhyRefused(Experiment(folder_ / "none.pt")),
              HasSubstr("is no file"));
  const std::string file = Save(kLinear);
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto refuses = [&](const std::string& content) {
    const std::string broken = folder_ / "broken.pt";
    std::ofstream(broken, std::ios::binary) << content;
    EXPECT_THAT(WhyRefused(Experiment(broken)),
                HasSubstr("no TorchScript archive"));
  };
  refuses("");
  // A pickle of Python's, as torch.save once wrote.
  refuses("\x80\x02}q\x00.");
  for (size_t size = 1; size < bytes.size(); size += bytes.size() / 20) {
    refuses(bytes.substr(0, size));
  }
}

}  // namespace
}  // namespace epochd::engine
