// SPDX-License-Identifier: Apache-2.0
//
// Training on several ranks over Gloo on this machine: the engine beside the
// least that somebody writes with c10d (a Reducer around a torch::nn model and
// torch::optim::SGD), in turns, in the same processes. Prints a line
// `RESULT {...}`: of each, microseconds per step on rank 0 by the clock and of
// all of its threads' CPU time, which other programs disturb less, and page
// faults; medians of rounds.
//
//   ddp_bench [ranks] [steps] [hidden]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/dist/gloo.h"
#include "worker/engine/dist/group_communicator.h"
#include "worker/engine/hook/event_sink.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/model/mlp.h"
#include "worker/engine/optim/sgd.h"

namespace epochd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBatch = 32;
constexpr int64_t kFeatures = 32;
constexpr int64_t kClasses = 10;
constexpr int64_t kWarm = 100;
constexpr int kRounds = 5;

struct Options {
  int ranks = 2;
  int64_t steps = 1000;
  int64_t hidden = 64;
};

struct Data {
  at::Tensor input;
  at::Tensor target;
};

// What steps took, in all.
struct Cost {
  double wall_us = 0;
  double cpu_us = 0;
  double faults = 0;
};

Cost Now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 +
           static_cast<double>(time.tv_usec);
  };
  return {
      std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch())
          .count(),
      micros(usage.ru_utime) + micros(usage.ru_stime),
      static_cast<double>(usage.ru_minflt)};
}

// Measures `steps` steps once it has seen the warm ones.
class StepClock {
 public:
  explicit StepClock(int64_t steps) : steps_(steps) {}
  void Tick() {
    if (++seen_ == kWarm + 1) began_ = Now();
    if (seen_ == kWarm + steps_ + 1) ended_ = Now();
  }
  Cost PerStep() const {
    const auto steps = static_cast<double>(steps_);
    return {(ended_.wall_us - began_.wall_us) / steps,
            (ended_.cpu_us - began_.cpu_us) / steps,
            (ended_.faults - began_.faults) / steps};
  }

 private:
  const int64_t steps_;
  int64_t seen_ = 0;
  Cost began_;
  Cost ended_;
};

class ReadySource : public engine::BatchSource {
 public:
  ReadySource(Data data, int64_t batches) : data_(data), batches_(batches) {}
  void StartEpoch(int64_t, int64_t first) override { next_ = first; }
  bool Next(engine::Batch& batch) override {
    if (next_ == batches_) return false;
    ++next_;
    batch = engine::Batch{{"input", data_.input}, {"target", data_.target}};
    return true;
  }
  int64_t NumBatches() const override { return batches_; }
  int64_t NumSamples() const override { return batches_ * kBatch; }
  int64_t BatchSize() const override { return kBatch; }

 private:
  const Data data_;
  const int64_t batches_;
  int64_t next_ = 0;
};

Cost Engine(engine::Communicator& communicator, const Options& options,
            const Data& data) {
  engine::Trainer::Parts parts;
  parts.model = engine::MakeMlp({.fields = {},
                                 .in_features = kFeatures,
                                 .hidden = {options.hidden, options.hidden},
                                 .out_features = kClasses});
  auto runner = std::make_shared<engine::TrainingRunner>(
      std::make_shared<engine::Sgd>(
          parts.model->Parameters(),
          engine::Sgd::Options{.lr = 0.05, .momentum = 0.9}),
      engine::TrainingRunner::Options());
  StepClock clock(options.steps);
  {
    const engine::BindingPriority no_stop(engine::kNormalPriority,
                                          /*may_stop=*/false);
    runner->on_pre_step.Bind([&](engine::RunnerContext&) { clock.Tick(); });
  }
  parts.training_runner = runner;
  parts.validation_runner = std::make_shared<engine::ValidationRunner>();
  parts.train = std::make_unique<ReadySource>(data, kWarm + options.steps + 2);
  parts.criterion =
      engine::Criterion({std::make_shared<engine::CrossEntropyLoss>(
          engine::CrossEntropyLoss::Options())});
  parts.monitor.metric = "train/loss";
  engine::NullSink nobody;
  engine::Trainer trainer(
      std::move(parts),
      {.communicator = &communicator, .events = &nobody, .output_dir = ""});
  trainer.Start();
  trainer.Run();
  return clock.PerStep();
}

Cost Bare(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
          const Options& options, const Data& data) {
  torch::nn::Sequential net;
  net->push_back(torch::nn::Linear(kFeatures, options.hidden));
  net->push_back(torch::nn::ReLU());
  net->push_back(torch::nn::Linear(options.hidden, options.hidden));
  net->push_back(torch::nn::ReLU());
  net->push_back(torch::nn::Linear(options.hidden, kClasses));
  const std::vector<at::Tensor> parameters = net->parameters();
  for (const at::Tensor& each : parameters) {
    std::vector<at::Tensor> one{each.detach()};
    group->broadcast(one)->wait();
  }
  auto [buckets, limits] =
      c10d::compute_bucket_assignment_by_size(parameters, {1 << 20, 25u << 20});
  std::reverse(buckets.begin(), buckets.end());
  std::reverse(limits.begin(), limits.end());
  auto reducer = std::make_shared<c10d::Reducer>(
      parameters, buckets, group, std::vector<bool>(parameters.size(), false),
      25 << 20, false, false, std::unordered_map<size_t, std::string>{},
      1 << 20, false, false,
      std::vector<int64_t>(limits.begin(), limits.end()));
  torch::optim::SGD sgd(parameters,
                        torch::optim::SGDOptions(0.05).momentum(0.9));
  StepClock clock(options.steps);
  for (int64_t i = 0; i < kWarm + options.steps + 2; ++i) {
    clock.Tick();
    sgd.zero_grad();
    reducer->prepare_for_forward();
    reducer->rebuild_buckets();
    const at::Tensor output = net->forward(data.input);
    reducer->prepare_for_backward({});
    torch::nn::functional::cross_entropy(output, data.target).backward();
    sgd.step();
  }
  reducer->remove_autograd_hooks();
  return clock.PerStep();
}

double Median(const std::vector<Cost>& costs, double Cost::*what) {
  std::vector<double> values;
  for (const Cost& cost : costs) values.push_back(cost.*what);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int RunRank(const Options& options, int rank, int listen_fd, uint16_t port) {
  at::set_num_threads(1);
  const engine::GlooOptions gloo{
      .rank = rank,
      .world_size = options.ranks,
      .rendezvous = "127.0.0.1:" + std::to_string(port),
      .listen_fd = rank == 0 ? listen_fd : -1};
  auto store = engine::MeetAtStore(gloo);
  auto group = engine::MakeGlooGroup(store, gloo, "cpu");
  engine::GroupCommunicator communicator(store, group, group);
  at::manual_seed(static_cast<uint64_t>(rank));
  const Data data{at::randn({kBatch, kFeatures}),
                  at::randint(kClasses, {kBatch}, at::kLong)};
  std::vector<Cost> bare;
  std::vector<Cost> engine;
  for (int round = 0; round < kRounds; ++round) {
    communicator.Barrier();
    bare.push_back(Bare(group, options, data));
    communicator.Barrier();
    engine.push_back(Engine(communicator, options, data));
  }
  if (rank == 0) {
    std::printf("RESULT {\"ranks\": %d, \"hidden\": %lld", options.ranks,
                static_cast<long long>(options.hidden));
    const auto print = [&](const char* name, double Cost::*what) {
      const double ours = Median(engine, what);
      const double theirs = Median(bare, what);
      std::printf(", \"bare_%s\": %.1f, \"epochd_%s\": %.1f", name, theirs,
                  name, ours);
      if (theirs > 0) std::printf(", \"%s_ratio\": %.3f", name, ours / theirs);
    };
    print("us", &Cost::wall_us);
    print("cpu_us", &Cost::cpu_us);
    print("faults", &Cost::faults);
    std::printf("}\n");
    std::fflush(stdout);
  }
  communicator.Barrier();
  return 0;
}

int Run(const Options& options) {
  const int listen_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listen_fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listen_fd, 64) != 0 ||
      getsockname(listen_fd, reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    std::perror("ddp_bench");
    return 1;
  }
  for (int rank = 0; rank < options.ranks; ++rank) {
    if (fork() != 0) continue;
    int code = 1;
    try {
      code = RunRank(options, rank, listen_fd, ntohs(address.sin_port));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    }
    _exit(code);
  }
  close(listen_fd);
  int failed = 0;
  for (int status = 0; wait(&status) > 0;) failed |= status;
  return failed != 0;
}

}  // namespace
}  // namespace epochd::bench

int main(int argc, char** argv) {
  epochd::bench::Options options;
  if (argc > 1) options.ranks = std::atoi(argv[1]);
  if (argc > 2) options.steps = std::atoll(argv[2]);
  if (argc > 3) options.hidden = std::atoll(argv[3]);
  return epochd::bench::Run(options);
}
