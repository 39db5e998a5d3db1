// SPDX-License-Identifier: Apache-2.0
//
// What ranks do together: gradients, buffers, evaluation, failure.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <map>

#include "hooks/checkpoint_saver.h"
#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/dist/ranks.h"
#include "tests/worker/engine/dist/small_run.h"
#include "tests/worker/engine/epoch_order.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/data/loader.h"
#include "worker/engine/dist/agreement.h"
#include "worker/engine/dist/failure.h"
#include "worker/engine/dist/power_sgd.h"
#include "worker/engine/loop/update.h"
#include "worker/engine/optim/sgd.h"
#include "worker/engine/registry/ddp_section.h"

namespace epochd::engine {
namespace {

at::Tensor Parameter(double value, std::vector<int64_t> shape = {1}) {
  return at::full(shape, value, at::kDouble).set_requires_grad(true);
}

std::vector<int64_t> Order(int64_t size, int rank, int world, bool pad,
                           bool trim = false) {
  LoaderOptions options;
  options.rank = rank;
  options.world_size = world;
  options.pad = pad;
  options.trim = trim;
  return EpochOrder(size, 0, options);
}

using Ids = std::vector<int64_t>;

TEST(DdpTest, Case104EvaluationHasEachSampleOnce) {
  EXPECT_EQ(Order(10, 2, 4, true), (Ids{2, 6, 0}));
  EXPECT_EQ(Order(10, 3, 4, true), (Ids{3, 7, 1}));
  int64_t sum = 0;
  int64_t count = 0;
  for (int rank = 0; rank < 4; ++rank) {
    for (int64_t id : Order(10, rank, 4, false)) {
      sum += id;
      ++count;
    }
  }
  EXPECT_EQ(sum, 45);
  EXPECT_EQ(count, 10);
  EXPECT_EQ(Order(21, 0, 2, false).size() + Order(21, 1, 2, false).size(), 21u);
}

TEST(DdpTest, Case120SharesWithoutRepeats) {
  const auto sizes = [](int64_t size, bool pad) {
    std::vector<size_t> result;
    for (int rank = 0; rank < 4; ++rank) {
      result.push_back(Order(size, rank, 4, pad).size());
    }
    return result;
  };
  EXPECT_EQ(sizes(17, false), (std::vector<size_t>{5, 4, 4, 4}));
  EXPECT_EQ(sizes(2, false), (std::vector<size_t>{1, 1, 0, 0}));
  EXPECT_EQ(sizes(2, true), (std::vector<size_t>{1, 1, 1, 1}));
}

TEST(DdpTest, UnevenSamplesAreLeftOutWhereThatIsAsked) {
  EXPECT_EQ(Order(10, 0, 4, false, true), (Ids{0, 4}));
  EXPECT_EQ(Order(10, 3, 4, false, true), (Ids{3, 7}));
  EXPECT_EQ(Order(3, 0, 4, false, true), Ids{});
}

// The scores of the only epoch, by rank.
std::vector<Scores> EpochOn(int world_size, const Json& json,
                            const TempFolder& folder) {
  const std::vector<int> statuses =
      RunRanks(world_size, [&](const GlooOptions& options) {
        at::set_num_threads(1);
        TestRun run(json, "", MakeGlooCommunicator(options));
        Json scores = Json::array();
        run.trainer().on_epoch_finished.Bind([&](TrainerContext& context) {
          for (const auto& [name, value] : context.scores) {
            scores.push_back({name, value});
          }
        });
        run.trainer().Start();
        run.trainer().Run();
        std::ofstream(folder / ("scores-" + std::to_string(options.rank)))
            << scores;
        return 0;
      });
  EXPECT_EQ(statuses, AllDone(world_size));
  std::vector<Scores> all;
  for (int rank = 0; rank < world_size; ++rank) {
    std::ifstream file(folder / ("scores-" + std::to_string(rank)));
    const Json json_scores = Json::parse(file);
    all.emplace_back();
    for (const Json& each : json_scores) {
      all.back().emplace_back(each[0].get<std::string>(),
                              each[1].get<double>());
    }
  }
  return all;
}

TEST(DdpTest, Case109AValidationSmallerThanTheWorldIsCountedOnce) {
  const TempFolder folder;
  Json json = SmallExperiment(DataFile(folder, 16), DataFile(folder, 1));
  json["optimizer"]["lr"] = 0.0;
  const std::vector<Scores> four = EpochOn(4, json, folder);
  for (const Scores& scores : four) EXPECT_EQ(scores, four[0]);
  const std::vector<Scores> one = EpochOn(1, json, folder);
  EXPECT_EQ(*FindScore(four[0], "val/loss"), *FindScore(one[0], "val/loss"));
  EXPECT_EQ(*FindScore(four[0], "val/accuracy"),
            *FindScore(one[0], "val/accuracy"));
}

TEST(DdpTest, Case109NoFullBatchIsSaidOnEveryRank) {
  const TempFolder folder;
  Json json = SmallExperiment(DataFile(folder, 3), DataFile(folder, 3));
  json["data"]["train"]["drop_last"] = true;
  json["ddp"] = {{"uneven", "drop"}};
  EXPECT_EQ(
      RunRanks(4,
               [&](const GlooOptions& options) {
                 auto communicator = MakeGlooCommunicator(options);
                 communicator->Barrier();
                 TestRun run(json, "", std::move(communicator));
                 return 0;
               }),
      (std::vector<int>(4, (70 + static_cast<int>(ErrorKind::kBadSpec)) << 8)));
}

TEST(DdpTest, Case106NothingIsAResultToo) {
  EXPECT_EQ(RunRanks(2,
                     [](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       const Json own = options.rank == 0
                                            ? Json::array({nullptr, 3})
                                            : Json::array({1, 4});
                       const auto all = communicator->Gather(own.dump());
                       Json joined = Json::array();
                       for (size_t i = 0; i < 2; ++i) {
                         for (const std::string& one : all) {
                           joined.push_back(Json::parse(one)[i]);
                         }
                       }
                       RANK_EXPECT(joined == Json::array({nullptr, 1, 3, 4}));
                       communicator->Barrier();
                       return 0;
                     }),
            AllDone(2));
}

TEST(DdpTest, GathersAtRankZeroAlone) {
  EXPECT_EQ(RunRanks(3,
                     [](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       const auto all = communicator->GatherAtRoot(std::string(
                           static_cast<size_t>(options.rank) * 1000, 'y'));
                       communicator->Barrier();
                       if (options.rank > 0) return all.empty() ? 0 : 1;
                       RANK_EXPECT(all.size() == 3);
                       RANK_EXPECT(all[0].empty());
                       RANK_EXPECT(all[2] == std::string(2000, 'y'));
                       return 0;
                     }),
            AllDone(3));
}

TEST(DdpTest, Case111AccumulatesHereAndAveragesOnce) {
  EXPECT_EQ(RunRanks(2,
                     [](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       at::Tensor p = Parameter(1);
                       auto sync = communicator->SyncGradients({{"p", p}}, {},
                                                               {}, nullptr);
                       const double first = options.rank == 0 ? 1 : 2;
                       const double second = options.rank == 0 ? 3 : 5;
                       for (int window = 0; window < 3; ++window) {
                         sync->BeforeForward(false);
                         sync->Backward((p * first).sum(), false);
                         RANK_EXPECT(p.grad().item<double>() == first);
                         sync->BeforeForward(true);
                         sync->Backward((p * second).sum(), true);
                         RANK_EXPECT(p.grad().item<double>() == 5.5);
                         p.mutable_grad().reset();
                       }
                       communicator->Barrier();
                       return 0;
                     }),
            AllDone(2));
}

TEST(DdpTest, Case15WeighsItemsOfAllRanksAlike) {
  EXPECT_EQ(RunRanks(2,
                     [](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       at::Tensor p = Parameter(1);
                       const std::vector<NamedTensor> parameters{{"p", p}};
                       auto sync = communicator->SyncGradients(parameters, {},
                                                               {}, nullptr);
                       Update update(
                           "optimizer",
                           std::make_shared<Sgd>(parameters, Sgd::Options()),
                           {.accumulation = 2, .mean = Update::Mean::kItems});
                       // Three items of 1 here, one of 5 there; then nothing
                       // that counts here, and four of 3 there.
                       sync->BeforeForward(false);
                       update.Backward(
                           *sync, (p * (options.rank == 0 ? 1 : 5)).sum(),
                           {.ends_group = false}, options.rank == 0 ? 3 : 1);
                       sync->BeforeForward(true);
                       update.Backward(*sync, (p * 3).sum(), {},
                                       options.rank == 0 ? 0 : 4);
                       RANK_EXPECT(p.grad().item<double>() == 2.5);
                       communicator->Barrier();
                       return 0;
                     }),
            AllDone(2));
}

TEST(DdpTest, Case112AParameterThatNobodyUsedStays) {
  EXPECT_EQ(RunRanks(2,
                     [](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       at::Tensor p = Parameter(1);
                       at::Tensor q = Parameter(1);
                       const std::vector<NamedTensor> both{{"p", p}, {"q", q}};
                       auto sync = communicator->SyncGradients(
                           both, {}, {.find_unused_parameters = true}, nullptr);
                       Sgd sgd(both, {.lr = 1, .weight_decay = 0.1});
                       // Nobody uses p.
                       sync->BeforeForward(true);
                       sync->Backward((q * 1.0).sum(), true);
                       RANK_EXPECT(!p.grad().defined());
                       sgd.Step();
                       RANK_EXPECT(p.item<double>() == 1.0);
                       sgd.ZeroGrad();
                       // Rank 0 alone uses p: averaged over both.
                       sync->BeforeForward(true);
                       sync->Backward(
                           options.rank == 0 ? (q + 3 * p).sum() : q.sum(),
                           true);
                       RANK_EXPECT(p.grad().defined());
                       RANK_EXPECT(p.grad().item<double>() == 1.5);
                       communicator->Barrier();
                       return 0;
                     }),
            AllDone(2));
}

TEST(DdpTest, NamesAnUnusedParameterThatWasNotAllowedFor) {
  const int refused = (70 + static_cast<int>(ErrorKind::kBadSpec)) << 8;
  EXPECT_EQ(
      RunRanks(2,
               [](const GlooOptions& options) {
                 auto communicator = MakeGlooCommunicator(options);
                 at::Tensor p = Parameter(1);
                 at::Tensor q = Parameter(1);
                 auto sync = communicator->SyncGradients(
                     {{"head.p", p}, {"q", q}}, {}, {}, nullptr);
                 sync->BeforeForward(true);
                 try {
                   sync->Backward(q.sum(), true);
                 } catch (const Error& error) {
                   RANK_EXPECT(std::string(error.what()).find("\"head.p\"") !=
                               std::string::npos);
                   throw;
                 }
                 return 0;
               }),
      (std::vector<int>{refused, refused}));
}

TEST(DdpTest, Case114BuffersAreRankZerosOrTheMean) {
  EXPECT_EQ(RunRanks(2,
                     [](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       for (BufferSync mode :
                            {BufferSync::kMean, BufferSync::kBroadcast,
                             BufferSync::kLocal}) {
                         const double own = options.rank == 0 ? 1 : 3;
                         at::Tensor mean = at::full({2}, own);
                         at::Tensor count = at::full({}, own).to(at::kLong);
                         auto sync = communicator->SyncGradients(
                             {{"p", Parameter(1)}},
                             {{"running_mean", mean}, {"batches", count}},
                             {.buffers = mode}, nullptr);
                         sync->SyncBuffers();
                         const double expected = mode == BufferSync::kMean ? 2.0
                                                 : mode == BufferSync::kLocal
                                                     ? own
                                                     : 1.0;
                         RANK_EXPECT(mean[1].item<double>() == expected);
                         RANK_EXPECT(count.item<int64_t>() ==
                                     (mode == BufferSync::kBroadcast
                                          ? 1
                                          : static_cast<int64_t>(own)));
                       }
                       communicator->Barrier();
                       return 0;
                     }),
            AllDone(2));
}

TEST(DdpTest, Case116AModelInEvaluationAsksNoPeer) {
  const TempFolder folder;
  const Json json = SmallExperiment(DataFile(folder, 8), DataFile(folder, 8));
  EXPECT_EQ(RunRanks(2,
                     [&](const GlooOptions& options) {
                       at::set_num_threads(1);
                       TestRun run(json, "", MakeGlooCommunicator(options));
                       run.trainer().Start();
                       if (options.rank == 0) {
                         run.trainer().model().SetTraining(false);
                         Batch batch{{"input", at::ones({3, 4})}};
                         batch.Merge(run.trainer().model().Forward(batch));
                       }
                       run.communicator->Barrier();
                       return 0;
                     }),
            AllDone(2));
}

TEST(DdpTest, Case117AStaticGraphCountsSyncedPassesAlone) {
  for (bool with_unused : {false, true}) {
    EXPECT_EQ(
        RunRanks(2,
                 [&](const GlooOptions& options) {
                   auto communicator = MakeGlooCommunicator(options);
                   at::Tensor p = Parameter(1, {4});
                   at::Tensor q = Parameter(2, {4});
                   at::Tensor unused = Parameter(5);
                   std::vector<NamedTensor> parameters{{"p", p}, {"q", q}};
                   if (with_unused) parameters.push_back({"unused", unused});
                   auto sync = communicator->SyncGradients(
                       parameters, {}, {.static_graph = true}, nullptr);
                   Sgd sgd(parameters, {.lr = 0.1});
                   for (int window = 0; window < 4; ++window) {
                     for (int pass = 0; pass < 2; ++pass) {
                       const at::Tensor x =
                           at::arange(4.0) + window + 3 * pass + options.rank;
                       sync->BeforeForward(pass == 1);
                       sync->Backward((p * q * x).sum(), pass == 1);
                     }
                     sgd.Step();
                     sgd.ZeroGrad();
                     const std::string own(
                         static_cast<const char*>(p.const_data_ptr()),
                         p.nbytes());
                     const auto all = communicator->Gather(own);
                     RANK_EXPECT(all[0] == all[1]);
                   }
                   RANK_EXPECT(unused.item<double>() == 5.0);
                   RANK_EXPECT(p[0].item<double>() != 1.0);
                   communicator->Barrier();
                   return 0;
                 }),
        AllDone(2))
        << with_unused;
  }
}

TEST(DdpTest, Case119WhatOneRankWantsAllDo) {
  EXPECT_EQ(
      RunRanks(
          2,
          [](const GlooOptions& options) {
            auto communicator = MakeGlooCommunicator(options);
            Agreement agreement(*communicator);
            const bool all =
                agreement.Now({.checkpoint = options.rank == 1}).checkpoint;
            communicator->Barrier();
            return all ? 0 : 1;
          }),
      AllDone(2));
}

TEST(DdpTest, Case121TheFirstRankThatFailedIsNamedByTheOthers) {
  const TempFolder folder;
  const Json json = SmallExperiment(DataFile(folder, 600), DataFile(folder, 8));
  const auto began = std::chrono::steady_clock::now();
  const std::vector<int> statuses =
      RunRanks(3, [&](const GlooOptions& options) {
        at::set_num_threads(1);
        auto made = MakeGlooCommunicator(options);
        Communicator& communicator = *made;
        TestRun run(json, "", std::move(made));
        run.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
          if (options.rank == 1 && context.trainer->position().step == 3) {
            throw Error(ErrorKind::kTraining, "the loss is no number");
          }
        });
        try {
          NamingTheFirstFailure(communicator, [&] {
            run.trainer().Start();
            run.trainer().Run();
          });
        } catch (const Error& error) {
          std::ofstream(folder / ("error-" + std::to_string(options.rank)))
              << error.what();
          throw;
        }
        return 0;
      });
  const int peers = (70 + static_cast<int>(ErrorKind::kInfrastructure)) << 8;
  EXPECT_EQ(
      statuses,
      (std::vector<int>{
          peers, (70 + static_cast<int>(ErrorKind::kTraining)) << 8, peers}));
  for (int rank : {0, 2}) {
    std::ifstream file(folder / ("error-" + std::to_string(rank)));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(text.find("the first to fail was rank 1: the loss is no number"),
              std::string::npos)
        << text;
  }
  // Long before the peers' patience of RunRanks is over.
  EXPECT_LT(std::chrono::steady_clock::now() - began,
            std::chrono::seconds(100));
}

// Averages these gradients by the options and returns what rank 0 got.
at::Tensor Averaged(const SyncOptions& sync_options,
                    const std::vector<at::Tensor>& gradients) {
  const TempFolder folder;
  EXPECT_EQ(RunRanks(2,
                     [&](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       const at::Tensor& own =
                           gradients[static_cast<size_t>(options.rank)];
                       at::Tensor p =
                           at::zeros_like(own).set_requires_grad(true);
                       auto sync = communicator->SyncGradients(
                           {{"p", p}}, {}, sync_options, nullptr);
                       for (int step = 0; step < 3; ++step) {
                         p.mutable_grad().reset();
                         sync->BeforeForward(true);
                         sync->Backward((p * own).sum(), true);
                       }
                       communicator->Barrier();
                       if (options.rank > 0) return 0;
                       WriteSafetensors(folder / "out", {{"p", p.grad()}});
                       return 0;
                     }),
            AllDone(2));
  return ReadSafetensors(folder / "out")[0].tensor;
}

TEST(DdpTest, HalvesTravelInPlaceOfFloats) {
  const std::vector<at::Tensor> gradients{at::linspace(-1, 1, 1000),
                                          at::linspace(2, 5, 1000)};
  const at::Tensor mean = (gradients[0] + gradients[1]) / 2;
  EXPECT_TRUE(Averaged({}, gradients).equal(mean));
  const at::Tensor fp16 =
      Averaged({.compression = Compression::kFp16}, gradients);
  EXPECT_FALSE(fp16.equal(mean));
  EXPECT_TRUE(at::allclose(fp16, mean, 2e-3, 2e-3));
  const at::Tensor bf16 =
      Averaged({.compression = Compression::kBf16}, gradients);
  EXPECT_TRUE(bf16.equal((gradients[0].to(at::kBFloat16).div_(2) +
                          gradients[1].to(at::kBFloat16).div_(2))
                             .to(at::kFloat)));
}

TEST(DdpTest, PowerSgdIsExactForGradientsOfItsRank) {
  const at::Tensor left = at::linspace(1, 2, 40).view({40, 1});
  const at::Tensor right = at::linspace(-1, 3, 30).view({1, 30});
  const std::vector<at::Tensor> gradients{at::matmul(left, right),
                                          at::matmul(3 * left, right)};
  SyncOptions options{.compression = Compression::kPowerSgd};
  options.power_sgd.start_step = 2;
  EXPECT_TRUE(at::allclose(Averaged(options, gradients),
                           (gradients[0] + gradients[1]) / 2, 1e-4, 1e-5));
}

// Trains in `world_size` ranks, saving every 5 steps below `output`.
void TrainSharded(int world_size, Json json, const std::string& output,
                  bool shards, const std::string& from) {
  if (shards) json["ddp"] = {{"shard_optimizer", true}};
  json["data"]["train"]["batch_size"] = 120 / world_size;
  json["data"]["train"]["drop_last"] = true;
  EXPECT_EQ(
      RunRanks(world_size,
               [&](const GlooOptions& options) {
                 at::set_num_threads(1);
                 TestRun run(json, output,
                             world_size > 1 ? MakeGlooCommunicator(options)
                                            : MakeSingleCommunicator());
                 hooks::CheckpointSaver::Options saver;
                 saver.every_epochs.reset();
                 saver.every_steps = 5;
                 saver.keep_last = -1;
                 run.trainer().AddHook(
                     std::make_shared<hooks::CheckpointSaver>(saver));
                 if (from.empty()) {
                   run.trainer().Start();
                 } else {
                   run.trainer().Restore(ReadCheckpoint(from));
                 }
                 run.trainer().Run();
                 if (!shards || world_size == 1) return 0;
                 // Each rank keeps the state of its part alone.
                 const auto optimizer =
                     run.trainer().training_runner().Optimizers()[0];
                 int64_t own = 0;
                 for (const NamedTensor& each : optimizer.second->State()) {
                   own += each.tensor.numel();
                 }
                 int64_t parameters = 0;
                 for (const NamedTensor& each :
                      optimizer.second->parameters()) {
                   parameters += each.tensor.numel();
                 }
                 RANK_EXPECT(own < 2 * parameters * 3 / 4);
                 run.communicator->Barrier();
                 return 0;
               }),
      AllDone(world_size));
}

std::map<std::string, at::Tensor> StateOf(const std::string& checkpoint) {
  std::map<std::string, at::Tensor> state;
  const Snapshot snapshot = ReadCheckpoint(checkpoint);
  for (const auto* list : {&snapshot.model, &snapshot.state}) {
    for (const NamedTensor& each : *list) state[each.name] = each.tensor;
  }
  return state;
}

TEST(DdpTest, AShardedOptimizerEndsInTheSameBitsAndResumesAnywhere) {
  Json json = DigitsExperiment(2);
  json["model"]["dropout"] = 0.0;
  json["model"]["hidden"] = {20, 16};
  const TempFolder folder;
  TrainSharded(2, json, folder / "whole", false, "");
  TrainSharded(2, json, folder / "parts", true, "");
  const auto whole = StateOf(folder / "whole/checkpoints/last");
  const auto parts = StateOf(folder / "parts/checkpoints/last");
  ASSERT_EQ(whole.size(), parts.size());
  for (const auto& [name, tensor] : whole) {
    ASSERT_TRUE(parts.contains(name)) << name;
    EXPECT_TRUE(parts.at(name).equal(tensor)) << name;
  }
  // From parts to parts, to the whole, and to one rank; and back.
  const std::string middle =
      folder / "parts/checkpoints/epoch-0001-batch-00005-step-000005";
  TrainSharded(2, json, folder / "again", true, middle);
  TrainSharded(2, json, folder / "joined", false, middle);
  for (const char* name : {"again", "joined"}) {
    const auto end =
        StateOf(folder / (std::string(name) + "/checkpoints/last"));
    for (const auto& [key, tensor] : whole) {
      EXPECT_TRUE(end.at(key).equal(tensor)) << name << " " << key;
    }
  }
  TrainSharded(1, json, folder / "single", false, middle);
  TrainSharded(
      2, json, folder / "spread", true,
      folder / "single/checkpoints/epoch-0001-batch-00010-step-000010");
  const auto spread = StateOf(folder / "spread/checkpoints/last");
  EXPECT_TRUE(at::allclose(spread.at("optimizer.exp_avg.net.0.weight"),
                           whole.at("optimizer.exp_avg.net.0.weight"), 1e-2,
                           1e-4));
}

TEST(DdpTest, SaysWhatIsWrongInTheExperiment) {
  const auto refusal = [](const Json& ddp) -> std::string {
    Json json = DigitsExperiment(1);
    json["ddp"] = ddp;
    try {
      TestRun run(json);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({{"compression", "fp16"}, {"timeout", "30s"}}), "");
  EXPECT_NE(refusal({{"compresion", "fp16"}}).find("'compression'"),
            std::string::npos);
  EXPECT_NE(refusal({{"buffers", "sum"}}).find("experiment.ddp.buffers"),
            std::string::npos);
  EXPECT_NE(refusal({{"find_unused_parameters", true}, {"static_graph", true}})
                .find("exclude each other"),
            std::string::npos);
  EXPECT_EQ(PeerTimeout(R"({"ddp": {"timeout": "90s"}})"),
            std::chrono::seconds(90));
  EXPECT_EQ(PeerTimeout("{}"), std::nullopt);
}

TEST(DdpTest, OrthonormalColumnsAreThatAlsoOfZeros) {
  for (int64_t columns : {1, 2, 5}) {
    at::Tensor matrix =
        at::arange(columns * 7).to(at::kDouble).sin().view({7, columns});
    Orthonormalise(matrix, 0);
    EXPECT_TRUE(at::allclose(at::matmul(matrix.t(), matrix),
                             at::eye(columns, at::kDouble)));
  }
  at::Tensor zeros = at::zeros({7, 1});
  Orthonormalise(zeros, PowerSgdOptions().epsilon);
  EXPECT_TRUE(zeros.equal(at::zeros({7, 1})));
}

}  // namespace
}  // namespace epochd::engine
