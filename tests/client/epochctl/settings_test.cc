// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/client/epochctl/harness.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    environment_["HOME"] = folder_.path();
    std::filesystem::create_directories(folder_.path() + "/.config/epochd");
  }
  void WriteConfig(const std::string& text) {
    folder_.Write(".config/epochd/config.yaml", text);
  }
  absl::StatusOr<Settings> Read() {
    return ReadSettings(flags_, [this](const char* name) -> const char* {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    });
  }

  const TempFolder folder_;
  std::map<std::string, std::string> environment_;
  SettingsFlags flags_;
};

TEST_F(SettingsTest, FallBackToThisMachine) {
  const auto settings = Read();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->server, "127.0.0.1:7950");
  EXPECT_EQ(settings->token_file, "");
  EXPECT_FALSE(settings->insecure);
}

TEST_F(SettingsTest, LetFlagsWinOverEnvironmentOverContext) {
  WriteConfig(
      "current_context: lab\n"
      "contexts:\n"
      "  lab: {server: \"lab:1\", token_file: ~/lab, tls_ca: /ca}\n"
      "  home: {server: \"home:1\", insecure: true}\n");
  EXPECT_EQ(Read()->server, "lab:1");
  EXPECT_EQ(Read()->token_file, folder_.path() + "/lab");
  EXPECT_EQ(Read()->tls.ca, "/ca");
  environment_["EPOCHD_CONTEXT"] = "home";
  EXPECT_EQ(Read()->server, "home:1");
  EXPECT_TRUE(Read()->insecure);
  flags_.context = "lab";
  EXPECT_EQ(Read()->server, "lab:1");
  environment_["EPOCHD_SERVER"] = "env:1";
  EXPECT_EQ(Read()->server, "env:1");
  EXPECT_EQ(Read()->token_file, folder_.path() + "/lab");
  flags_.server = "flag:1";
  EXPECT_EQ(Read()->server, "flag:1");
}

TEST_F(SettingsTest, AreReadWhereTheSystemKeepsThem) {
  const std::string base = folder_.path() + "/xdg";
  std::filesystem::create_directories(base + "/epochd");
  folder_.Write("xdg/epochd/config.yaml",
                "current_context: a\ncontexts: {a: {server: \"xdg:1\"}}\n");
  WriteConfig("current_context: a\ncontexts: {a: {server: \"home:1\"}}\n");
  EXPECT_EQ(Read()->server, "home:1");
  environment_["XDG_CONFIG_HOME"] = base;
  EXPECT_EQ(Read()->server, "xdg:1");
  const std::string own = folder_.Write(
      "own.yaml", "current_context: b\ncontexts: {b: {server: \"own:1\"}}\n");
  environment_["EPOCHD_CONFIG"] = own;
  EXPECT_EQ(Read()->server, "own:1");
  flags_.config = folder_.path() + "/.config/epochd/config.yaml";
  EXPECT_EQ(Read()->server, "home:1");
  // Without a home there is nowhere to look.
  flags_ = {};
  environment_.clear();
  EXPECT_EQ(Read()->server, "127.0.0.1:7950");
}

TEST_F(SettingsTest, AnEmptyFileOrContextSaysNothing) {
  for (const char* text : {"", "contexts:\n", "current_context:\n",
                           "current_context: a\ncontexts: {a: {}}\n"}) {
    WriteConfig(text);
    const auto settings = Read();
    ASSERT_TRUE(settings.ok()) << text << settings.status();
    EXPECT_EQ(settings->server, "127.0.0.1:7950") << text;
  }
}

TEST_F(SettingsTest, TakeEverySettingFromFlagsAndEnvironment) {
  environment_["EPOCHD_TOKEN_FILE"] = "/env-token";
  environment_["EPOCHD_TLS_CA"] = "/env-ca";
  environment_["EPOCHD_TLS_CERT"] = "/env-cert";
  environment_["EPOCHD_TLS_KEY"] = "/env-key";
  environment_["EPOCHD_INSECURE"] = "true";
  auto settings = Read();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->token_file, "/env-token");
  EXPECT_EQ(settings->tls.ca, "/env-ca");
  EXPECT_EQ(settings->tls.cert, "/env-cert");
  EXPECT_EQ(settings->tls.key, "/env-key");
  EXPECT_TRUE(settings->insecure);
  environment_["EPOCHD_INSECURE"] = "0";
  flags_.token_file = "/token";
  flags_.tls_ca = "/ca";
  flags_.tls_cert = "/cert";
  flags_.tls_key = "/key";
  settings = Read();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->token_file, "/token");
  EXPECT_EQ(settings->tls.ca, "/ca");
  EXPECT_EQ(settings->tls.cert, "/cert");
  EXPECT_EQ(settings->tls.key, "/key");
  EXPECT_FALSE(settings->insecure);
  flags_.insecure = true;
  EXPECT_TRUE(Read()->insecure);
}

TEST_F(SettingsTest, RefuseWhatIsWrongNamingIt) {
  flags_.context = "lab";
  EXPECT_THAT(Read().status().message(), HasSubstr("there is no 'lab'"));
  WriteConfig("contexts: {home: {}}\n");
  EXPECT_THAT(Read().status().message(), HasSubstr("there is no 'lab'"));
  flags_.context = "home";
  WriteConfig("contexts: {home: {sever: x}}\n");
  EXPECT_THAT(Read().status().message(),
              HasSubstr("config.yaml:1:19: contexts.home.sever: unknown key "
                        "'sever', did you mean 'server'?"));
  WriteConfig("contexts: {home: {server: 3}}\n");
  EXPECT_THAT(Read().status().message(), HasSubstr("expected text, got 3"));
  WriteConfig("contexts: {home: {insecure: 'yes'}}\n");
  EXPECT_THAT(Read().status().message(),
              HasSubstr("contexts.home.insecure: expected true or false, got "
                        "\"yes\""));
  WriteConfig("contexts: [home]\n");
  EXPECT_THAT(Read().status().message(), HasSubstr("there is no 'home'"));
  WriteConfig("a: [1\n");
  EXPECT_THAT(Read().status().message(), HasSubstr("config.yaml:2:1: no YAML"));
  flags_ = {};
  flags_.config = folder_.path() + "/none.yaml";
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace epochd::epochctl
