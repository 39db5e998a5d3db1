// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "server/store/memory_job_store.h"
#include "server/store/sqlite_job_store.h"
#include "tests/conformance/job_store_suite.h"
#include "tests/temp_folder.h"

namespace epochd::store {
namespace {

class MemorySite final : public StoreSite {
 public:
  JobStore& Reopen() override { return store_; }

 private:
  MemoryJobStore store_;
};

class SqliteSite final : public StoreSite {
 public:
  JobStore& Reopen() override {
    store_.reset();
    auto opened = SqliteJobStore::Open({.folder = temp_ / "state"});
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    return *store_;
  }

 private:
  TempFolder temp_;
  std::unique_ptr<SqliteJobStore> store_;
};

INSTANTIATE_TEST_SUITE_P(
    All, JobStoreSuite,
    testing::Values(
        StoreKind{"Memory", [] { return std::make_unique<MemorySite>(); }},
        StoreKind{"Sqlite", [] { return std::make_unique<SqliteSite>(); }}),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace epochd::store
