// SPDX-License-Identifier: Apache-2.0
//
// Views as a job file names them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/data/sampler.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {
namespace {

// Ten patients with four records of three classes each, as a file.
class ViewsTest : public testing::Test {
 protected:
  void SetUp() override {
    const at::Tensor place = at::arange(40);
    WriteSafetensors(folder_ / "data.safetensors",
                     {{"input", place.to(at::kFloat)},
                      {"target", place.remainder(3)},
                      {"group", place.div(4, "floor")}});
    experiment_ = {
        {"whole",
         {{"type", "TensorFile"}, {"file", folder_ / "data.safetensors"}}}};
  }

  std::shared_ptr<Dataset> Make(const Json& json) {
    scope_.emplace(TestRegistry(), experiment_, "experiment");
    return scope_->MakeAs<Dataset>(json, "experiment.data.train");
  }
  static std::set<int64_t> Inputs(const Dataset& data) {
    const at::Tensor column = data.Column("input");
    std::set<int64_t> values;
    for (int64_t i = 0; i < column.numel(); ++i) {
      values.insert(column[i].item<int64_t>());
    }
    return values;
  }
  std::string WhyRefused(const Json& json) {
    return BadSpecOf([&] { Make(json); });
  }
  Json View(const char* type, Json more) {
    Json view = {{"type", type}, {"dataset", "${ref:whole}"}};
    view.update(more);
    return view;
  }

  TempFolder folder_;
  Json experiment_;
  std::optional<BuildScope> scope_;
};

TEST_F(ViewsTest, SubsetByIndicesRangeAndFraction) {
  EXPECT_EQ(Inputs(*Make(View("Subset", {{"indices", {3, 1}}}))),
            (std::set<int64_t>{1, 3}));
  EXPECT_EQ(Inputs(*Make(View("Subset", {{"range", {4, 10, 3}}}))),
            (std::set<int64_t>{4, 7}));
  EXPECT_EQ(*Inputs(*Make(View("Subset", {{"fraction", 0.75}}))).rbegin(), 29);
  const auto some =
      Inputs(*Make(View("Subset", {{"fraction", {0.0, 0.3}}, {"seed", 4}})));
  auto all =
      Inputs(*Make(View("Subset", {{"fraction", {0.3, 1.0}}, {"seed", 4}})));
  EXPECT_EQ(some.size(), 12u);
  EXPECT_EQ(all.size(), 28u);
  all.insert(some.begin(), some.end());
  EXPECT_EQ(all.size(), 40u);
}

TEST_F(ViewsTest, LoadingBelongsToTheOutermostDataSet) {
  Json inner = experiment_["whole"];
  const std::pair<const char*, Json> given[] = {
      {"batch_size", 4},          {"num_workers", 2},
      {"on_error", "skip"},       {"pad_batches", Json::object()},
      {"prefetch_bytes", "1MiB"}, {"max_skipped", 3}};
  for (const auto& [key, value] : given) {
    Json nested = inner;
    nested[key] = value;
    const std::string reason = WhyRefused(
        {{"type", "Subset"}, {"dataset", nested}, {"fraction", 0.5}});
    EXPECT_NE(reason.find("experiment.data.train.dataset: has a " +
                          std::string(key) + "; it belongs to"),
              std::string::npos)
        << reason;
  }
  inner["transforms"] = Json::array();
  EXPECT_EQ(
      WhyRefused({{"type", "Subset"}, {"dataset", inner}, {"fraction", 0.5}}),
      "");
}

TEST_F(ViewsTest, LoadingIsRefusedBehindAReferenceAndInAnyForm) {
  experiment_["whole"]["batch_size"] = 4;
  experiment_["parts"] = {"${ref:whole}"};
  const std::string reason =
      ": 'whole' has a batch_size; it belongs to the dataset around it";
  EXPECT_NE(WhyRefused(View("Subset", {{"fraction", 0.5}}))
                .find("experiment.data.train.dataset" + reason),
            std::string::npos);
  EXPECT_NE(WhyRefused({{"type", "Concat"}, {"datasets", "${ref:parts}"}})
                .find("datasets" + reason),
            std::string::npos);
  EXPECT_NE(WhyRefused({{"type", "Concat"}, {"datasets", experiment_["parts"]}})
                .find("datasets[0]" + reason),
            std::string::npos);
  EXPECT_NE(WhyRefused(
                {{"type", "PointSets"}, {"sets", {{"inside", "${ref:whole}"}}}})
                .find("sets.inside" + reason),
            std::string::npos);
  // Itself it is loaded as it says.
  EXPECT_EQ(WhyRefused("${ref:whole}"), "");
  const Json other_form = {
      {"_target", "TensorFile"},
      {"params", {{"file", folder_ / "data.safetensors"}, {"shuffle", true}}}};
  EXPECT_NE(WhyRefused({{"type", "Concat"}, {"datasets", {other_form}}})
                .find("datasets[0]: has a shuffle"),
            std::string::npos);
}

TEST_F(ViewsTest, FloatingNumbersAreFloat32AndOthersStay) {
  const at::Tensor numbers = at::arange(6, at::kDouble).div(4).view({3, 2});
  WriteSafetensors(folder_ / "wide.safetensors",
                   {{"input", numbers},
                    {"half", numbers.to(at::kHalf)},
                    {"brain", numbers.to(at::kBFloat16)},
                    {"target", at::arange(3).to(at::kInt)},
                    {"bytes", at::arange(3).to(at::kByte)}});
  const Json whole = {{"type", "TensorFile"},
                      {"file", folder_ / "wide.safetensors"}};
  Json normalized = whole;
  normalized["transforms"] = {
      {{"type", "Normalize"}, {"mean", 0.0}, {"std", 2.0}}};
  const std::vector<int64_t> rows = {2, 0};
  for (const Json& json :
       {whole, Json{{"type", "Subset"}, {"dataset", whole}, {"fraction", 1.0}},
        normalized}) {
    const auto data = Make(json);
    for (const Batch& batch : {data->GetBatch(rows, {}), data->Get(2, {})}) {
      for (const char* field : {"input", "half", "brain"}) {
        EXPECT_EQ(batch.At(field).scalar_type(), at::kFloat) << field;
      }
      EXPECT_EQ(batch.At("target").scalar_type(), at::kInt);
      EXPECT_EQ(batch.At("bytes").scalar_type(), at::kByte);
    }
    EXPECT_EQ(data->Get(1, {}).At("half")[1].item<float>(), 0.75f);
  }
  EXPECT_EQ(Make(whole)->Column("input").scalar_type(), at::kDouble);
}

// As images and weights usually come: channels last, or none at all.
TEST_F(ViewsTest, ArraysAreChosenTurnedAndWeighed) {
  const at::Tensor images = at::arange(48).view({4, 2, 3, 2}).to(at::kByte);
  WriteSafetensors(folder_ / "images.safetensors",
                   {{"x_train", images},
                    {"grey", images.select(3, 0).contiguous()},
                    {"x_test", images.slice(0, 0, 1).contiguous()}});
  const std::vector<int64_t> rows = {2, 0};
  const auto turned =
      Make({{"type", "TensorFile"},
            {"file", folder_ / "images.safetensors"},
            {"fields", {{"input", "x_train"}, {"target", "grey"}}},
            {"transforms",
             {{{"type", "Permute"}, {"dims", {2, 0, 1}}},
              {{"type", "Unsqueeze"}, {"field", "target"}},
              {{"type", "ToFloat"}, {"fields", {"input", "target"}}}}}});
  const Batch batch = turned->GetBatch(rows, {});
  EXPECT_TRUE(at::equal(batch.At("input")[0],
                        images[2].permute({2, 0, 1}).to(at::kFloat).div(255)));
  EXPECT_EQ(batch.At("target").sizes(), at::IntArrayRef({2, 1, 2, 3}));
  for (const char* field : {"input", "target"}) {
    EXPECT_TRUE(at::equal(turned->Get(2, {}).At(field), batch.At(field)[0]));
  }
  EXPECT_NE(WhyRefused({{"type", "TensorFile"}, {"fields", {{"input", "x"}}}}),
            "");
  const auto refused = [&](const Json& transform) {
    return BadSpecOf([&] {
      Make(View("Subset", {{"fraction", 1.0}, {"transforms", transform}}))
          ->GetBatch(rows, {});
    });
  };
  EXPECT_NE(refused({{"type", "Permute"}, {"dims", {0, 0}}})
                .find("each of 0 to 1 once"),
            std::string::npos);
  EXPECT_NE(refused({{"type", "Permute"}, {"dims", {1, 0}}})
                .find("\"input\": has 0 dimensions, dims 2"),
            std::string::npos);
  EXPECT_NE(refused({{"type", "Unsqueeze"}, {"dim", 2}})
                .find("dim is 2 of a sample of 0 dimensions"),
            std::string::npos);
  const Json csv = {{"type", "Csv"},
                    {"file", folder_.Write("w.csv", "x,w,t\n1,0,0\n2,1,1\n")},
                    {"target", "t"},
                    {"fields", {{"sample_weight", "w"}}}};
  EXPECT_EQ(Make(csv)->Column("sample_weight")[1].item<float>(), 1);
  const auto sampler =
      scope_->MakeAs<Sampler>({{"type", "WeightedSampler"},
                               {"weight_field", "sample_weight"},
                               {"replacement", true}},
                              "experiment.data.train.sampler");
  // The first row weighs nothing.
  for (int64_t row : sampler->Bind(*Make(csv), 1)->Order({.seed = 1})) {
    EXPECT_EQ(row, 1);
  }
}

TEST_F(ViewsTest, PatientsOfASplitAreOnOneSide) {
  std::set<int64_t> seen;
  size_t samples = 0;
  for (const char* part : {"train", "val", "test"}) {
    const auto data = Make(View(
        "Split",
        {{"group", "group"}, {"fractions", {0.6, 0.2, 0.2}}, {"part", part}}));
    std::set<int64_t> groups;
    for (int64_t input : Inputs(*data)) groups.insert(input / 4);
    samples += Inputs(*data).size();
    for (int64_t group : groups) EXPECT_TRUE(seen.insert(group).second);
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(samples, 40u);
}

TEST_F(ViewsTest, FoldsHoldOutEverySampleOnce) {
  std::set<int64_t> held_out;
  for (int fold = 0; fold < 5; ++fold) {
    const Json more = {{"k", 5}, {"fold", fold}, {"stratify", "target"}};
    Json val = more;
    val["part"] = "val";
    const auto out = Inputs(*Make(View("KFold", val)));
    EXPECT_EQ(out.size(), 8u);
    for (int64_t input : out) EXPECT_TRUE(held_out.insert(input).second);
    Json train = more;
    train["part"] = "train";
    auto rest = Inputs(*Make(View("KFold", train)));
    EXPECT_EQ(rest.size(), 32u);
    rest.insert(out.begin(), out.end());
    EXPECT_EQ(rest.size(), 40u);
  }
}

TEST_F(ViewsTest, WhatIsReferredToIsReadOnce) {
  Make(View("Split", {{"part", "train"}}));
  // The file is gone; a second reading would fail.
  std::filesystem::remove(folder_ / "data.safetensors");
  const auto val = scope_->MakeAs<Dataset>(View("Split", {{"part", "val"}}),
                                           "experiment.data.val");
  EXPECT_EQ(val->Size(), 8);
}

TEST_F(ViewsTest, NestedTransformsAreApplied) {
  Json inner = experiment_["whole"];
  inner["transforms"] = {{{"type", "Normalize"}, {"mean", 1}, {"std", 2}}};
  const auto data = Make(
      {{"type", "Concat"},
       {"datasets",
        {inner, {{"type", "Subset"}, {"dataset", inner}, {"range", {5, 6}}}}}});
  EXPECT_EQ(data->Size(), 41);
  EXPECT_EQ(data->Get(40, {}).At("input").item<float>(), 2.0f);
  EXPECT_EQ(data->Get(9, {}).At("input").item<float>(), 4.0f);
}

TEST_F(ViewsTest, RefusesWithThePathOfWhatIsWrong) {
  const auto expect = [&](const Json& json, const char* text) {
    EXPECT_NE(WhyRefused(json).find(text), std::string::npos)
        << WhyRefused(json);
  };
  expect(
      View("Subset", Json::object()),
      "train.indices: missing, Subset needs one of indices, range or fraction");
  expect(View("Subset", {{"indices", {40}}}), "no sample 40");
  expect(View("Subset", {{"range", {5, 41}}}), "train.range");
  expect(View("Subset", {{"fraction", {0.5, 0.2}}}), "train.fraction");
  expect(View("KFold", {{"fold", 5}, {"part", "val"}}),
         "train.fold: expected less than folds, which is 5, got 5");
  expect(View("Split", {{"part", "test"}}), "train.fractions: 2 numbers");
  expect(View("Split", {{"part", "val"}, {"group", "patient"}}),
         "train.group: field \"patient\"");
  expect(View("Split", {{"part", "val"}, {"stratify", "input"}}),
         "whole numbers");
  expect(View("Split", {{"part", "val"}, {"fractions", {0.99, 0.01}}}),
         "has no sample");
  Json inner = experiment_["whole"];
  inner["batch_size"] = 3;
  expect({{"type", "Subset"}, {"dataset", inner}, {"range", {0, 2}}},
         "train.dataset: has a batch_size");
}

TEST_F(ViewsTest, TrainsOnPartsOfOneFile) {
  Json json = DigitsExperiment(1);
  json["whole"] = {
      {"type", "Digits"}, {"split", "all"}, {"file", DigitsFile()}};
  for (const char* part : {"train", "val"}) {
    json["data"][part] = {
        {"type", "Split"},
        {"dataset", "${ref:whole}"},
        {"stratify", "target"},
        {"part", part},
        {"batch_size", 128},
        {"transforms",
         {{{"type", "Normalize"}, {"mean", 4.88}, {"std", 6.02}}}}};
  }
  TestRun run(json);
  double accuracy = 0;
  run.trainer().on_epoch_finished.Bind([&](TrainerContext& context) {
    accuracy = *FindScore(context.scores, "val/accuracy");
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(
      run.trainer().train().NumSamples() + run.trainer().val()->NumSamples(),
      1797);
  EXPECT_GT(accuracy, 0.3);
}

}  // namespace
}  // namespace epochd::engine
