// SPDX-License-Identifier: Apache-2.0
//
// A thin layer over SQLite: a connection with cached statements, a statement
// that resets itself, a transaction that rolls back unless committed. Errors
// become absl::Status, with the file and what to do about it:
//
//   ResourceExhausted  the disk is full; nothing was changed, try again later
//   DataLoss           the file is corrupt or not a database; restore it
//   Internal           reading, writing or syncing failed: the connection is
//                      broken() from then on and refuses everything, since a
//                      sync that failed once may claim success when repeated
//   Unavailable        another process holds a lock
//   AlreadyExists      a uniqueness constraint
//
// A connection and its statements belong to one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace epochd::store {

class Connection;

// A prepared statement on loan from its connection's cache: destroying it
// makes it ready for its next user. Binding errors surface in Step.
class Statement {
 public:
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Parameters are numbered by call order, from 1 on.
  Statement& Bind(std::int64_t value);
  Statement& Bind(std::string_view text);
  Statement& BindBlob(std::string_view bytes);
  Statement& BindNull();

  // True when there is a row to read, false at the end.
  absl::StatusOr<bool> Step();
  // Steps to the end, for statements without rows.
  absl::Status Run();

  // Columns of the current row, from 0 on. Views live until the next Step.
  std::int64_t Int(int column) const;
  std::string_view Bytes(int column) const;

 private:
  friend class Connection;
  Statement(Connection& connection, sqlite3_stmt* handle, std::string sql);

  Connection* connection_;
  sqlite3_stmt* handle_;
  std::string sql_;
  int num_bound_ = 0;
  int bind_error_ = 0;
};

class Connection {
 public:
  struct Options {
    std::string path;
    bool read_only = false;
    // SQLite's name of the file system layer; empty: its default.
    std::string vfs = {};
    // How long to wait for another connection's lock.
    absl::Duration busy_timeout = absl::Seconds(5);
  };

  static absl::StatusOr<std::unique_ptr<Connection>> Open(
      const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs statements separated by semicolons, ignoring rows.
  absl::Status Execute(const std::string& sql);
  absl::StatusOr<Statement> Prepare(std::string_view sql);
  // First column of the first row; NotFound without a row.
  absl::StatusOr<std::int64_t> QueryInt(std::string_view sql);
  absl::StatusOr<std::string> QueryText(std::string_view sql);

  // Rows that the last INSERT, UPDATE or DELETE changed.
  int NumChanged() const;

  // True after reading, writing or syncing failed once.
  bool broken() const { return !broken_.ok(); }
  const std::string& path() const { return path_; }

 private:
  friend class Statement;
  friend class Transaction;

  Connection(std::string path, sqlite3* handle);
  absl::Status ToStatus(int code);

  const std::string path_;
  sqlite3* const handle_;
  absl::Status broken_;
  std::multimap<std::string, sqlite3_stmt*, std::less<>> idle_;
};

// Takes the write lock at once, so that nothing fails half way for want of it.
class Transaction {
 public:
  static absl::StatusOr<Transaction> Begin(Connection& connection);
  // Rolls back unless Commit succeeded.
  ~Transaction();
  Transaction(Transaction&& other) noexcept;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // OK means durable.
  absl::Status Commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
};

}  // namespace epochd::store
