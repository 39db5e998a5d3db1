// SPDX-License-Identifier: Apache-2.0
#include "server/control/mailbox.h"

#include <gtest/gtest.h>

#include <limits>

namespace epochd::control {
namespace {

using Posted = Mailbox::Posted;
using Sender = Mailbox::Sender;

constexpr int64_t kMuch = std::numeric_limits<int64_t>::max() / 4;

Posted Post(Mailbox& mailbox, Sender sender, int64_t num_bytes = 0) {
  Mailbox::Command command = [](Core&) {};
  return mailbox.Post(command, sender, num_bytes);
}

// How many more of its commands are taken.
int64_t Fill(Mailbox& mailbox, Sender sender, int64_t num_bytes = 0) {
  int64_t num_taken = 0;
  while (Post(mailbox, sender, num_bytes) == Posted::kYes) ++num_taken;
  return num_taken;
}

TEST(MailboxTest, TakesNothingBeforeItIsOpenNorOnceItIsClosed) {
  Mailbox mailbox({8, kMuch});
  EXPECT_EQ(Post(mailbox, Sender::kPerson), Posted::kClosed);
  mailbox.Open();
  EXPECT_EQ(Post(mailbox, Sender::kPerson), Posted::kYes);
  mailbox.Close();
  EXPECT_EQ(Post(mailbox, Sender::kLease), Posted::kClosed);
  const auto [commands, closed] = mailbox.Take(absl::ZeroDuration());
  EXPECT_EQ(commands.size(), 1u) << "what is inside is still taken";
  EXPECT_TRUE(closed);
}

TEST(MailboxTest, AFloodOfSubmitsLeavesRoomForRanksAndLeases) {  // P-19, P-100
  Mailbox mailbox({8, kMuch});
  mailbox.Open();
  EXPECT_EQ(Fill(mailbox, Sender::kPerson), 4);
  EXPECT_EQ(Fill(mailbox, Sender::kRank), 2);
  EXPECT_EQ(Post(mailbox, Sender::kPerson), Posted::kFull);
  EXPECT_EQ(Fill(mailbox, Sender::kLease), 2);
  EXPECT_EQ(mailbox.length(), 8);
}

TEST(MailboxTest, LargeCommandsFillItWithTheirBytes) {
  Mailbox mailbox({1000, 400});
  mailbox.Open();
  EXPECT_EQ(Fill(mailbox, Sender::kPerson, 100), 2);
  EXPECT_EQ(Post(mailbox, Sender::kPerson, 0), Posted::kYes)
      << "a small one still fits";
  EXPECT_EQ(Fill(mailbox, Sender::kRank, 100), 1);
  EXPECT_EQ(Fill(mailbox, Sender::kLease, 100), 1);
}

TEST(MailboxTest, OnceTakenThereIsRoomForAsMuchAgain) {
  Mailbox mailbox({8, 400});
  mailbox.Open();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Fill(mailbox, Sender::kLease, 100), 4) << "round " << round;
    EXPECT_EQ(mailbox.Take(absl::ZeroDuration()).first.size(), 4u);
    EXPECT_EQ(mailbox.length(), 0);
  }
}

TEST(MailboxTest, ARefusedCommandStaysWithItsCaller) {
  Mailbox mailbox({2, kMuch});
  mailbox.Open();
  EXPECT_EQ(Fill(mailbox, Sender::kPerson), 1);
  Mailbox::Command command = [](Core&) {};
  EXPECT_EQ(mailbox.Post(command, Sender::kPerson, 0), Posted::kFull);
  EXPECT_TRUE(static_cast<bool>(command));
}

}  // namespace
}  // namespace epochd::control
