// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "spdlog/spdlog.h"

namespace epochd::sim {
namespace {

using control::Core;
using job::AttemptState;
using job::JobState;

constexpr absl::Duration kChaos = absl::Minutes(3);
constexpr absl::Duration kCalm = absl::Minutes(12);
constexpr absl::Duration kTick = absl::Milliseconds(500);

}  // namespace

World::World(uint64_t seed) : dice_(seed), store_(disk_) {
  StartCoordinator();
  const int num_nodes = 1 + dice_.Below(4);
  for (int i = 0; i < num_nodes; ++i) AddNode(i);
  After(absl::Seconds(1), [this] { Nemesis(); });
  After(absl::ZeroDuration(), [this] { Client(); });
}

void World::Run() {
  RunUntil(now() + kChaos);
  Heal();
  Finish();
}

void World::RunSwizzled() {
  has_nemesis_ = false;
  for (int i = 0; i < 3; ++i) {
    RunUntil(now() + absl::Seconds(20));
    RunUntil(now() + Swizzle());
  }
  Heal();
  RunUntil(now() + absl::Seconds(30));
  for (const auto& worker : core_->board().ListWorkers()) {
    // A worker may have been too unlucky to be trusted, but it is heard.
    ASSERT_TRUE(worker.state == fleet::WorkerState::kReady ||
                worker.state == fleet::WorkerState::kQuarantined)
        << worker.record.id.name() << " is " << Name(worker.state);
  }
  Finish();
}

bool World::RunOneJob(Fault fault, int64_t n) {
  has_nemesis_ = false;
  Heal();
  fault_ = fault;
  faulty_message_ = n;
  // A rank for each node.
  auto spec = control::Spec(static_cast<int>(nodes_.size()));
  spec->resources.cpus = 1;
  requests_.push_back({"only", spec, std::nullopt});
  Finish();
  const auto job = disk_.ReadJob(*requests_[0].job);
  EXPECT_EQ((*job)->state, JobState::kSucceeded) << Describe((*job)->id);
  EXPECT_EQ((*job)->attempts.size(), 1u) << "one message is no reason";
  return n <= num_messages_;
}

void World::Heal() {
  chaos_ = false;
  cut_off_.clear();
  store_.FailWith(absl::OkStatus());
  for (auto& node : nodes_) node->set_failing(false);
}

void World::Finish() {
  for (size_t i = 0; i < requests_.size(); ++i) Submit(i);
  const auto deadline = now() + kCalm;
  while (now() < deadline) {
    RunUntil(now() + absl::Seconds(10));
    bool done = true;
    for (const Request& request : requests_) {
      if (!request.job) {
        done = false;
        continue;
      }
      const auto view = core_->board().Get(*request.job);
      done &= view->job->IsTerminal();
      // Asked for more than there is: waits for ever, and says so.
      if (view->reason == job::JobReason::kUnsatisfiable) {
        core_->Cancel(*request.job, "",
                      [](absl::StatusOr<control::JobView>) {});
        must_settle_ = true;
      }
    }
    if (done) break;
  }
  // Agents learn that nothing is desired any more.
  RunUntil(now() + absl::Seconds(20));
  CheckEnd();
}

uint64_t World::Trace() const {
  uint64_t hash = 14695981039346656037u;
  const auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 1099511628211u;
  };
  for (const Request& request : requests_) {
    if (!request.job) continue;
    const auto events = disk_.ReadEvents(*request.job, 0, 1 << 20);
    for (const auto& event : events.value()) {
      mix(event.body.index());
      mix(absl::ToUnixMicros(event.time));
      mix(event.attempt.value());
    }
  }
  return hash;
}

// ---- time and network
// ---------------------------------------------------------

void World::After(absl::Duration delay, Action action) {
  queue_.push({now() + delay, ++num_actions_, std::move(action)});
}

void World::Send(const std::string& node, Action deliver) {
  if (cut_off_.contains(node)) return;
  if (chaos_ && dice_.OneIn(12)) return;
  const bool is_faulty = ++num_messages_ == faulty_message_;
  if (is_faulty && fault_ == Fault::kLost) return;
  const bool twice =
      (is_faulty && fault_ == Fault::kTwice) || (chaos_ && dice_.OneIn(12));
  const int copies = twice ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    auto delay = dice_.Between(absl::Microseconds(100), absl::Milliseconds(20));
    if (chaos_ && dice_.OneIn(10)) {
      delay = dice_.Between(absl::ZeroDuration(), absl::Seconds(6));
    }
    // After others that were sent later.
    if (is_faulty && (fault_ == Fault::kLate || i > 0)) {
      delay = absl::Seconds(6);
    }
    After(delay, [this, node, deliver] {
      if (!cut_off_.contains(node)) deliver();
    });
  }
}

void World::SendUp(const std::string& node, Action deliver) {
  Send(node, [this, life = life_, deliver = std::move(deliver)] {
    if (life == life_) deliver();
  });
}

void World::Settle() {
  core_next_ = core_->Settle();
  must_settle_ = false;
}

void World::RunUntil(fleet::SteadyTime until) {
  while (!testing::Test::HasFatalFailure()) {
    auto next = must_settle_ ? now() : core_next_;
    const bool act = !queue_.empty() && queue_.top().at <= next;
    if (act) next = queue_.top().at;
    if (until < next) {
      clock_.Advance(until - now());
      return;
    }
    if (now() < next) clock_.Advance(next - now());
    core_->BeginTurn();
    if (act) {
      Action action = queue_.top().action;
      queue_.pop();
      action();
      // Sometimes several commands share a turn.
      must_settle_ = true;
      if (dice_.OneIn(4)) continue;
    }
    Settle();
    if (dice_.OneIn(8)) CheckNow();
  }
}

// ---- coordinator
// --------------------------------------------------------------

void World::StartCoordinator() {
  Say("coordinator starts");
  watches_.clear();
  core_.reset();
  ++life_;
  control::Options options;
  options.random = [this] { return dice_.Bits(); };
  options.tail_events = 1 + dice_.Below(20);
  // The wall clock jumps by more than a month altogether.
  options.finished_job_ttl = absl::InfiniteDuration();
  core_ = std::make_unique<Core>(std::move(options), clock_, store_);
  ASSERT_TRUE(core_->Load().ok());
  core_next_ = now();
  for (auto& node : nodes_) WatchDesired(*node);
}

void World::WatchDesired(Node& node) {
  // A stream belongs to the agent that opened it.
  const std::string incarnation = node.incarnation();
  auto watch = core_->board().WatchDesired(
      job::WorkerId(node.name()), job::Incarnation(incarnation),
      [this, &node, incarnation](
          absl::StatusOr<std::shared_ptr<const control::DesiredState>> news) {
        if (!news.ok()) return;
        Send(node.name(), [this, &node, incarnation, desired = *news] {
          if (node.incarnation() != incarnation) return;
          node.OnDesired(desired, std::nullopt, now());
        });
      });
  if (watch.ok()) watches_[node.name()] = *std::move(watch);
}

// ---- nodes
// --------------------------------------------------------------------

void World::AddNode(int number) {
  const std::string name = "n" + std::to_string(number);
  const int num_cpus = 1 + dice_.Below(3);
  const size_t index = nodes_.size();
  Node::Outbox outbox;
  outbox.reg = [this, index](control::Registration registration,
                             fleet::SteadyTime sent) {
    Node& node = *nodes_[index];
    SendUp(node.name(), [this, &node, registration, sent] {
      // The connection ended with the agent that wrote this.
      if (node.incarnation() != registration.worker.incarnation.text()) return;
      OnRegistration(node, registration, sent);
    });
  };
  outbox.beat = [this, index](control::Heartbeat heartbeat,
                              fleet::SteadyTime sent) {
    Node& node = *nodes_[index];
    SendUp(node.name(),
           [this, &node, heartbeat, sent] { OnBeat(node, heartbeat, sent); });
  };
  outbox.lines = [this, index](control::EventLines lines) {
    Node& node = *nodes_[index];
    SendUp(node.name(), [this, &node, lines] { OnLines(node, lines); });
  };
  outbox.process_began = [this, index](job::AttemptId attempt) {
    OnProcessBegan(*nodes_[index], attempt);
  };
  heard_[name] = now();
  nodes_.push_back(
      std::make_unique<Node>(name, num_cpus, dice_, std::move(outbox)));
  struct Ticker {
    World* world;
    Node* node;
    void operator()() const {
      node->Tick(world->now());
      world->After(kTick, *this);
    }
  };
  After(dice_.Between(absl::ZeroDuration(), kTick),
        Ticker{this, nodes_.back().get()});
}

void World::Say(const std::string& what) const {
  spdlog::info("[{}] {}", absl::FormatDuration(now().since_origin()), what);
}

void World::OnRegistration(Node& node,
                           const control::Registration& registration,
                           fleet::SteadyTime sent) {
  const std::string incarnation = registration.worker.incarnation.text();
  core_->Register(registration, now(),
                  [this, &node, incarnation, sent, life = life_](
                      absl::StatusOr<control::RegisterResult> answer) {
                    if (!answer.ok()) return;
                    Send(node.name(), [this, &node, incarnation, sent, life,
                                       result = *std::move(answer)] {
                      if (node.incarnation() != incarnation || life != life_)
                        return;
                      node.OnRegistered();
                      node.OnDesired(result.desired, sent, now());
                      WatchDesired(node);
                    });
                  });
}

void World::OnBeat(Node& node, const control::Heartbeat& heartbeat,
                   fleet::SteadyTime sent) {
  const std::string incarnation = heartbeat.incarnation.text();
  fleet::SteadyTime& heard = heard_[node.name()];
  silences_[node.name()].push_back({now(), now() - heard});
  heard = now();
  core_->SendHeartbeat(
      heartbeat, now(),
      [this, &node, incarnation, sent](
          absl::StatusOr<std::shared_ptr<const control::DesiredState>> answer) {
        Send(node.name(), [this, &node, incarnation, sent, answer] {
          if (node.incarnation() != incarnation) return;
          if (answer.ok()) {
            node.OnDesired(*answer, sent, now());
          } else if (absl::IsNotFound(answer.status())) {
            node.OnUnknown();
          }
        });
      });
}

void World::OnLines(Node& node, const control::EventLines& lines) {
  core_->ReportEvents(
      lines, [this, &node, lines](absl::StatusOr<int64_t> answer) {
        Send(node.name(), [&node, lines, answer] {
          if (node.incarnation() != lines.incarnation.text()) return;
          if (answer.ok()) {
            node.OnLinesTaken(lines, *answer);
          } else if (absl::IsFailedPrecondition(answer.status())) {
            node.OnLinesRefused(lines);
          }
        });
      });
}

void World::OnProcessBegan(const Node& node, const job::AttemptId& attempt) {
  began_.emplace(attempt, now());
  Say(node.name() + " begins " + attempt.ResourceName());
  // I4: no process of another attempt of this job is alive anywhere, nor one of
  // this attempt that no agent knows of.
  for (const job::AttemptId& orphan : node.Orphans()) {
    if (orphan.job != attempt.job) continue;
    ADD_FAILURE() << "I4: " << attempt.ResourceName() << " began on "
                  << node.name() << " beside its orphan of attempt "
                  << orphan.number.value();
  }
  for (const auto& other : nodes_) {
    for (const job::AttemptId& alive : other->Alive()) {
      if (alive.job != attempt.job || alive == attempt) continue;
      // The agent itself is about to drop what is not desired any more.
      if (other.get() == &node) continue;
      ADD_FAILURE() << "I4: " << attempt.ResourceName() << " began on "
                    << node.name() << " while attempt " << alive.number.value()
                    << " is alive on " << other->name();
    }
  }
}

// ---- clients and nemesis
// ------------------------------------------------------

void World::Client() {
  if (!chaos_) return;
  After(dice_.Between(absl::ZeroDuration(), absl::Seconds(15)),
        [this] { Client(); });
  if (requests_.empty() || (dice_.OneIn(2) && requests_.size() < 12)) {
    auto spec = control::Spec(1 + dice_.Below(3));
    spec->priority = dice_.Below(3) * 50;
    spec->resources.replicas.max += dice_.Below(2);
    spec->restart.worker_lost_after = absl::Seconds(20 + dice_.Below(40));
    spec->restart.max = 1 + dice_.Below(6);
    if (dice_.OneIn(6)) spec->max_time = absl::Seconds(20);
    requests_.push_back({std::to_string(dice_.Bits()), spec, std::nullopt});
  }
  const size_t request = dice_.Below(static_cast<int>(requests_.size()));
  // Also again for one that was answered: the same answer.
  Submit(request);
  if (dice_.OneIn(5) && requests_[request].job) {
    core_->Cancel(*requests_[request].job, "",
                  [](absl::StatusOr<control::JobView>) {});
  }
}

void World::Submit(size_t index) {
  const Request& request = requests_[index];
  core_->Submit(request.spec, request.id,
                [this, index](absl::StatusOr<control::JobView> answer) {
                  if (!answer.ok()) return;
                  Request& known = requests_[index];
                  // I5: the first answer again.
                  if (known.job) {
                    ASSERT_EQ(*known.job, answer->job->id);
                  }
                  known.job = answer->job->id;
                });
}

void World::Nemesis() {
  if (!chaos_ || !has_nemesis_) return;
  After(dice_.Between(absl::ZeroDuration(), absl::Seconds(12)),
        [this] { Nemesis(); });
  Node& node = *nodes_[dice_.Below(static_cast<int>(nodes_.size()))];
  switch (dice_.Below(9)) {
    case 8:
      return Impersonate(node.name());
    case 7:
      Say(node.name() + " loses its work folder");
      silences_[node.name()].push_back({now(), absl::InfiniteDuration()});
      return node.LoseFolder(now());
    case 0:
      Say("kill agent of " + node.name());
      return node.KillAgent(now());
    case 1:
      Say("reboot " + node.name());
      silences_[node.name()].push_back({now(), absl::InfiniteDuration()});
      return node.Reboot(now());
    case 2: {
      const std::string name = node.name();
      Say("cut off " + name);
      cut_off_.insert(name);
      const auto length = dice_.Between(absl::Seconds(1), absl::Seconds(90));
      return After(length, [this, name] { cut_off_.erase(name); });
    }
    case 3:
      // Also between a commit and its answer: those are lost.
      return StartCoordinator();
    case 4: {
      Say("store is full");
      store_.FailWith(absl::ResourceExhaustedError("full"));
      const auto length = dice_.Between(absl::Seconds(1), absl::Seconds(10));
      return After(length, [this] { store_.FailWith(absl::OkStatus()); });
    }
    case 5:
      return clock_.JumpWall(
          dice_.Between(-absl::Hours(240), absl::Hours(240)));
    default:
      Say("cut off all");
      for (const auto& other : nodes_) {
        const std::string name = other->name();
        cut_off_.insert(name);
        After(dice_.Between(absl::Seconds(1), absl::Seconds(40)),
              [this, name] { cut_off_.erase(name); });
      }
  }
}

void World::Impersonate(const std::string& name) {
  const job::WorkerId id(name);
  const auto view = core_->board().GetWorker(id);
  // One that is not certainly heard may lose its name, as after its folder.
  if (!view.ok() || view->state != fleet::WorkerState::kReady ||
      now() - heard_[name] > absl::Seconds(5)) {
    return;
  }
  Say("another machine calls itself " + name);
  control::Registration second;
  second.worker.id = id;
  second.worker.incarnation = job::Incarnation(std::to_string(dice_.Bits()));
  second.worker.boot_id = std::to_string(dice_.Bits());
  second.worker.work_dir = std::to_string(dice_.Bits());
  second.worker.devices = {{"cpu:0", job::DeviceKind::kCpu, "", 0}};
  core_->Register(std::move(second), now(),
                  [](const absl::StatusOr<control::RegisterResult>& answer) {
                    // I9: a name stays with whom it is heard from.
                    ASSERT_EQ(answer.status().code(),
                              absl::StatusCode::kAlreadyExists);
                  });
}

absl::Duration World::Swizzle() {
  auto last = absl::ZeroDuration();
  for (const auto& node : nodes_) {
    if (dice_.OneIn(2)) continue;
    const std::string name = node->name();
    const auto begin = dice_.Between(absl::ZeroDuration(), absl::Seconds(10));
    const auto end = begin + dice_.Between(absl::Seconds(1), absl::Seconds(50));
    After(begin, [this, name] {
      Say("clog " + name);
      if (chaos_) cut_off_.insert(name);
    });
    After(end, [this, name] { cut_off_.erase(name); });
    last = std::max(last, end);
  }
  return last;
}

// ---- what must hold
// -----------------------------------------------------------

void World::CheckNow() {
  std::set<std::pair<job::WorkerId, std::string>> held;
  for (const Request& request : requests_) {
    if (!request.job) continue;
    const auto view = core_->board().Get(*request.job);
    // I1: what was acknowledged is there.
    ASSERT_TRUE(view.ok()) << view.status();
    const job::Job& job = *view->job;
    if (const job::Attempt* attempt = job.LiveAttempt()) {
      for (const auto& rank : attempt->ranks) {
        for (const std::string& device : rank.devices) {
          // I7: nothing is held twice.
          ASSERT_TRUE(held.insert({rank.worker, device}).second);
        }
      }
    }
    // I12: a client that reads on from what it saw misses nothing.
    int64_t& cursor = cursors_[*request.job];
    const auto page = core_->board().ReadEvents(*request.job, cursor, 7);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const auto& event : page->events) {
      ASSERT_EQ(event->sequence, cursor + 1);
      cursor = event->sequence;
    }
  }
  ASSERT_EQ(core_->board().GetStats().num_refused_decisions, 0);
}

void World::CheckEnd() {
  ASSERT_NO_FATAL_FAILURE(CheckNow());
  // I6: everything that was asked for is there and finished.
  for (const Request& request : requests_) {
    ASSERT_TRUE(request.job.has_value());
    const auto job = disk_.ReadJob(*request.job);
    ASSERT_TRUE(job.ok()) << job.status();
    ASSERT_TRUE((*job)->IsTerminal()) << Describe(*request.job);
    ASSERT_NO_FATAL_FAILURE(CheckJournal(**job));
  }
  store::ListQuery all;
  all.limit = 1000;
  ASSERT_EQ(disk_.ListJobs(all)->jobs.size(), requests_.size());
  // I7, I8: nothing is held, nothing is alive.
  for (const auto& node : nodes_) {
    ASSERT_TRUE(node->Alive().empty()) << node->name();
  }
  for (const auto& worker : core_->board().ListWorkers()) {
    ASSERT_TRUE(worker.held.empty());
  }
}

std::string World::Describe(job::JobId id) {
  const auto view = core_->board().Get(id).value();
  std::string text = id.ToString() + " is ";
  text += Name(view.job->state);
  text += ": " + view.message + "\n";
  for (const auto& worker : core_->board().ListWorkers()) {
    text += worker.record.id.name() + " is ";
    text += Name(worker.state);
    text += ", " + worker.message + "\n";
    for (const auto& [device, attempt] : worker.held) {
      text += "  " + device + " of " + attempt.ResourceName() + "\n";
    }
  }
  return text;
}

void World::CheckJournal(const job::Job& job) {
  job::Job folded;
  folded.id = job.id;
  int num_terminal = 0;
  std::map<int, int> num_ended;
  int epoch = 0;
  const auto events = disk_.ReadEvents(job.id, 0, 1 << 20);
  for (const auto& event : events.value()) {
    // I2, I3: dense and along the drawn edges; Apply refuses all else.
    const auto applied = job::Apply(folded, event);
    ASSERT_TRUE(applied.ok()) << applied;
    if (const auto* state = std::get_if<job::JobStateChanged>(&event.body)) {
      num_terminal += job::IsTerminal(state->state);
    } else if (const auto* attempt =
                   std::get_if<job::AttemptStateChanged>(&event.body)) {
      if (attempt->state == AttemptState::kAssigned) epoch = 0;
      if (attempt->state == AttemptState::kEnded) {
        ++num_ended[event.attempt.value()];
      }
    } else if (const auto* finished =
                   std::get_if<job::EpochFinished>(&event.body)) {
      // Each line once and in order, whatever was sent twice or late.
      ASSERT_EQ(finished->epoch, ++epoch);
    }
  }
  ASSERT_EQ(folded.state, job.state);
  ASSERT_EQ(folded.last_sequence, job.last_sequence);
  ASSERT_EQ(num_terminal, 1);
  ASSERT_EQ(num_ended.size(), job.attempts.size());
  for (const auto& [number, count] : num_ended) ASSERT_EQ(count, 1) << number;
  ASSERT_LE(job.num_restarts, job.spec->restart.max);
  if (job.state == JobState::kSucceeded) {
    // All lines of the attempt came before its end, unless the worker that has
    // them was lost after it had told that training was done.
    const job::Attempt& last = job.attempts.back();
    const auto began = began_.at({job.id, last.number});
    bool heard = true;
    for (const Silence& silence : silences_[last.ranks[0].worker.name()]) {
      heard &= silence.end < began ||
               silence.length < job.spec->restart.worker_lost_after;
    }
    ++num_succeeded_;
    if (heard) {
      ASSERT_EQ(epoch, 3);
      ++num_whole_;
    }
  }
}

}  // namespace epochd::sim
