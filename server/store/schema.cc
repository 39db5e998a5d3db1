// SPDX-License-Identifier: Apache-2.0
#include "server/store/schema.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/store/records.h"

namespace epochd::store {
namespace {

// "epoc" in the file's header tells our files from others.
constexpr std::int64_t kApplicationId = 0x65706f63;

constexpr char kTables[] = R"sql(
CREATE TABLE coordinator (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  cluster_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  next_submit_number INTEGER NOT NULL
);
CREATE TABLE jobs (
  submit_number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  project TEXT NOT NULL,
  record BLOB NOT NULL
);
CREATE INDEX jobs_by_state ON jobs (state, submit_number);
CREATE TABLE specs (job INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE labels (
  job INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (job, key)
) WITHOUT ROWID;
CREATE TABLE events (
  job INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (job, sequence)
) WITHOUT ROWID;
CREATE TABLE requests (
  request_id TEXT PRIMARY KEY,
  job INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX requests_by_job ON requests (job);
CREATE TABLE offsets (
  job INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  next_offset INTEGER NOT NULL,
  PRIMARY KEY (job, attempt, rank)
) WITHOUT ROWID;
CREATE TABLE workers (name TEXT PRIMARY KEY, record BLOB NOT NULL)
  WITHOUT ROWID;
)sql";

// Since version 2.
constexpr char kDeletions[] = R"sql(
CREATE TABLE deletions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  request_id TEXT NOT NULL UNIQUE,
  job TEXT NOT NULL
);
)sql";

// Since version 3. `end_time` is in microseconds since 1970, NULL of a job that
// is not finished. The events of `removed_jobs` are to be taken away.
constexpr char kRetention[] = R"sql(
ALTER TABLE jobs ADD COLUMN end_time INTEGER;
CREATE INDEX jobs_by_end ON jobs (end_time) WHERE end_time IS NOT NULL;
CREATE TABLE removed_jobs (job INTEGER PRIMARY KEY);
CREATE TABLE job_files (
  sha256 TEXT NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (sha256, job)
) WITHOUT ROWID;
CREATE INDEX job_files_by_job ON job_files (job);
)sql";

// Rows that are looked at in one go, so that an old, large file needs no more
// memory than a small one.
constexpr int kUpgradeRows = 256;

absl::Status CheckFile(Connection& writer, std::int64_t version) {
  const auto application = writer.QueryInt("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kApplicationId) {
    return absl::DataLossError(absl::StrCat(
        writer.path(), ": not a database of epochd; move it away"));
  }
  if (version > kSchemaVersion) {
    return absl::DataLossError(absl::StrCat(
        writer.path(), ": written by a newer epochd, schema version ", version,
        "; this one knows up to ", kSchemaVersion, ", use the newer one"));
  }
  const auto check = writer.QueryText("PRAGMA quick_check(1)");
  if (!check.ok()) return check.status();
  if (*check != "ok") {
    return absl::DataLossError(absl::StrCat(
        writer.path(), ": the database is damaged, '", *check,
        "'; restore the state folder from a backup, or move it away to start "
        "empty"));
  }
  return absl::OkStatus();
}

absl::Status MakeTables(Connection& writer, const std::string& cluster_id) {
  auto transaction = Transaction::Begin(writer);
  if (!transaction.ok()) return transaction.status();
  const absl::Status made = writer.Execute(absl::StrCat(
      kTables, kDeletions, kRetention, "PRAGMA application_id = ",
      kApplicationId, "; PRAGMA user_version = ", kSchemaVersion, ";"));
  if (!made.ok()) return made;
  {
    auto insert = writer.Prepare("INSERT INTO coordinator VALUES (1, ?, 0, 1)");
    if (!insert.ok()) return insert.status();
    insert->Bind(cluster_id);
    if (absl::Status status = insert->Run(); !status.ok()) return status;
  }
  if (absl::Status status = transaction->Commit(); !status.ok()) return status;
  // Puts the tables into the main file, so that it is never mistaken for a new
  // one.
  return writer.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

// What version 3 keeps beside the records of jobs that older ones wrote.
absl::Status FillRetention(Connection& writer) {
  std::int64_t after = 0;
  while (true) {
    struct Row {
      std::int64_t number;
      std::string job;
      std::string spec;
    };
    std::vector<Row> rows;
    {
      auto query = writer.Prepare(
          "SELECT submit_number, jobs.record, specs.record FROM jobs "
          "JOIN specs ON specs.job = submit_number WHERE submit_number > ? "
          "ORDER BY submit_number LIMIT ?");
      if (!query.ok()) return query.status();
      query->Bind(after).Bind(kUpgradeRows);
      while (true) {
        const absl::StatusOr<bool> row = query->Step();
        if (!row.ok()) return row.status();
        if (!*row) break;
        rows.push_back({query->Int(0), std::string(query->Bytes(1)),
                        std::string(query->Bytes(2))});
      }
    }
    if (rows.empty()) return absl::OkStatus();
    after = rows.back().number;
    for (const Row& row : rows) {
      const auto job = DecodeJob(row.job);
      if (!job.ok()) return job.status();
      const auto spec = DecodeSpec(row.spec);
      if (!spec.ok()) return spec.status();
      if (job->end_time) {
        auto update = writer.Prepare(
            "UPDATE jobs SET end_time = ? WHERE submit_number = ?");
        if (!update.ok()) return update.status();
        const absl::Status status =
            update->Bind(absl::ToUnixMicros(*job->end_time))
                .Bind(row.number)
                .Run();
        if (!status.ok()) return status;
      }
      for (const job::FileRef& file : spec->files) {
        auto insert =
            writer.Prepare("INSERT OR IGNORE INTO job_files VALUES (?, ?)");
        if (!insert.ok()) return insert.status();
        const absl::Status status =
            insert->Bind(file.sha256).Bind(row.number).Run();
        if (!status.ok()) return status;
      }
    }
  }
}

absl::Status Upgrade(Connection& writer, std::int64_t version) {
  if (version >= kSchemaVersion) return absl::OkStatus();
  auto transaction = Transaction::Begin(writer);
  if (!transaction.ok()) return transaction.status();
  absl::Status status = writer.Execute(
      absl::StrCat(version < 2 ? kDeletions : "", kRetention,
                   "PRAGMA user_version = ", kSchemaVersion, ";"));
  if (status.ok()) status = FillRetention(writer);
  return status.ok() ? transaction->Commit() : status;
}

}  // namespace

absl::Status PrepareDatabase(Connection& writer, const std::string& cluster_id,
                             const absl::Status& may_be_new) {
  const auto version = writer.QueryInt("PRAGMA user_version");
  if (!version.ok()) return version.status();
  const auto tables = writer.QueryInt("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  const bool is_new = *version == 0 && *tables == 0;
  if (is_new && !may_be_new.ok()) return may_be_new;
  if (!is_new) {
    if (absl::Status status = CheckFile(writer, *version); !status.ok()) {
      return status;
    }
  }
  const absl::Status prepared = writer.Execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
      "PRAGMA temp_store = MEMORY;");
  if (!prepared.ok()) return prepared;
  const auto mode = writer.QueryText("PRAGMA journal_mode");
  if (!mode.ok()) return mode.status();
  if (*mode != "wal") {
    return absl::InternalError(
        absl::StrCat(writer.path(),
                     ": the file system does not allow a write-ahead log, "
                     "journal mode is '",
                     *mode, "'; put the state folder on a local disk"));
  }
  return is_new ? MakeTables(writer, cluster_id) : Upgrade(writer, *version);
}

}  // namespace epochd::store
