// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/carried_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/worker/agent/fake_coordinator.h"
#include "tests/worker/link/temp_dir.h"
#include "tests/worker/process/attempt_fixture.h"

namespace epochd::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kContent[] = "hello, world";
constexpr char kHash[] =
    "09ca7e4eaa6e8ae9c7d261167129184883644d07dfba7cbfbc4c8a2e08360d5b";

CarriedFile File(const std::string& path) {
  return {.path = path, .sha256 = kHash, .size_bytes = 12};
}

class CarriedFiles : public ::testing::Test {
 protected:
  CarriedFiles() {
    fs::create_directory(folder());
    coordinator_.AddFile(kHash, kContent);
  }
  std::string folder() const { return dir_ / "files"; }

  const TempDir dir_;
  FakeCoordinator coordinator_;
};

TEST_F(CarriedFiles, PlacesAFileInFoldersItMakes) {
  CarriedFile file = File("a/b/run.sh");
  file.executable = true;
  ASSERT_TRUE(PlaceFile(coordinator_, folder(), file).ok());
  EXPECT_EQ(Slurp(folder() + "/a/b/run.sh"), kContent);
  EXPECT_NE(fs::status(folder() + "/a/b/run.sh").permissions() &
                fs::perms::owner_exec,
            fs::perms::none);
  EXPECT_TRUE(PlaceFile(coordinator_, folder(), file).ok());
}

TEST_F(CarriedFiles, RefusesPathsThatLeadOut) {
  for (const std::string& path :
       {std::string(""), std::string("/etc/x"), std::string("../x"),
        std::string("a/../../x"), std::string("a//b"), std::string("."),
        std::string("a/"), std::string("a\0b", 3)}) {
    SCOPED_TRACE(path);
    EXPECT_EQ(PlaceFile(coordinator_, folder(), File(path)).code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(CarriedFiles, FollowsNoLinkOutOfTheFolder) {
  fs::create_directory(dir_ / "outside");
  fs::create_directory_symlink(dir_ / "outside", folder() + "/link");
  EXPECT_FALSE(PlaceFile(coordinator_, folder(), File("link/x")).ok());
  EXPECT_TRUE(fs::is_empty(dir_ / "outside"));
}

TEST_F(CarriedFiles, LeavesNothingOfContentThatIsWrong) {
  coordinator_.AddFile(kHash, "hello, w0rld");
  absl::Status status = PlaceFile(coordinator_, folder(), File("x"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("hash"));
  coordinator_.AddFile(kHash, "hello, world and more");
  status = PlaceFile(coordinator_, folder(), File("x"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than its 12"));
  CarriedFile unknown = File("x");
  unknown.sha256 = "00";
  status = PlaceFile(coordinator_, folder(), unknown);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no such file"));
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(CarriedFiles, FetchesInTheBackgroundAndTellsTheFirstProblem) {
  absl::Mutex mutex;
  std::vector<absl::Status> told;
  CarriedFileFetcher fetcher(
      coordinator_, [&](const std::string&, const absl::Status& status) {
        const absl::MutexLock lock(&mutex);
        told.push_back(status);
      });
  fetcher.Fetch("a", folder(), {File("one"), File("two")});
  fetcher.Fetch("b", folder(), {File("../x"), File("three")});
  ASSERT_TRUE(WaitFor([&] {
    const absl::MutexLock lock(&mutex);
    return told.size() == 2;
  }));
  EXPECT_TRUE(told[0].ok());
  EXPECT_EQ(told[1].code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(fs::exists(folder() + "/two"));
  EXPECT_FALSE(fs::exists(folder() + "/three"));
}

}  // namespace
}  // namespace epochd::agent
