// SPDX-License-Identifier: Apache-2.0
#include "server/epochd/options.h"

#include <gtest/gtest.h>

#include <string>

namespace epochd::server {
namespace {

Settings Default() {
  Settings settings;
  settings.state_dir = "/state";
  return settings;
}

TEST(OptionsTest, DefaultsListenOnLoopbackWithATokenInTheStateFolder) {
  const auto options = CheckSettings(Default());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->listen.ToString(), "127.0.0.1:7950");
  ASSERT_TRUE(options->http_listen.has_value());
  EXPECT_EQ(options->http_listen->ToString(), "127.0.0.1:7951");
  EXPECT_EQ(options->token_file, "/state/token");
}

TEST(OptionsTest, WiderBindNeedsProtectionOrInsecure) {
  Settings settings = Default();
  settings.listen = "0.0.0.0:7950";
  const auto refused = CheckSettings(settings);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(refused.status().message()).find("--tls-cert"),
            std::string::npos);
  settings.tls_cert = "a";
  settings.tls_key = "b";
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.http_listen = "0.0.0.0:7951";
  EXPECT_EQ(CheckSettings(settings).status().code(),
            absl::StatusCode::kFailedPrecondition)
      << "HTTP has neither TLS nor a token";
  settings.insecure = true;
  EXPECT_TRUE(CheckSettings(settings).ok());
}

TEST(OptionsTest, HttpCanBeOffAndNamesTheMachineByNumber) {
  Settings settings = Default();
  settings.http_listen = "";
  EXPECT_FALSE(CheckSettings(settings)->http_listen.has_value());
  settings.http_listen = "localhost:0";
  EXPECT_EQ(CheckSettings(settings)->http_listen->host, "127.0.0.1");
}

TEST(OptionsTest, ClientCaNeedsOwnCertificate) {
  Settings settings = Default();
  settings.tls_client_ca = "ca.crt";
  EXPECT_EQ(CheckSettings(settings).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(OptionsTest, JobsAreKeptForAMonthUnlessSaidOtherwise) {
  auto options = CheckSettings(Default());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->finished_job_ttl, absl::Hours(720));
  EXPECT_EQ(options->max_finished_jobs, 100000);
  Settings settings = Default();
  settings.finished_job_ttl = "inf";
  settings.max_finished_jobs = 0;
  options = CheckSettings(settings);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->finished_job_ttl, absl::InfiniteDuration());
  EXPECT_EQ(options->max_finished_jobs, 0);
}

TEST(OptionsTest, AJobIsKeptLongEnoughForWhoSubmittedIt) {
  for (const char* ttl : {"", "30d", "0", "4m59s", "-1h", "-inf", "soon"}) {
    Settings settings = Default();
    settings.finished_job_ttl = ttl;
    const auto refused = CheckSettings(settings);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument)
        << ttl;
    EXPECT_NE(std::string(refused.status().message())
                  .find("finished-job-ttl: '" + std::string(ttl) + "'"),
              std::string::npos)
        << refused.status();
  }
  Settings settings = Default();
  settings.finished_job_ttl = "5m";
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.max_finished_jobs = -1;
  EXPECT_EQ(CheckSettings(settings).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace epochd::server
