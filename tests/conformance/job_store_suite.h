// SPDX-License-Identifier: Apache-2.0
//
// What every JobStore has to do; run once per implementation, the fake too.
// An implementation is a StoreSite: something that outlives the store object,
// as a folder does.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "server/store/job_store.h"

namespace epochd::store {

class StoreSite {
 public:
  virtual ~StoreSite() = default;
  // The store of this site, opened anew (the one before is gone then).
  virtual JobStore& Reopen() = 0;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreSite>()> make;
  friend void PrintTo(const StoreKind& kind, std::ostream* out) {
    *out << kind.name;
  }
};

class JobStoreSuite : public testing::TestWithParam<StoreKind> {
 protected:
  JobStoreSuite() : site_(GetParam().make()) {}
  void SetUp() override { Restart(); }

  // Opens the store again and loads it.
  void Restart();

  std::unique_ptr<StoreSite> site_;
  JobStore* store_ = nullptr;
  Snapshot loaded_;
};

}  // namespace epochd::store
