// SPDX-License-Identifier: Apache-2.0
#include "server/store/sqlite_job_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/store/batch_check.h"
#include "server/store/records.h"
#include "server/store/schema.h"

namespace epochd::store {
namespace {

constexpr char kJobColumns[] =
    "SELECT jobs.submit_number, jobs.id, jobs.record, specs.record, "
    "jobs.state, jobs.project, jobs.end_time FROM jobs "
    "JOIN specs ON specs.job = jobs.submit_number";

std::string RandomClusterId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::Hex(random(), absl::kZeroPad8));
  }
  return id;
}

absl::Status NoJob(job::JobId id) {
  return absl::NotFoundError(absl::StrCat(id.ResourceName(), ": not found"));
}

// What jobs left beside the store is of a store that was lost: taken for one
// without jobs it would all be swept away.
absl::Status CheckNothingIsKept(const std::string& path,
                                const std::vector<std::string>& kept) {
  namespace fs = std::filesystem;
  for (const std::string& folder : kept) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder, error), end; it != end;
         it.increment(error)) {
      if (error || it->is_directory(error)) continue;
      return absl::DataLossError(absl::StrCat(
          path, ": missing or empty, but ", folder,
          " holds what jobs left; restore the file from a backup, or move ",
          absl::StrJoin(kept, " and "), " away to start empty"));
    }
  }
  return absl::OkStatus();
}

// A uniqueness rule that the controller's batches never break.
absl::Status NeverAlreadyExists(absl::Status status) {
  if (!absl::IsAlreadyExists(status)) return status;
  return absl::InternalError(status.message());
}

// Reads the columns of kJobColumns.
absl::StatusOr<std::shared_ptr<const job::Job>> JobOf(const Statement& row) {
  const absl::StatusOr<job::JobId> id = job::JobId::Parse(row.Bytes(1));
  if (!id.ok()) return absl::DataLossError(id.status().message());
  const auto damaged = [&](const absl::Status& why) {
    return absl::DataLossError(
        absl::StrCat(id->ResourceName(), ": ", why.message()));
  };
  absl::StatusOr<job::Job> job = DecodeJob(row.Bytes(2));
  if (!job.ok()) return damaged(job.status());
  absl::StatusOr<job::JobSpec> spec = DecodeSpec(row.Bytes(3));
  if (!spec.ok()) return damaged(spec.status());
  job->id = *id;
  job->submit_number = row.Int(0);
  job->spec = std::make_shared<const job::JobSpec>(*std::move(spec));
  return std::make_shared<const job::Job>(*std::move(job));
}

// As much as a list can show of a job whose record is damaged.
absl::StatusOr<std::shared_ptr<const job::Job>> JobOrRemainsOf(
    const Statement& row) {
  auto whole = JobOf(row);
  if (whole.ok()) return whole;
  const absl::StatusOr<job::JobId> id = job::JobId::Parse(row.Bytes(1));
  if (!id.ok()) return whole;
  job::Job job;
  job.id = *id;
  job.submit_number = row.Int(0);
  job.state = static_cast<job::JobState>(row.Int(4));
  job.message = std::string(whole.status().message());
  job.create_time = absl::FromUnixMicros(row.Int(6));
  if (job.IsTerminal()) job.end_time = job.create_time;
  job::JobSpec spec;
  spec.display_name = "damaged";
  spec.project = std::string(row.Bytes(5));
  job.spec = std::make_shared<const job::JobSpec>(std::move(spec));
  return std::make_shared<const job::Job>(std::move(job));
}

// The column `end_time` of a job that is finished.
void BindEnd(Statement& statement, const job::Job& job) {
  if (job.end_time) {
    statement.Bind(absl::ToUnixMicros(*job.end_time));
  } else {
    statement.BindNull();
  }
}

// Runs one statement that gives no rows; `bind` fills it in.
template <typename Bind>
absl::Status RunBound(Connection& connection, const char* sql, Bind bind) {
  auto statement = connection.Prepare(sql);
  if (!statement.ok()) return statement.status();
  bind(*statement);
  return statement->Run();
}

// Calls `take` for each row that is left.
template <typename Take>
absl::Status ForEachRow(Statement& statement, Take take) {
  while (true) {
    const absl::StatusOr<bool> row = statement.Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::OkStatus();
    if (absl::Status status = take(statement); !status.ok()) return status;
  }
}

absl::StatusOr<std::int64_t> NumberOf(Connection& connection, job::JobId id) {
  auto query =
      connection.Prepare("SELECT submit_number FROM jobs WHERE id = ?");
  if (!query.ok()) return query.status();
  const absl::StatusOr<bool> row = query->Bind(id.ToString()).Step();
  if (!row.ok()) return row.status();
  if (!*row) return NoJob(id);
  return query->Int(0);
}

}  // namespace

// ---- opening and closing ----------------------------------------------------

absl::StatusOr<std::unique_ptr<SqliteJobStore>> SqliteJobStore::Open(
    const Options& options) {
  absl::StatusOr<StateFolder> folder = StateFolder::Lock(options.folder);
  if (!folder.ok()) return folder.status();
  const std::string path = absl::StrCat(options.folder, "/epochd.db");
  struct stat info {};
  if (folder->WasLeftOpen() &&
      (stat(path.c_str(), &info) != 0 ||
       stat(absl::StrCat(path, "-wal").c_str(), &info) != 0)) {
    return absl::DataLossError(absl::StrCat(
        path,
        ": the last coordinator did not end cleanly, and the file or its "
        "write-ahead log (-wal) is gone with what was recorded last; "
        "restore both from a backup, or remove ",
        options.folder, "/lock to go on without"));
  }
  auto writer = Connection::Open({.path = path, .vfs = options.vfs});
  if (!writer.ok()) return writer.status();
  absl::Status status = PrepareDatabase(**writer, RandomClusterId(),
                                        CheckNothingIsKept(path, options.kept));
  if (!status.ok()) return status;
  auto reader =
      Connection::Open({.path = path, .read_only = true, .vfs = options.vfs});
  if (!reader.ok()) return reader.status();
  // Opens the log for this connection too, before threads come.
  if (auto tables = (*reader)->QueryInt("SELECT count(*) FROM sqlite_schema");
      !tables.ok()) {
    return tables.status();
  }
  return std::unique_ptr<SqliteJobStore>(new SqliteJobStore(
      *std::move(folder), *std::move(writer), *std::move(reader)));
}

SqliteJobStore::SqliteJobStore(StateFolder folder,
                               std::unique_ptr<Connection> writer,
                               std::unique_ptr<Connection> reader)
    : folder_(std::move(folder)),
      writer_(std::move(writer)),
      reader_(std::move(reader)) {}

SqliteJobStore::~SqliteJobStore() {
  {
    absl::MutexLock lock(&reader_mutex_);
    reader_.reset();
  }
  // The log's content is in the main file before it may be missed, and the
  // mark stands before closing removes the log.
  if (writer_->QueryInt("PRAGMA wal_checkpoint(TRUNCATE)").value_or(1) == 0) {
    folder_.MarkClosed().IgnoreError();
  }
}

absl::StatusOr<Snapshot> SqliteJobStore::Load() {
  {
    auto transaction = Transaction::Begin(*writer_);
    if (!transaction.ok()) return transaction.status();
    absl::Status status =
        writer_->Execute("UPDATE coordinator SET generation = generation + 1");
    if (status.ok()) status = transaction->Commit();
    if (!status.ok()) return status;
  }
  // From here on there is a write-ahead log to be missed.
  if (absl::Status status = folder_.MarkOpen(); !status.ok()) return status;

  Snapshot snapshot;
  const auto load = [&](const std::string& sql, auto take) -> absl::Status {
    auto query = writer_->Prepare(sql);
    if (!query.ok()) return query.status();
    return ForEachRow(*query, take);
  };
  absl::Status status =
      load("SELECT generation, next_submit_number, cluster_id FROM coordinator",
           [&](const Statement& row) {
             snapshot.generation = row.Int(0);
             snapshot.next_submit_number = row.Int(1);
             snapshot.cluster_id = row.Bytes(2);
             return absl::OkStatus();
           });
  if (!status.ok()) return status;

  std::vector<std::string> live;
  for (const job::JobState state : job::AllJobStates()) {
    snapshot.num_jobs[state] = 0;
    if (!job::IsTerminal(state)) {
      live.push_back(absl::StrCat(static_cast<int>(state)));
    }
  }
  const std::string is_live =
      absl::StrCat("jobs.state IN (", absl::StrJoin(live, ","), ")");
  status = load("SELECT state, count(*) FROM jobs GROUP BY state",
                [&](const Statement& row) {
                  snapshot.num_jobs[static_cast<job::JobState>(row.Int(0))] =
                      row.Int(1);
                  return absl::OkStatus();
                });
  if (!status.ok()) return status;
  status = load(absl::StrCat(kJobColumns, " WHERE ", is_live,
                             " ORDER BY jobs.submit_number"),
                [&](const Statement& row) {
                  auto job = JobOf(row);
                  if (job.ok()) snapshot.live_jobs.push_back(*std::move(job));
                  return job.status();
                });
  if (!status.ok()) return status;
  status = load(
      absl::StrCat("SELECT jobs.id, attempt, rank, next_offset FROM offsets "
                   "JOIN jobs ON jobs.submit_number = offsets.job WHERE ",
                   is_live, " ORDER BY offsets.job, attempt, rank"),
      [&](const Statement& row) {
        const auto id = job::JobId::Parse(row.Bytes(0));
        if (!id.ok()) return absl::DataLossError(id.status().message());
        snapshot.offsets.push_back(
            {{*id, job::AttemptNumber(static_cast<int32_t>(row.Int(1)))},
             static_cast<int32_t>(row.Int(2)),
             row.Int(3)});
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  status = load("SELECT name, record FROM workers ORDER BY name",
                [&](const Statement& row) {
                  auto worker = DecodeWorker(row.Bytes(1));
                  if (!worker.ok()) return worker.status();
                  worker->id = job::WorkerId(std::string(row.Bytes(0)));
                  snapshot.workers.push_back(*std::move(worker));
                  return absl::OkStatus();
                });
  if (!status.ok()) return status;
  return snapshot;
}

// ---- writing ----------------------------------------------------------------

absl::Status SqliteJobStore::Commit(const Batch& batch) {
  if (batch.empty()) return absl::OkStatus();
  if (absl::Status status = CheckBatch(batch); !status.ok()) return status;
  auto transaction = Transaction::Begin(*writer_);
  if (!transaction.ok()) return transaction.status();
  absl::Status status;
  const auto run = [&](const char* sql, auto bind) {
    if (status.ok()) status = RunBound(*writer_, sql, bind);
  };
  for (const JobWrite& write : batch.jobs) {
    if (status.ok()) status = WriteJob(write);
  }
  for (const RequestRecord& request : batch.requests) {
    run("INSERT INTO requests SELECT ?, submit_number FROM jobs WHERE id = ?",
        [&](Statement& s) {
          s.Bind(request.request_id).Bind(request.job.ToString());
        });
  }
  for (const fleet::WorkerRecord& worker : batch.workers) {
    run("INSERT INTO workers VALUES (?, ?) ON CONFLICT (name) "
        "DO UPDATE SET record = excluded.record",
        [&](Statement& s) {
          s.Bind(worker.id.name()).BindBlob(EncodeWorker(worker));
        });
  }
  for (const EventOffset& offset : batch.offsets) {
    run("INSERT INTO offsets SELECT submit_number, ?, ?, ? FROM jobs "
        "WHERE id = ? ON CONFLICT (job, attempt, rank) "
        "DO UPDATE SET next_offset = excluded.next_offset",
        [&](Statement& s) {
          s.Bind(offset.attempt.number.value())
              .Bind(offset.rank)
              .Bind(offset.next_offset)
              .Bind(offset.attempt.job.ToString());
        });
  }
  for (const job::JobId id : batch.deleted_jobs) {
    if (status.ok()) status = DeleteJob(id);
  }
  for (const RequestRecord& deletion : batch.deletions) {
    run("INSERT INTO deletions (request_id, job) VALUES (?, ?)",
        [&](Statement& s) {
          s.Bind(deletion.request_id).Bind(deletion.job.ToString());
        });
  }
  if (!batch.deletions.empty()) {
    run("DELETE FROM deletions WHERE number <= "
        "(SELECT max(number) FROM deletions) - ?",
        [&](Statement& s) { s.Bind(kDeletionsKept); });
  }
  for (const job::WorkerId& id : batch.forgotten_workers) {
    run("DELETE FROM workers WHERE name = ?",
        [&](Statement& s) { s.Bind(id.name()); });
  }
  if (status.ok()) status = transaction->Commit();
  return NeverAlreadyExists(std::move(status));
}

absl::Status SqliteJobStore::Probe() {
  auto transaction = Transaction::Begin(*writer_);
  if (!transaction.ok()) return transaction.status();
  // SQLite writes no page that stays as it was; this one gets a new number.
  absl::Status status = writer_->Execute(
      "INSERT INTO deletions (request_id, job) VALUES ('', '');"
      "DELETE FROM deletions WHERE request_id = ''");
  return status.ok() ? transaction->Commit() : status;
}

absl::Status SqliteJobStore::WriteJob(const JobWrite& write) {
  const job::Job& job = *write.job;
  absl::Status status;
  const auto run = [&](const char* sql, auto bind) {
    if (status.ok()) status = RunBound(*writer_, sql, bind);
  };
  const std::string record = EncodeJob(job);
  if (!write.events.empty() && write.events.front().sequence == 1) {
    run("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?)", [&](Statement& s) {
      s.Bind(job.submit_number)
          .Bind(job.id.ToString())
          .Bind(static_cast<int>(job.state))
          .Bind(job.spec->project)
          .BindBlob(record);
      BindEnd(s, job);
    });
    run("INSERT INTO specs VALUES (?, ?)", [&](Statement& s) {
      s.Bind(job.submit_number).BindBlob(EncodeSpec(*job.spec));
    });
    // Clang 14 cannot capture a structured binding.
    for (const auto& label : job.spec->labels) {
      run("INSERT INTO labels VALUES (?, ?, ?)", [&](Statement& s) {
        s.Bind(job.submit_number).Bind(label.first).Bind(label.second);
      });
    }
    for (const job::FileRef& file : job.spec->files) {
      run("INSERT OR IGNORE INTO job_files VALUES (?, ?)",
          [&](Statement& s) { s.Bind(file.sha256).Bind(job.submit_number); });
    }
    run("UPDATE coordinator SET next_submit_number = "
        "max(next_submit_number, ? + 1)",
        [&](Statement& s) { s.Bind(job.submit_number); });
  } else {
    run("UPDATE jobs SET state = ?, record = ?, end_time = ? "
        "WHERE submit_number = ? AND id = ?",
        [&](Statement& s) {
          s.Bind(static_cast<int>(job.state)).BindBlob(record);
          BindEnd(s, job);
          s.Bind(job.submit_number).Bind(job.id.ToString());
        });
    if (status.ok() && writer_->NumChanged() != 1) {
      return absl::InternalError(absl::StrCat(
          "batch: ", job.id.ResourceName(), ": continued without a beginning"));
    }
  }
  for (const job::Event& event : write.events) {
    run("INSERT INTO events VALUES (?, ?, ?)", [&](Statement& s) {
      s.Bind(job.submit_number)
          .Bind(event.sequence)
          .BindBlob(EncodeEvent(event));
    });
  }
  return status;
}

absl::Status SqliteJobStore::DeleteJob(job::JobId id) {
  const absl::StatusOr<std::int64_t> number = NumberOf(*writer_, id);
  if (absl::IsNotFound(number.status())) return absl::OkStatus();
  if (!number.ok()) return number.status();
  for (const char* sql :
       {"INSERT INTO removed_jobs VALUES (?)",
        "DELETE FROM offsets WHERE job = ?",
        "DELETE FROM requests WHERE job = ?",
        "DELETE FROM labels WHERE job = ?", "DELETE FROM specs WHERE job = ?",
        "DELETE FROM job_files WHERE job = ?",
        "DELETE FROM jobs WHERE submit_number = ?"}) {
    auto statement = writer_->Prepare(sql);
    if (!statement.ok()) return statement.status();
    absl::Status status = statement->Bind(*number).Run();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// ---- retention --------------------------------------------------------------

absl::StatusOr<std::vector<FinishedJob>> SqliteJobStore::FinishedJobs(
    int32_t limit) {
  auto query = writer_->Prepare(
      "SELECT id, state, end_time FROM jobs WHERE end_time IS NOT NULL "
      "ORDER BY end_time LIMIT ?");
  if (!query.ok()) return query.status();
  query->Bind(std::max(limit, 0));
  std::vector<FinishedJob> jobs;
  const absl::Status status =
      ForEachRow(*query, [&](const Statement& row) -> absl::Status {
        const auto id = job::JobId::Parse(row.Bytes(0));
        if (!id.ok()) return absl::DataLossError(id.status().message());
        jobs.push_back({*id, static_cast<job::JobState>(row.Int(1)),
                        absl::FromUnixMicros(row.Int(2))});
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return jobs;
}

absl::StatusOr<bool> SqliteJobStore::Sweep(int32_t max_events) {
  const auto waiting =
      writer_->QueryInt("SELECT EXISTS (SELECT 1 FROM removed_jobs)");
  if (!waiting.ok()) return waiting.status();
  if (*waiting == 0) return false;
  auto transaction = Transaction::Begin(*writer_);
  if (!transaction.ok()) return transaction.status();
  std::int64_t number = 0;
  for (std::int64_t left = max_events; left > 0;) {
    {
      auto next = writer_->Prepare("SELECT job FROM removed_jobs LIMIT 1");
      if (!next.ok()) return next.status();
      const absl::StatusOr<bool> row = next->Step();
      if (!row.ok()) return row.status();
      if (!*row) break;
      number = next->Int(0);
    }
    absl::Status status =
        RunBound(*writer_,
                 "DELETE FROM events WHERE job = ?1 AND sequence < ?2 + "
                 "(SELECT min(sequence) FROM events WHERE job = ?1)",
                 [&](Statement& s) { s.Bind(number).Bind(left); });
    if (!status.ok()) return status;
    const std::int64_t num_removed = writer_->NumChanged();
    if (num_removed == 0) {
      status = RunBound(*writer_, "DELETE FROM removed_jobs WHERE job = ?",
                        [&](Statement& s) { s.Bind(number); });
      if (!status.ok()) return status;
    }
    left -= std::max<std::int64_t>(num_removed, 1);
  }
  if (absl::Status status = transaction->Commit(); !status.ok()) return status;
  const auto more =
      writer_->QueryInt("SELECT EXISTS (SELECT 1 FROM removed_jobs)");
  if (!more.ok()) return more.status();
  return *more != 0;
}

// ---- reading ----------------------------------------------------------------

absl::StatusOr<std::shared_ptr<const job::Job>> SqliteJobStore::ReadJob(
    job::JobId id) const {
  absl::MutexLock lock(&reader_mutex_);
  auto query =
      reader_->Prepare(absl::StrCat(kJobColumns, " WHERE jobs.id = ?"));
  if (!query.ok()) return query.status();
  const absl::StatusOr<bool> row = query->Bind(id.ToString()).Step();
  if (!row.ok()) return row.status();
  if (!*row) return NoJob(id);
  return JobOf(*query);
}

absl::StatusOr<std::vector<job::Event>> SqliteJobStore::ReadEvents(
    job::JobId id, int64_t after, int32_t limit) const {
  absl::MutexLock lock(&reader_mutex_);
  const absl::StatusOr<std::int64_t> number = NumberOf(*reader_, id);
  if (!number.ok()) return number.status();
  std::vector<job::Event> events;
  {
    auto query = reader_->Prepare(
        "SELECT sequence, record FROM events WHERE job = ? AND sequence > ? "
        "ORDER BY sequence LIMIT ?");
    if (!query.ok()) return query.status();
    query->Bind(*number).Bind(after).Bind(std::max(limit, 0));
    const absl::Status status = ForEachRow(*query, [&](const Statement& row) {
      auto event = DecodeEvent(row.Bytes(1));
      if (!event.ok()) return event.status();
      event->sequence = row.Int(0);
      events.push_back(*std::move(event));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
  }
  for (job::Event& event : events) {
    auto* submitted = std::get_if<job::JobSubmitted>(&event.body);
    if (submitted == nullptr) continue;
    auto query = reader_->Prepare("SELECT record FROM specs WHERE job = ?");
    if (!query.ok()) return query.status();
    const absl::StatusOr<bool> row = query->Bind(*number).Step();
    if (!row.ok()) return row.status();
    // A job deleted since then has none.
    if (!*row) return NoJob(id);
    auto spec = DecodeSpec(query->Bytes(0));
    if (!spec.ok()) return spec.status();
    submitted->spec = std::make_shared<const job::JobSpec>(*std::move(spec));
    submitted->submit_number = *number;
  }
  return events;
}

absl::StatusOr<JobPage> SqliteJobStore::ListJobs(const ListQuery& query) const {
  std::string sql = absl::StrCat(kJobColumns, " WHERE jobs.submit_number < ?");
  if (!query.states.empty()) {
    absl::StrAppend(&sql, " AND jobs.state IN (",
                    absl::StrJoin(query.states, ",",
                                  [](std::string* out, job::JobState state) {
                                    absl::StrAppend(out,
                                                    static_cast<int>(state));
                                  }),
                    ")");
  }
  if (!query.project.empty()) absl::StrAppend(&sql, " AND jobs.project = ?");
  for (std::size_t i = 0; i < query.labels.size(); ++i) {
    absl::StrAppend(&sql,
                    " AND EXISTS (SELECT 1 FROM labels WHERE labels.job = "
                    "jobs.submit_number AND key = ? AND value = ?)");
  }
  absl::StrAppend(&sql, " ORDER BY jobs.submit_number DESC LIMIT ?");

  absl::MutexLock lock(&reader_mutex_);
  auto statement = reader_->Prepare(sql);
  if (!statement.ok()) return statement.status();
  statement->Bind(
      query.before.value_or(std::numeric_limits<std::int64_t>::max()));
  if (!query.project.empty()) statement->Bind(query.project);
  for (const auto& [key, value] : query.labels) {
    statement->Bind(key).Bind(value);
  }
  // One more tells whether there is a next page.
  const std::int64_t limit = std::max(query.limit, 1);
  statement->Bind(limit + 1);
  JobPage page;
  const absl::Status status = ForEachRow(*statement, [&](const Statement& row) {
    auto job = JobOrRemainsOf(row);
    if (job.ok()) page.jobs.push_back(*std::move(job));
    return job.status();
  });
  if (!status.ok()) return status;
  if (static_cast<std::int64_t>(page.jobs.size()) > limit) {
    page.jobs.pop_back();
    page.next_before = page.jobs.back()->submit_number;
  }
  return page;
}

absl::StatusOr<job::JobId> SqliteJobStore::FindRequest(
    std::string_view request_id) const {
  absl::MutexLock lock(&reader_mutex_);
  auto query = reader_->Prepare(
      "SELECT jobs.id FROM requests JOIN jobs ON jobs.submit_number = "
      "requests.job WHERE request_id = ?");
  if (!query.ok()) return query.status();
  const absl::StatusOr<bool> row = query->Bind(request_id).Step();
  if (!row.ok()) return row.status();
  if (!*row) {
    return absl::NotFoundError(absl::StrCat("request_id: not seen before, '",
                                            std::string(request_id), "'"));
  }
  return job::JobId::Parse(query->Bytes(0));
}

absl::StatusOr<job::JobId> SqliteJobStore::FindDeletion(
    std::string_view request_id) const {
  absl::MutexLock lock(&reader_mutex_);
  auto query =
      reader_->Prepare("SELECT job FROM deletions WHERE request_id = ?");
  if (!query.ok()) return query.status();
  const absl::StatusOr<bool> row = query->Bind(request_id).Step();
  if (!row.ok()) return row.status();
  if (!*row) {
    return absl::NotFoundError(absl::StrCat("request_id: not seen before, '",
                                            std::string(request_id), "'"));
  }
  return job::JobId::Parse(query->Bytes(0));
}

absl::StatusOr<bool> SqliteJobStore::UsesFile(std::string_view sha256) const {
  absl::MutexLock lock(&reader_mutex_);
  auto query =
      reader_->Prepare("SELECT 1 FROM job_files WHERE sha256 = ? LIMIT 1");
  if (!query.ok()) return query.status();
  return query->Bind(sha256).Step();
}

}  // namespace epochd::store
