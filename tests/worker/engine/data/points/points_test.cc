// SPDX-License-Identifier: Apache-2.0
//
// Points of boxes: where they lie, how evenly, and what they depend on.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/loader.h"
#include "worker/engine/data/points/collocation_points.h"
#include "worker/engine/data/points/point_sets.h"
#include "worker/engine/data/points/unit_cube.h"
#include "worker/engine/data/views.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {
namespace {

constexpr SampleSeed kSeed{.seed = 5, .epoch = 0};

Batch All(const Dataset& dataset, const SampleSeed& seed = kSeed) {
  std::vector<int64_t> indices(static_cast<size_t>(dataset.Size()));
  std::iota(indices.begin(), indices.end(), 0);
  return dataset.GetBatch(indices, seed);
}

CollocationOptions Box(int64_t points, Sampling sampling) {
  return {.domain = {{"t", 0.0, 1.0}, {"x", -1.0, 3.0}},
          .points = points,
          .sampling = sampling};
}

std::shared_ptr<Dataset> Build(const Json& json) {
  const Json experiment = Json::object();
  BuildScope scope(TestRegistry(), experiment, "experiment");
  return scope.MakeAs<Dataset>(json, "experiment.data.train");
}

std::string MessageOf(const Json& json) {
  return BadSpecOf([&] { Build(json); });
}

TEST(UnitCubeTest, SlicesOfALatinHypercubeHoldOnePointEach) {
  for (const int64_t count : {1, 2, 7, 100}) {
    const UnitCube cube(Sampling::kLatinHypercube, count, 3);
    std::vector<std::set<int64_t>> slices(3);
    std::vector<double> point(3);
    for (int64_t i = 0; i < count; ++i) {
      cube.Point(i, 9, point);
      for (size_t axis = 0; axis < 3; ++axis) {
        slices[axis].insert(static_cast<int64_t>(point[axis] * count));
      }
    }
    for (const auto& slice : slices) {
      EXPECT_EQ(static_cast<int64_t>(slice.size()), count);
    }
  }
}

TEST(UnitCubeTest, AShiftedSobolSequenceStaysEvenlySpread) {
  // Of 256 points, each of 16 x 16 squares holds one.
  const UnitCube cube(Sampling::kSobol, 256, 2);
  for (const uint64_t stream : {1, 2}) {
    std::set<std::pair<int, int>> squares;
    std::vector<double> point(2);
    for (int64_t i = 0; i < 256; ++i) {
      cube.Point(i, stream, point);
      squares.emplace(point[0] * 16, point[1] * 16);
    }
    EXPECT_EQ(squares.size(), 256u);
  }
}

TEST(UnitCubeTest, PermutedIndicesAreAPermutation) {
  for (const uint64_t size : {1, 2, 3, 16, 17, 1000}) {
    std::set<uint64_t> places;
    for (uint64_t i = 0; i < size; ++i) {
      places.insert(PermutedIndex(i, size, 77));
    }
    EXPECT_EQ(places.size(), size);
    EXPECT_EQ(*places.rbegin(), size - 1);
  }
}

TEST(CollocationPointsTest, LieInTheBoxWithItsMean) {
  for (const Sampling sampling :
       {Sampling::kUniform, Sampling::kSobol, Sampling::kLatinHypercube}) {
    const auto points = MakeCollocationPoints(Box(4096, sampling));
    const at::Tensor all = All(*points).At("input");
    ASSERT_EQ(all.sizes(), at::IntArrayRef({4096, 2}));
    EXPECT_EQ(all.scalar_type(), at::kFloat);
    EXPECT_GE(all.select(1, 0).min().item<float>(), 0.0f);
    EXPECT_LE(all.select(1, 0).max().item<float>(), 1.0f);
    EXPECT_GE(all.select(1, 1).min().item<float>(), -1.0f);
    EXPECT_LE(all.select(1, 1).max().item<float>(), 3.0f);
    EXPECT_NEAR(all.select(1, 0).mean().item<double>(), 0.5, 0.03);
    EXPECT_NEAR(all.select(1, 1).mean().item<double>(), 1.0, 0.12);
  }
}

TEST(CollocationPointsTest, DependOnSeedEpochAndIndexAlone) {
  CollocationOptions options = Box(50, Sampling::kUniform);
  for (const bool resample : {false, true}) {
    options.resample = resample;
    const auto points = MakeCollocationPoints(options);
    const at::Tensor all = All(*points).At("input");
    // One by one, and in another order.
    for (const int64_t index : {49, 0, 17}) {
      EXPECT_TRUE(points->Get(index, kSeed).At("input").equal(all[index]));
    }
    EXPECT_TRUE(All(*MakeCollocationPoints(options)).At("input").equal(all));
    EXPECT_FALSE(All(*points, {6, 0}).At("input").equal(all));
    EXPECT_EQ(All(*points, {5, 1}).At("input").equal(all), !resample);
  }
}

TEST(CollocationPointsTest, OtherBoxesHaveOtherPointsUnlessTold) {
  const Json initial = {{"type", "CollocationPoints"},
                        {"domain", {{"t", {0, 1}}, {"x", {-1, 1}}}},
                        {"points", 8}};
  Json left = initial;
  left["domain"]["x"] = -1;
  Json right = initial;
  right["domain"]["x"] = 1;
  const auto times = [](const Json& json) {
    return All(*Build(json)).At("input").select(1, 0);
  };
  EXPECT_FALSE(times(left).equal(times(right)));
  EXPECT_FALSE(times(left).equal(times(initial)));
  left["stream"] = right["stream"] = 3;
  EXPECT_TRUE(times(left).equal(times(right)));
}

TEST(CollocationPointsTest, AGridHasBothEndsAndTheLastAxisFastest) {
  const auto points =
      Build({{"type", "CollocationPoints"},
             {"domain", {{"t", {0, 1}}, {"c", 7}, {"x", {-1, 1}}}},
             {"sampling", "grid"},
             {"points", {2, 3}}});
  const at::Tensor wanted =
      at::tensor({0.f, 7.f, -1.f, 0.f, 7.f, 0.f, 0.f, 7.f, 1.f, 1.f, 7.f, -1.f,
                  1.f, 7.f, 0.f, 1.f, 7.f, 1.f})
          .view({6, 3});
  EXPECT_TRUE(All(*points).At("input").equal(wanted));
}

TEST(CollocationPointsTest, FacesHoldAsManyPointsEach) {
  CollocationOptions options = Box(40, Sampling::kSobol);
  options.faces = {"x", "t"};
  const at::Tensor all = All(*MakeCollocationPoints(options)).At("input");
  const at::Tensor t = all.select(1, 0);
  const at::Tensor x = all.select(1, 1);
  EXPECT_EQ((x == -1).sum().item<int64_t>(), 10);
  EXPECT_EQ((x == 3).sum().item<int64_t>(), 10);
  EXPECT_EQ((t == 0).sum().item<int64_t>(), 10);
  EXPECT_EQ((t == 1).sum().item<int64_t>(), 10);
  // Each face is covered evenly: one point in each tenth or so.
  const at::Tensor sorted = std::get<0>(t.index({x == -1}).sort());
  EXPECT_LT((sorted.slice(0, 1) - sorted.slice(0, 0, -1)).max().item<float>(),
            0.3f);
}

TEST(CollocationPointsTest, ValuesAreExpressionsOverTheCoordinates) {
  const auto points = Build({{"type", "CollocationPoints"},
                             {"domain", {{"t", 0}, {"x", {"-pi", "pi"}}}},
                             {"points", 20},
                             {"values", {"-sin(k*x) + t", 3}},
                             {"parameters", {{"k", "1/2"}}}});
  const Batch all = All(*points);
  const at::Tensor x = all.At("input").select(1, 1);
  EXPECT_GT(x.max().item<float>(), 1.5f);
  ASSERT_EQ(all.At("target").sizes(), at::IntArrayRef({20, 2}));
  EXPECT_EQ(all.At("target").scalar_type(), at::kFloat);
  EXPECT_TRUE(
      at::allclose(all.At("target").select(1, 0), -at::sin(x / 2), 1e-5, 1e-6));
  EXPECT_TRUE(all.At("target").select(1, 1).equal(at::full({20}, 3.f)));
}

TEST(CollocationPointsTest, RefusalsNameTheOption) {
  const Json good = {{"type", "CollocationPoints"},
                     {"domain", {{"t", {0, 1}}, {"x", {-1, 1}}}},
                     {"points", 8}};
  const auto with = [&good](const std::string& key, const Json& value) {
    Json json = good;
    json[key] = value;
    return json;
  };
  EXPECT_EQ(MessageOf(good), "");
  const std::pair<Json, const char*> cases[] = {
      {with("domain", Json::object()), ".domain: 0 axes"},
      {with("domain", {{"x", {1, 0}}}),
       ".domain.x[1]: expected at least 1, the number before it"},
      {with("domain", {{"x", {0, 1, 2}}}),
       ".domain.x: expected 1 to 2 values, got 3"},
      {with("domain", {{"x", {0, "pie"}}}), "\"pie\" is not known"},
      {with("domain", {{"x", Json::object()}}),
       ".domain.x: expected a number or text"},
      {with("points", {2, 3}), ".points: 2 numbers; only a grid"},
      {with("points", int64_t{1} << 40), ".points: 1 to 1073741824"},
      {with("faces", "y"), ".faces: 'y' is none of domain"},
      {with("values", "sin(y)"), "\"y\" is not known; the coordinates (t, x)"},
      {with("values", Json::object()),
       ".values: expected a number or an expression"},
      {with("values", "sin(x"), "\")\" is missing"},
      {with("parameters", {{"k", "z"}}), ".parameters.k: expression \"z\""},
      {with("parameters", {{"x", 5}}), ".parameters: x is a coordinate, too"},
      {with("parameters", {{"pi", 3}}), ".parameters: pi is known already"},
  };
  for (const auto& [json, part] : cases) {
    const std::string message = MessageOf(json);
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
  }
  Json grid = with("sampling", "grid");
  EXPECT_NE(MessageOf(grid).find("1 numbers for a grid along 2 axes"),
            std::string::npos);
  grid["points"] = {1 << 20, 1 << 20};
  EXPECT_NE(MessageOf(grid).find(".points: 1 to"), std::string::npos);
  grid["points"] = {2, 2};
  grid["faces"] = "x";
  EXPECT_NE(MessageOf(grid).find(".faces: do not go with a grid"),
            std::string::npos);
}

std::shared_ptr<Dataset> Counting(int64_t size, const std::string& extra = "") {
  Batch columns{{"input", at::arange(size).view({size, 1})},
                {"target", at::arange(size) * 10}};
  if (!extra.empty()) columns.Set(extra, at::ones({size}));
  return std::make_shared<TensorDataset>(columns);
}

TEST(PointSetsTest, OneBatchHoldsAllSets) {
  const auto sets = MakePointSets({{"interior", Counting(10), 2},
                                   {"initial", Counting(3, "weight")},
                                   {"boundary", Counting(5)}});
  EXPECT_EQ(sets->Size(), 5);
  const std::vector<int64_t> indices{0, 4, 3};
  const Batch batch = sets->GetBatch(indices, kSeed);
  EXPECT_TRUE(batch.At("interior")
                  .equal(at::tensor({0, 1, 8, 9, 6, 7}).view({3, 2, 1})));
  EXPECT_TRUE(batch.At("interior_target")
                  .equal(at::tensor({0, 10, 80, 90, 60, 70}).view({3, 2})));
  EXPECT_TRUE(batch.At("initial").equal(at::tensor({0, 1, 0}).view({3, 1})));
  EXPECT_TRUE(batch.At("initial_target").equal(at::tensor({0, 10, 0})));
  EXPECT_TRUE(batch.Find("initial_weight") != nullptr);
  EXPECT_TRUE(batch.At("boundary").equal(at::tensor({0, 4, 3}).view({3, 1})));
  const Batch sample = sets->Get(4, kSeed);
  EXPECT_TRUE(sample.At("interior").equal(at::tensor({8, 9}).view({2, 1})));
  EXPECT_TRUE(
      sample.At("boundary_target").equal(at::scalar_tensor(40, at::kLong)));
  EXPECT_TRUE(sets->Column("boundary_target").equal(at::arange(5) * 10));
  EXPECT_FALSE(sets->Column("initial").defined());
}

// Gives the seed that it is read with.
class SeedReader : public Dataset {
 public:
  int64_t Size() const override { return 6; }
  Batch Get(int64_t /*index*/, const SampleSeed& seed) const override {
    return {{"input", at::scalar_tensor(static_cast<int64_t>(seed.seed >> 1),
                                        at::kLong)}};
  }
};

TEST(PointSetsTest, RepeatsOfASampleHaveStreamsOfTheirOwn) {
  const auto sets = MakePointSets({{"pairs", std::make_shared<SeedReader>(), 2},
                                   {"single", std::make_shared<SeedReader>()}});
  const std::vector<int64_t> indices = {1, 1, 2};
  const std::vector<int64_t> repeats = {0, 1, 0};
  const SampleSeed seed{.seed = 5, .epoch = 0, .repeats = repeats};
  const Batch batch = sets->GetBatch(indices, seed);
  for (size_t place = 0; place < indices.size(); ++place) {
    const auto row = static_cast<int64_t>(place);
    const auto wanted = static_cast<int64_t>(seed.Of(place).seed >> 1);
    EXPECT_TRUE(batch.At("pairs")[row].eq(wanted).all().item<bool>()) << place;
    EXPECT_EQ(batch.At("single")[row].item<int64_t>(), wanted) << place;
  }
}

TEST(PointSetsTest, RefusesWhatIsNoSet) {
  EXPECT_THROW(MakePointSets({}), Error);
  const auto clash =
      MakePointSets({{"a", Counting(2, "b")}, {"a_b", Counting(2)}});
  EXPECT_THROW(clash->Get(0, kSeed), Error);
  const Json points = {{"type", "CollocationPoints"},
                       {"domain", {{"x", {0, 1}}}},
                       {"points", 4}};
  EXPECT_NE(MessageOf({{"type", "PointSets"},
                       {"sets", {{"a", points}}},
                       {"per_sample", {{"b", 2}}}})
                .find(".per_sample: 'b' is none of sets"),
            std::string::npos);
}

// The same points whatever the number of ranks and threads.
TEST(PointSetsTest, RanksAndThreadsDoNotChangeTheSamplesOfAStep) {
  const Json json = Json::parse(R"json({"type": "PointSets", "sets": {
      "interior": {"type": "CollocationPoints", "points": 32,
                   "domain": {"t": [0, 1], "x": [-1, 1]}, "resample": true},
      "initial": {"type": "CollocationPoints", "points": 8, "sampling": "sobol",
                  "domain": {"t": 0, "x": [-1, 1]}, "values": "sin(pi*x)"}},
      "per_sample": {"interior": 2}})json");
  const auto sets = Build(json);
  const auto step = [&](int rank, int world, int threads) {
    auto loader = MakeLoader(sets, {.batch_size = 8 / world,
                                    .shuffle = true,
                                    .threads = threads,
                                    .seed = 11,
                                    .rank = rank,
                                    .world_size = world});
    loader->StartEpoch(3, 1);
    Batch batch;
    EXPECT_TRUE(loader->Next(batch));
    return batch;
  };
  const Batch whole = step(0, 1, 0);
  const Batch first = step(0, 2, 2);
  const Batch second = step(1, 2, 1);
  for (const auto& [name, tensor] : whole) {
    // Ranks take turns.
    const at::Tensor together =
        at::stack({first.At(name), second.At(name)}, 1).flatten(0, 1);
    EXPECT_TRUE(together.equal(tensor)) << name;
  }
}

}  // namespace
}  // namespace epochd::engine
