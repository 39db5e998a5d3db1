// SPDX-License-Identifier: Apache-2.0
#include "worker/process/keeper/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace epochd::keeper {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

class RankEnvironmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("EPOCHD_PLUGINS", "/operator/mine.so", 1);
    setenv("EPOCHD_ALLOW_TORCHSCRIPT", "false", 1);
    setenv("EPOCHD_TOKEN", "secret", 1);
    spec_.cpus = 2;
  }
  void TearDown() override {
    unsetenv("EPOCHD_PLUGINS");
    unsetenv("EPOCHD_ALLOW_TORCHSCRIPT");
    unsetenv("EPOCHD_TOKEN");
  }
  std::vector<std::string> Environment() const {
    return RankEnvironment(spec_, "/attempt", link::RankSpec());
  }

  link::AttemptSpec spec_;
};

TEST_F(RankEnvironmentTest, HandsOnWhoseCodeTheOperatorAllows) {
  EXPECT_THAT(Environment(), Contains("EPOCHD_PLUGINS=/operator/mine.so"));
  EXPECT_THAT(Environment(), Contains("EPOCHD_ALLOW_TORCHSCRIPT=false"));
  EXPECT_THAT(Environment(), Not(Contains(StartsWith("EPOCHD_TOKEN="))));
}

TEST_F(RankEnvironmentTest, LetsNoJobChooseWhoseCodeATrainerRuns) {
  spec_.env = {{"EPOCHD_PLUGINS", "/job/evil.so"},
               {"EPOCHD_ALLOW_TORCHSCRIPT", "true"},
               {"EPOCHD_CONFIG", "/job/settings.yaml"},
               {"MINE", "1"}};
  EXPECT_THAT(Environment(), Contains("EPOCHD_PLUGINS=/operator/mine.so"));
  EXPECT_THAT(Environment(), Contains("EPOCHD_ALLOW_TORCHSCRIPT=false"));
  EXPECT_THAT(Environment(), Not(Contains(StartsWith("EPOCHD_CONFIG="))));
  EXPECT_THAT(Environment(), Contains("MINE=1"));

  // Nor where the operator said nothing.
  unsetenv("EPOCHD_PLUGINS");
  unsetenv("EPOCHD_ALLOW_TORCHSCRIPT");
  EXPECT_THAT(Environment(), Not(Contains(StartsWith("EPOCHD_PLUGINS="))));
  EXPECT_THAT(Environment(),
              Not(Contains(StartsWith("EPOCHD_ALLOW_TORCHSCRIPT="))));
}

TEST_F(RankEnvironmentTest, LetsNoJobLoadLibrariesIntoATrainer) {
  spec_.env = {{"LD_PRELOAD", "/job/evil.so"}, {"LD_AUDIT", "/job/evil.so"}};
  EXPECT_THAT(Environment(), Not(Contains(StartsWith("LD_PRELOAD="))));
  EXPECT_THAT(Environment(), Not(Contains(StartsWith("LD_AUDIT="))));
  spec_.command = {"train"};
  EXPECT_THAT(Environment(), Contains("LD_PRELOAD=/job/evil.so"));
}

}  // namespace
}  // namespace epochd::keeper
