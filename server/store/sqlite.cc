// SPDX-License-Identifier: Apache-2.0
#include "server/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace epochd::store {
namespace {

// Queries put together from what users ask for must not grow the cache for
// ever.
constexpr std::size_t kMaxIdleStatements = 64;

// After these, what the file holds is not known to this process. Growing the
// shared index on a full disk is no such thing.
bool IsDeviceError(int code) {
  return (code & 0xff) == SQLITE_IOERR && code != SQLITE_IOERR_SHMSIZE;
}

absl::Status StatusOf(int code, const std::string& path, const char* detail) {
  const std::string what =
      absl::StrCat(path, ": ", sqlite3_errstr(code), " (", detail, ")");
  if (code == SQLITE_IOERR_SHMSIZE) code = SQLITE_FULL;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(absl::StrCat(
          path, ": the disk is full; nothing was changed, free some space"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(absl::StrCat(
          what,
          "; restore the state folder from a backup, or move it away to "
          "start empty"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return absl::UnavailableError(
          absl::StrCat(what, "; another process uses the database, try again"));
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(what);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(what);
    default:
      return absl::InternalError(what);
  }
}

}  // namespace

// ---- Statement --------------------------------------------------------------

Statement::Statement(Connection& connection, sqlite3_stmt* handle,
                     std::string sql)
    : connection_(&connection), handle_(handle), sql_(std::move(sql)) {}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_),
      handle_(std::exchange(other.handle_, nullptr)),
      sql_(std::move(other.sql_)),
      num_bound_(other.num_bound_),
      bind_error_(other.bind_error_) {}

Statement::~Statement() {
  if (handle_ == nullptr) return;
  if (connection_->idle_.size() >= kMaxIdleStatements) {
    sqlite3_finalize(handle_);
    return;
  }
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  connection_->idle_.emplace(std::move(sql_), handle_);
}

Statement& Statement::Bind(std::int64_t value) {
  const int code = sqlite3_bind_int64(handle_, ++num_bound_, value);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::Bind(std::string_view text) {
  const int code =
      sqlite3_bind_text64(handle_, ++num_bound_, text.data(), text.size(),
                          SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::BindBlob(std::string_view bytes) {
  // A null pointer would bind NULL.
  const char* data = bytes.empty() ? "" : bytes.data();
  const int code = sqlite3_bind_blob64(handle_, ++num_bound_, data,
                                       bytes.size(), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::BindNull() {
  const int code = sqlite3_bind_null(handle_, ++num_bound_);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  if (connection_->broken()) return connection_->broken_;
  if (bind_error_ != 0) return connection_->ToStatus(bind_error_);
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->ToStatus(code);
}

absl::Status Statement::Run() {
  while (true) {
    const absl::StatusOr<bool> row = Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::OkStatus();
  }
}

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(handle_, column);
}

std::string_view Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

// ---- Connection -------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(
    const Options& options) {
  const int flags =
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
      (options.read_only ? SQLITE_OPEN_READONLY
                         : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(options.path.c_str(), &handle, flags,
                      options.vfs.empty() ? nullptr : options.vfs.c_str());
  if (code != SQLITE_OK) {
    const absl::Status status =
        StatusOf(code, options.path,
                 handle == nullptr ? "no memory" : sqlite3_errmsg(handle));
    sqlite3_close(handle);
    return status;
  }
  sqlite3_busy_timeout(
      handle,
      static_cast<int>(absl::ToInt64Milliseconds(options.busy_timeout)));
  return std::unique_ptr<Connection>(new Connection(options.path, handle));
}

Connection::Connection(std::string path, sqlite3* handle)
    : path_(std::move(path)), handle_(handle) {}

Connection::~Connection() {
  for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

absl::Status Connection::ToStatus(int code) {
  const absl::Status status = StatusOf(code, path_, sqlite3_errmsg(handle_));
  if (IsDeviceError(code) && broken_.ok()) broken_ = status;
  return status;
}

absl::Status Connection::Execute(const std::string& sql) {
  if (broken()) return broken_;
  const int code =
      sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : ToStatus(code);
}

absl::StatusOr<Statement> Connection::Prepare(std::string_view sql) {
  if (broken()) return broken_;
  if (const auto found = idle_.find(sql); found != idle_.end()) {
    auto node = idle_.extract(found);
    return Statement(*this, node.mapped(), std::move(node.key()));
  }
  sqlite3_stmt* handle = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (code != SQLITE_OK) return ToStatus(code);
  return Statement(*this, handle, std::string(sql));
}

absl::StatusOr<std::int64_t> Connection::QueryInt(std::string_view sql) {
  auto statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError(absl::StrCat(path_, ": no row"));
  return statement->Int(0);
}

absl::StatusOr<std::string> Connection::QueryText(std::string_view sql) {
  auto statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError(absl::StrCat(path_, ": no row"));
  return std::string(statement->Bytes(0));
}

int Connection::NumChanged() const { return sqlite3_changes(handle_); }

// ---- Transaction ------------------------------------------------------------

absl::StatusOr<Transaction> Transaction::Begin(Connection& connection) {
  auto statement = connection.Prepare("BEGIN IMMEDIATE");
  if (!statement.ok()) return statement.status();
  if (absl::Status status = statement->Run(); !status.ok()) return status;
  return Transaction(connection);
}

Transaction::Transaction(Transaction&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)) {}

Transaction::~Transaction() {
  if (connection_ == nullptr) return;
  // SQLite may have rolled back already (a full disk does that).
  if (sqlite3_get_autocommit(connection_->handle_) == 0) {
    sqlite3_exec(connection_->handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

absl::Status Transaction::Commit() {
  auto statement = connection_->Prepare("COMMIT");
  if (!statement.ok()) return statement.status();
  if (absl::Status status = statement->Run(); !status.ok()) return status;
  connection_ = nullptr;
  return absl::OkStatus();
}

}  // namespace epochd::store
