// SPDX-License-Identifier: Apache-2.0
#include "server/job/state.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace epochd::job {
namespace {

using S = JobState;
using A = AttemptState;

// Every edge that is drawn, written again by hand.
const std::set<std::pair<S, S>>& JobEdges() {
  static const auto& edges = *new std::set<std::pair<S, S>>{
      {S::kUnspecified, S::kQueued}, {S::kQueued, S::kQueued},
      {S::kQueued, S::kStarting},    {S::kQueued, S::kCancelled},
      {S::kQueued, S::kFailed},      {S::kStarting, S::kStarting},
      {S::kStarting, S::kRunning},   {S::kStarting, S::kQueued},
      {S::kStarting, S::kStopping},  {S::kStarting, S::kSucceeded},
      {S::kStarting, S::kFailed},    {S::kRunning, S::kRunning},
      {S::kRunning, S::kQueued},     {S::kRunning, S::kStopping},
      {S::kRunning, S::kSucceeded},  {S::kRunning, S::kFailed},
      {S::kStopping, S::kStopping},  {S::kStopping, S::kCancelled},
      {S::kStopping, S::kSucceeded}, {S::kStopping, S::kFailed}};
  return edges;
}

TEST(StateTest, JobMovesOnlyAlongDrawnEdges) {
  auto states = AllJobStates();
  states.push_back(S::kUnspecified);
  for (const S from : states) {
    for (const S to : states) {
      EXPECT_EQ(MayFollow(from, to), JobEdges().contains({from, to}))
          << Name(from) << " -> " << Name(to);
    }
  }
}

TEST(StateTest, TerminalIsTerminal) {  // P-10, P-34
  for (const S from : AllJobStates()) {
    if (!IsTerminal(from)) continue;
    for (const S to : AllJobStates()) EXPECT_FALSE(MayFollow(from, to));
  }
}

TEST(StateTest, EveryJobStateThatIsNotTerminalHasAWayOut) {  // P-17
  for (const S from : AllJobStates()) {
    if (IsTerminal(from)) continue;
    bool reaches_end = false;
    for (const S to : AllJobStates()) {
      reaches_end |= IsTerminal(to) && MayFollow(from, to);
    }
    EXPECT_TRUE(reaches_end) << Name(from);
  }
}

TEST(StateTest, AttemptOnlyGoesForward) {
  for (const A from : AllAttemptStates()) {
    for (const A to : AllAttemptStates()) {
      EXPECT_EQ(MayFollow(from, to), from < to)
          << Name(from) << " -> " << Name(to);
    }
  }
  for (const A to : AllAttemptStates()) {
    EXPECT_EQ(MayFollow(A::kUnspecified, to), to == A::kAssigned) << Name(to);
  }
}

TEST(StateTest, EveryReasonExplainsSomeState) {
  for (const JobReason reason : AllJobReasons()) {
    bool explains = false;
    for (const S state : AllJobStates()) explains |= Explains(reason, state);
    EXPECT_TRUE(explains) << Name(reason);
  }
}

TEST(StateTest, AReasonStandsOnlyBesideTheStatesThatItExplains) {
  using Why = JobReason;
  const std::set<S> queued = {S::kQueued};
  const std::set<S> active = {S::kStarting, S::kRunning};
  const std::map<Why, std::set<S>> expected = {
      {Why::kSubmitted, queued},
      {Why::kNoWorkers, queued},
      {Why::kNoFreeDevices, queued},
      {Why::kBehindOthers, queued},
      {Why::kUnsatisfiable, queued},
      {Why::kComponentsMissing, queued},
      {Why::kRestartBackoff, queued},
      {Why::kAwaitingCertainEnd, {S::kQueued, S::kStarting, S::kRunning}},
      {Why::kAssigned, active},
      {Why::kTraining, active},
      {Why::kWorkerUnreachable, active},
      {Why::kCancelRequested, {S::kStopping}},
      {Why::kTimeLimit, {S::kStopping, S::kFailed}},
      {Why::kCompleted, {S::kSucceeded}},
      {Why::kCancelled, {S::kCancelled}},
      {Why::kBadSpec, {S::kFailed}},
      {Why::kTrainingFailed, {S::kFailed}},
      {Why::kRestartsExhausted, {S::kFailed}},
      {Why::kNotRestartable, {S::kFailed}}};
  EXPECT_EQ(expected.size(), AllJobReasons().size());
  for (const auto& [reason, states] : expected) {
    for (const S state : AllJobStates()) {
      EXPECT_EQ(Explains(reason, state), states.contains(state))
          << Name(reason) << ", " << Name(state);
    }
  }
}

TEST(StateTest, WhatNobodyKnowsHasANameAndGoesNowhere) {
  const auto state = static_cast<S>(99);
  EXPECT_FALSE(Name(state).empty());
  EXPECT_FALSE(IsTerminal(state));
  for (const S known : AllJobStates()) {
    EXPECT_FALSE(MayFollow(state, known));
    EXPECT_FALSE(MayFollow(known, state));
  }
  EXPECT_FALSE(MayFollow(A::kAssigned, static_cast<A>(99)));
  EXPECT_FALSE(Explains(static_cast<JobReason>(99), S::kQueued));
  EXPECT_FALSE(Explains(JobReason::kSubmitted, state));
}

TEST(StateTest, EveryStateHasAReason) {
  for (const S state : AllJobStates()) {
    bool explained = false;
    for (const JobReason reason : AllJobReasons()) {
      explained |= Explains(reason, state);
    }
    EXPECT_TRUE(explained) << Name(state);
    EXPECT_FALSE(Explains(JobReason::kUnspecified, state)) << Name(state);
  }
}

TEST(StateTest, NamesTellApart) {
  std::set<std::string_view> states;
  for (const S state : AllJobStates()) states.insert(Name(state));
  EXPECT_EQ(states.size(), AllJobStates().size());
  std::set<std::string_view> reasons;
  for (const auto reason : AllAttemptReasons()) reasons.insert(Name(reason));
  EXPECT_EQ(reasons.size(), AllAttemptReasons().size());
  EXPECT_EQ(Name(AttemptReason::kWorkerLost), "worker_lost");
}

}  // namespace
}  // namespace epochd::job
