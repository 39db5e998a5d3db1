// SPDX-License-Identifier: Apache-2.0
#include "server/control/controller.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "fmt/format.h"
#include "server/control/core.h"
#include "server/control/mailbox.h"

namespace epochd::control {
namespace {

// What any command takes up beside its texts, about.
constexpr int64_t kCommandBytes = 1024;

int64_t BytesOf(const job::JobSpec* spec) {
  if (spec == nullptr) return kCommandBytes;
  size_t sum = spec->experiment_json.size();
  for (const std::string& argument : spec->command) sum += argument.size();
  for (const auto& [name, value] : spec->env) sum += name.size() + value.size();
  return kCommandBytes + static_cast<int64_t>(sum);
}

absl::Status Refusal(Mailbox::Posted posted) {
  return posted == Mailbox::Posted::kFull
             ? absl::ResourceExhaustedError(
                   "the coordinator has more to do than it can, try again")
             : absl::UnavailableError("the coordinator is not running");
}

}  // namespace

class Controller::Impl {
 public:
  Impl(Options options, const Clock& clock, store::JobStore& store)
      : clock_(clock),
        store_(store),
        mailbox_({options.max_mailbox, options.max_mailbox_bytes}),
        core_(std::move(options), clock, store) {}

  absl::Status Start() {
    absl::MutexLock lock(&lifetime_);
    if (auto status = core_.Load(); !status.ok()) return status;
    mailbox_.Open();
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  void Stop() {
    absl::MutexLock lock(&lifetime_);
    mailbox_.Close();
    if (thread_.joinable()) thread_.join();
  }

  // Posts `call(core, done)`; a command that cannot be posted is answered here.
  template <typename DoneType, typename Call>
  void Post(Mailbox::Sender sender, int64_t num_bytes, DoneType done,
            Call call) {
    // Shared by the two ways to answer, of which exactly one happens.
    auto shared = std::make_shared<DoneType>(std::move(done));
    Mailbox::Command command = [shared,
                                call = std::move(call)](Core& core) mutable {
      call(core, std::move(*shared));
    };
    const auto posted = mailbox_.Post(command, sender, num_bytes);
    if (posted == Mailbox::Posted::kYes) return;
    if (posted == Mailbox::Posted::kFull) {
      board().Count([](Stats& stats) { ++stats.num_overloads; });
    }
    (*shared)(Refusal(posted));
  }

  Board& board() { return core_.board(); }
  const Clock& clock() const { return clock_; }
  const store::JobStore& store() const { return store_; }
  const std::string& cluster_id() const { return core_.cluster_id(); }
  int64_t mailbox_length() const { return mailbox_.length(); }

 private:
  void Run() {
    fleet::SteadyTime next = clock_.Steady();
    for (bool closed = false; !closed;) {
      auto [commands, is_closed] =
          mailbox_.Take(std::max(absl::ZeroDuration(), next - clock_.Steady()));
      closed = is_closed;
      core_.BeginTurn();
      for (auto& command : commands) command(core_);
      next = core_.Settle();
    }
  }

  const Clock& clock_;
  const store::JobStore& store_;
  Mailbox mailbox_;
  // The thread's while it runs; its board is anybody's.
  Core core_;

  absl::Mutex lifetime_;
  std::thread thread_ ABSL_GUARDED_BY(lifetime_);
};

Controller::Controller(Options options, const Clock& clock,
                       store::JobStore& store)
    : impl_(std::make_unique<Impl>(std::move(options), clock, store)) {}

Controller::~Controller() { Stop(); }

absl::Status Controller::Start() { return impl_->Start(); }

void Controller::Stop() { impl_->Stop(); }

// ---- commands
// -----------------------------------------------------------------

void Controller::Submit(std::shared_ptr<const job::JobSpec> spec,
                        std::string request_id, Done<JobView> done) {
  const int64_t num_bytes = BytesOf(spec.get());
  impl_->Post(Mailbox::Sender::kPerson, num_bytes, std::move(done),
              [spec = std::move(spec), request_id = std::move(request_id)](
                  Core& core, Done<JobView> answer) mutable {
                core.Submit(std::move(spec), std::move(request_id),
                            std::move(answer));
              });
}

void Controller::Hint(std::shared_ptr<const job::JobSpec> spec,
                      Done<std::string> done) {
  const int64_t num_bytes = BytesOf(spec.get());
  impl_->Post(
      Mailbox::Sender::kPerson, num_bytes, std::move(done),
      [spec = std::move(spec)](Core& core, Done<std::string> answer) mutable {
        core.Hint(std::move(spec), std::move(answer));
      });
}

void Controller::Cancel(job::JobId id, std::string etag, Done<JobView> done) {
  impl_->Post(Mailbox::Sender::kPerson, kCommandBytes, std::move(done),
              [id, etag = std::move(etag)](Core& core, Done<JobView> answer) {
                core.Cancel(id, etag, std::move(answer));
              });
}

void Controller::Delete(job::JobId id, std::string request_id,
                        DoneStatus done) {
  impl_->Post(Mailbox::Sender::kPerson, kCommandBytes, std::move(done),
              [id, request_id = std::move(request_id)](
                  Core& core, DoneStatus answer) mutable {
                core.Delete(id, std::move(request_id), std::move(answer));
              });
}

void Controller::DrainWorker(job::WorkerId worker, bool undo,
                             Done<fleet::WorkerView> done) {
  impl_->Post(Mailbox::Sender::kPerson, kCommandBytes, std::move(done),
              [worker = std::move(worker), undo](
                  Core& core, Done<fleet::WorkerView> answer) {
                core.DrainWorker(worker, undo, std::move(answer));
              });
}

void Controller::Register(Registration registration,
                          Done<RegisterResult> done) {
  impl_->Post(
      Mailbox::Sender::kLease, kCommandBytes, std::move(done),
      [registration = std::move(registration), at = impl_->clock().Steady()](
          Core& core, Done<RegisterResult> answer) mutable {
        core.Register(std::move(registration), at, std::move(answer));
      });
}

void Controller::SendHeartbeat(Heartbeat heartbeat,
                               Done<std::shared_ptr<const DesiredState>> done) {
  impl_->Post(
      Mailbox::Sender::kLease, kCommandBytes, std::move(done),
      [heartbeat = std::move(heartbeat), at = impl_->clock().Steady()](
          Core& core, Done<std::shared_ptr<const DesiredState>> answer) {
        core.SendHeartbeat(heartbeat, at, std::move(answer));
      });
}

void Controller::ReportEvents(EventLines lines, Done<int64_t> done) {
  const int64_t num_bytes =
      kCommandBytes + static_cast<int64_t>(lines.lines.size());
  impl_->Post(Mailbox::Sender::kRank, num_bytes, std::move(done),
              [lines = std::move(lines)](Core& core, Done<int64_t> answer) {
                core.ReportEvents(lines, std::move(answer));
              });
}

// ---- reads
// --------------------------------------------------------------------

absl::StatusOr<JobView> Controller::Get(job::JobId id) const {
  return impl_->board().Get(id);
}

absl::StatusOr<JobViewPage> Controller::List(
    const store::ListQuery& query) const {
  return impl_->board().List(query);
}

absl::StatusOr<std::vector<job::Checkpoint>> Controller::ListCheckpoints(
    job::JobId id, bool show_removed) const {
  auto view = Get(id);
  if (!view.ok()) return view.status();
  std::vector<job::Checkpoint> checkpoints = view->job->checkpoints;
  if (show_removed) {
    // The job's row has those that exist; the journal has all.
    constexpr int32_t kPage = 1000;
    checkpoints.clear();
    for (int64_t after = 0;;) {
      auto events = impl_->store().ReadEvents(id, after, kPage);
      if (!events.ok()) return events.status();
      for (job::Event& event : *events) {
        after = event.sequence;
        if (auto* saved = std::get_if<job::CheckpointSaved>(&event.body)) {
          checkpoints.push_back(std::move(saved->checkpoint));
        } else if (auto* gone =
                       std::get_if<job::CheckpointRemoved>(&event.body)) {
          for (job::Checkpoint& known : checkpoints) {
            if (known.path == gone->checkpoint.path) known.removed = true;
          }
        }
      }
      if (static_cast<int32_t>(events->size()) < kPage) break;
    }
  }
  std::reverse(checkpoints.begin(), checkpoints.end());
  return checkpoints;
}

std::vector<fleet::WorkerView> Controller::ListWorkers() const {
  return impl_->board().ListWorkers();
}

absl::StatusOr<fleet::WorkerView> Controller::GetWorker(
    const job::WorkerId& id) const {
  return impl_->board().GetWorker(id);
}

Stats Controller::GetStats() const {
  Stats stats = impl_->board().GetStats();
  stats.mailbox_length = impl_->mailbox_length();
  return stats;
}

absl::Status Controller::StoreStatus() const {
  return impl_->board().StoreStatus();
}

absl::StatusOr<bool> Controller::KeepsJob(job::JobId id) const {
  const auto job = impl_->board().Get(id);
  if (absl::IsNotFound(job.status())) return false;
  if (!job.ok()) return job.status();
  return true;
}

absl::StatusOr<bool> Controller::UsesFile(std::string_view sha256) const {
  return impl_->store().UsesFile(sha256);
}

std::string Controller::cluster_id() const { return impl_->cluster_id(); }

absl::StatusOr<EventPage> Controller::ReadEvents(job::JobId id, int64_t after,
                                                 int32_t limit) const {
  return impl_->board().ReadEvents(id, after, limit);
}

std::optional<NumberedProgress> Controller::ReadProgress(job::JobId id,
                                                         int64_t after) const {
  return impl_->board().ReadProgress(id, after);
}

absl::StatusOr<std::unique_ptr<Subscription>> Controller::WatchJob(
    job::JobId id, std::function<void()> wake) {
  return impl_->board().WatchJob(id, std::move(wake));
}

absl::Status Controller::Admit(const job::WorkerId& worker,
                               const job::Incarnation& incarnation,
                               const job::AttemptId& attempt,
                               int32_t rank) const {
  return impl_->board().Admit(worker, incarnation, attempt, rank);
}

absl::StatusOr<std::unique_ptr<Subscription>> Controller::WatchDesired(
    const job::WorkerId& worker, const job::Incarnation& incarnation,
    DesiredCallback changed) {
  return impl_->board().WatchDesired(worker, incarnation, std::move(changed));
}

}  // namespace epochd::control
