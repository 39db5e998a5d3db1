// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/net/scratch.h"

namespace epochd::net {
namespace {

TEST(TlsTest, AcceptsAPairWithAndWithoutCa) {
  const ScratchDir dir;
  TlsFiles files = MakeSelfSigned(dir, "server");
  EXPECT_TRUE(CheckTlsFiles(files).ok());
  files.ca = files.cert;
  EXPECT_TRUE(CheckTlsFiles(files).ok());
  EXPECT_TRUE(CheckTlsFiles({}).ok());
}

TEST(TlsTest, TellsEachMistakeWithItsFile) {
  const ScratchDir dir;
  const TlsFiles good = MakeSelfSigned(dir, "good");
  const TlsFiles other = MakeSelfSigned(dir, "other");
  const TlsFiles expired = MakeSelfSigned(dir, "expired", -60);
  const std::string no_pem = dir.Write("no.pem", "hello", 0600);
  struct Row {
    TlsFiles files;
    std::string words;
  };
  for (const Row& row :
       {Row{{good.cert, "", ""}, "belong together"},
        Row{{"", good.key, ""}, "belong together"},
        Row{{dir.Path("none"), good.key, ""}, "cannot open"},
        Row{{no_pem, good.key, ""}, "no certificate in PEM"},
        Row{{good.cert, no_pem, ""}, "no private key in PEM"},
        Row{{good.cert, other.key, ""}, "is not the key of certificate"},
        Row{{expired.cert, expired.key, ""}, "has expired"},
        Row{{"", "", no_pem}, "no certificate in PEM"}}) {
    const absl::Status status = CheckTlsFiles(row.files);
    EXPECT_FALSE(status.ok()) << row.words;
    EXPECT_NE(std::string(status.message()).find(row.words), std::string::npos)
        << status;
  }
}

TEST(TlsTest, RefusesAKeyThatEveryoneCanRead) {
  const ScratchDir dir;
  const TlsFiles files = MakeSelfSigned(dir, "server");
  ASSERT_EQ(::chmod(files.key.c_str(), 0644), 0);
  EXPECT_EQ(CheckTlsFiles(files).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace epochd::net
