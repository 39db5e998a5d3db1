// SPDX-License-Identifier: Apache-2.0
//
// Runs command lines with streams, environment and clock of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "client/epochctl/command_line.h"

namespace epochd::epochctl {

// A folder that goes with the test.
class TempFolder {
 public:
  TempFolder() : path_(testing::TempDir() + "epochctl_XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& content,
                    bool executable = false) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file) << content;
    std::filesystem::permissions(
        file, executable ? std::filesystem::perms::owner_all
                         : std::filesystem::perms::owner_read |
                               std::filesystem::perms::owner_write);
    return file;
  }

 private:
  std::string path_;
};

inline std::string SourceFile(const std::string& path) {
  return std::string(std::getenv("EPOCHD_TEST_SOURCE_DIR")) + "/" + path;
}

class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    environment_["HOME"] = folder_.path();
    environment_["EPOCHD_CATALOGUE"] =
        SourceFile("tests/catalogue/fixture.json");
  }

  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    Context context{
        .out = out_,
        .err = err_,
        .environment = [this](const char* name) -> const char* {
          const auto found = environment_.find(name);
          return found == environment_.end() ? nullptr : found->second.c_str();
        },
        .now = [this] { return now_; },
        .bin_dir = folder_.path(),
        .out_style = style_,
        .err_style = style_};
    return RunCommandLine(arguments, context);
  }

  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  const TempFolder folder_;
  std::map<std::string, std::string> environment_;
  absl::Time now_ = absl::FromUnixSeconds(1000000);
  terminal::Style style_;

 private:
  std::ostringstream out_;
  std::ostringstream err_;
};

}  // namespace epochd::epochctl
