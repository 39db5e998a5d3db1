// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/client/epochctl/harness.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What bash would offer behind `words`, the last of which is being typed.
std::string Offered(const std::string& words) {
  const TempFolder folder;
  const std::string script =
      folder.Write("completion", CompletionScript("bash"));
  const std::string command =
      "cd " + folder.path() + " && bash -c 'source " + script +
      "; COMP_WORDS=(" + words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _epochctl; "
      "echo \" ${COMPREPLY[*]} \"'";
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    out += buffer.data();
  }
  EXPECT_EQ(pclose(pipe), 0);
  return out;
}

TEST(Completion, OffersCommandsFlagsChoicesAndFilesInBash) {
  EXPECT_THAT(Offered("epochctl j"), HasSubstr(" job "));
  EXPECT_THAT(Offered("epochctl job \"\""), HasSubstr(" list "));
  EXPECT_THAT(Offered("epochctl job \"\""), Not(HasSubstr(" drain ")));
  EXPECT_THAT(Offered("epochctl worker d"), HasSubstr(" drain "));
  EXPECT_THAT(Offered("epochctl logs -"), HasSubstr(" --follow "));
  EXPECT_THAT(Offered("epochctl logs -"), HasSubstr(" --server "));
  EXPECT_THAT(Offered("epochctl -o json job li"), HasSubstr(" list "));
  EXPECT_THAT(Offered("epochctl ps -o \"\""), HasSubstr(" wide "));
  EXPECT_THAT(Offered("epochctl completion \"\""), HasSubstr(" fish "));
  EXPECT_THAT(Offered("epochctl validate comp"), HasSubstr(" completion "));
}

TEST(Completion, KnowsEveryFlatAliasInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = CompletionScript(shell);
    for (const char* name :
         {"submit", "ps", "logs", "stop", "status", "watch", "run"}) {
      EXPECT_THAT(script, HasSubstr(name)) << shell;
    }
  }
  EXPECT_THAT(CompletionScript("zsh"),
              testing::StartsWith("#compdef epochctl"));
  EXPECT_THAT(
      CompletionScript("fish"),
      HasSubstr("complete -c epochctl -n '__epochctl_at job' -a 'plot' -d "
                "'Draw a job\\'s loss and metric curves'\n"));
}

}  // namespace
}  // namespace epochd::epochctl
