// SPDX-License-Identifier: Apache-2.0
#include "server/epochd/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(OptionsTest, AQuarantineIsAsLongAsIsSaidAndNoneIfThatIsSaid) {
  auto options = CheckSettings(Default());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->quarantine.failures, 3);
  EXPECT_EQ(options->quarantine.first, absl::Minutes(1));
  EXPECT_EQ(options->quarantine.longest, absl::Hours(1));
  Settings settings = Default();
  settings.quarantine_after = 0;
  settings.quarantine_for = settings.quarantine_at_most = "5s";
  options = CheckSettings(settings);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->quarantine.failures, 0);
  EXPECT_EQ(options->quarantine.first, absl::Seconds(5));
  EXPECT_EQ(options->quarantine.longest, absl::Seconds(5));
}

TEST(OptionsTest, AQuarantineThatNeverEndsOrShrinksIsRefused) {
  struct Row {
    int32_t after;
    std::string first;
    std::string longest;
    std::string subject;
  };
  for (const Row& row :
       std::vector<Row>{{-1, "1m", "1h", "quarantine-after: '-1'"},
                        {3, "0", "1h", "quarantine-for: '0'"},
                        {3, "-1m", "1h", "quarantine-for: '-1m'"},
                        {3, "inf", "inf", "quarantine-for: 'inf'"},
                        {3, "long", "1h", "quarantine-for: 'long'"},
                        {3, "1m", "inf", "quarantine-at-most: 'inf'"},
                        {3, "1m", "59s", "quarantine-at-most: '59s'"}}) {
    Settings settings = Default();
    settings.quarantine_after = row.after;
    settings.quarantine_for = row.first;
    settings.quarantine_at_most = row.longest;
    const auto refused = CheckSettings(settings);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument)
        << row.subject;
    EXPECT_EQ(std::string(refused.status().message()).find(row.subject), 0)
        << refused.status();
  }
}

}  // namespace
}  // namespace epochd::server
