// SPDX-License-Identifier: Apache-2.0
#include "net/token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/scratch.h"

namespace epochd::net {
namespace {

const std::string kSecret(40, 'a');

TEST(TokenTest, RandomOnesAre256BitsAndDiffer) {
  const Token first = Token::Random();
  EXPECT_EQ(first.secret().size(), 64u);
  EXPECT_EQ(first.secret().find_first_not_of("0123456789abcdef"),
            std::string::npos);
  EXPECT_NE(first.secret(), Token::Random().secret());
}

TEST(TokenTest, ParsesTrimmedAndRefusesWithoutRepeatingTheSecret) {
  EXPECT_EQ(Token::Parse("  " + kSecret + "\n")->secret(), kSecret);
  for (const std::string& bad :
       {std::string(), std::string(31, 'a'), std::string(513, 'a'),
        kSecret + " x", kSecret + "\x01", kSecret + "\xc3\xb6"}) {
    const auto token = Token::Parse(bad);
    EXPECT_EQ(token.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(token.status().message()).find("aaaa"),
              std::string::npos);
  }
}

TEST(TokenTest, HashMatchesOnlyTheToken) {
  const Token token = Token::Random();
  const TokenHash hash(token);
  EXPECT_TRUE(hash.Matches(token.secret()));
  EXPECT_FALSE(hash.Matches(token.secret() + "0"));
  EXPECT_FALSE(hash.Matches(""));
  EXPECT_FALSE(hash.Matches(Token::Random().secret()));
}

TEST(TokenFileTest, IsMadeOnceWithMode0600AndReadAgain) {
  const ScratchDir dir;
  const auto made = LoadOrCreateToken(dir.Path("token"));
  ASSERT_TRUE(made.ok()) << made.status();
  struct stat info {};
  ASSERT_EQ(::stat(dir.Path("token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(info.st_nlink, 1u) << "the temporary name is gone";
  EXPECT_EQ(LoadOrCreateToken(dir.Path("token"))->secret(), made->secret());
  EXPECT_EQ(LoadToken(dir.Path("token"))->secret(), made->secret());
}

TEST(TokenFileTest, ManyMakersAgreeOnOneToken) {
  const ScratchDir dir;
  std::vector<std::string> secrets(8);
  std::vector<std::thread> makers;
  for (std::string& secret : secrets) {
    makers.emplace_back(
        [&] { secret = LoadOrCreateToken(dir.Path("token"))->secret(); });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(std::set<std::string>(secrets.begin(), secrets.end()).size(), 1u);
}

TEST(TokenFileTest, RefusedWhenOthersCanReadIt) {
  const ScratchDir dir;
  // What group bits mean depends on who owns the file; others never may.
  for (const unsigned mode : {0604u, 0644u, 0606u, 0666u}) {
    const auto token = LoadToken(dir.Write("token", kSecret, mode));
    EXPECT_EQ(token.status().code(), absl::StatusCode::kFailedPrecondition)
        << std::oct << mode;
    EXPECT_NE(std::string(token.status().message()).find("chmod 600"),
              std::string::npos);
  }
  const auto group = LoadToken(dir.Write("token", kSecret, 0640));
  EXPECT_EQ(group.status().code(), absl::StatusCode::kFailedPrecondition)
      << "own file, or root's read by root";
  EXPECT_TRUE(LoadToken(dir.Write("token", kSecret, 0400)).ok());
}

TEST(TokenFileTest, TellsMissingMalformedAndFolder) {
  const ScratchDir dir;
  EXPECT_EQ(LoadToken(dir.Path("none")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadToken(dir.Write("short", "abc", 0600)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadToken(dir.Path("")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(LoadOrCreateToken(dir.Path("no/such/folder/token")).ok());
}

}  // namespace
}  // namespace epochd::net
