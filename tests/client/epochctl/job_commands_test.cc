// SPDX-License-Identifier: Apache-2.0
//
// Commands against a coordinator that lives in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/epochctl/exit_code.h"
#include "proto/wire/status.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;

class JobCommandsTest : public CoordinatorTest {};

TEST_F(JobCommandsTest, ListsJobsAsATable) {
  EXPECT_EQ(Run({"ps", "--limit", "1"}), kOk) << err();
  EXPECT_EQ(out(),
            "ID  NAME    STATE    EPOCH  BEST                      AGE    "
            "REASON\n"
            "0   digits  RUNNING  12/30  val/accuracy 0.9750 (11)  3m12s  "
            "training\n");
  EXPECT_EQ(Run({"job", "list", "-q"}), kOk);
  EXPECT_EQ(out(), "jobs/0\njobs/1\njobs/2\n");
  EXPECT_EQ(Run({"ps", "--limit", "1", "--no-headers", "-o", "wide"}), kOk);
  EXPECT_THAT(out(), HasSubstr("  3m12s    2  0  training"));
  EXPECT_EQ(Run({"ps", "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("{\n  \"jobs\": [\n"));
}

TEST_F(JobCommandsTest, ShowsOneJobWithoutItsControlCharacters) {
  server_.jobs.job.set_message("a\x1b[31mb");
  EXPECT_EQ(Run({"status", "a1"}), kOk) << err();
  EXPECT_THAT(out(), HasSubstr("state       RUNNING (training: a\\x1b[31mb)"));
  EXPECT_THAT(out(), HasSubstr("replicas    2\n"));
  EXPECT_EQ(Run({"status", "b"}), kNotFound);
  EXPECT_EQ(err(), "error: no job jobs/b\n");
}

TEST_F(JobCommandsTest, TellsTheOutcomeByTheExitCode) {
  struct Case {
    v1::JobState state;
    int code;
  };
  for (const Case& c :
       {Case{v1::JOB_STATE_SUCCEEDED, 0}, Case{v1::JOB_STATE_FAILED, 100},
        Case{v1::JOB_STATE_CANCELLED, 103}}) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"watch", "a1"},
          std::vector<std::string>{"job", "wait", "a1"},
          std::vector<std::string>{"logs", "-f", "a1"}}) {
      EndsWith(c.state);
      EXPECT_EQ(Run(arguments), c.code) << arguments[0];
    }
  }
  EXPECT_EQ(Run({"logs", "a1"}), kOk);
  EXPECT_EQ(out(), "last line\n");
}

TEST_F(JobCommandsTest, TellsAMissingJobFromAFailedOne) {
  server_.jobs.rounds = {
      {{}, {}, {grpc::StatusCode::NOT_FOUND, "no job jobs/x"}}};
  EXPECT_EQ(Run({"job", "wait", "x"}), kJobNotFound);
  EXPECT_EQ(Run({"watch", "x"}), kJobNotFound);
  EXPECT_EQ(Run({"logs", "-f", "x"}), kJobNotFound);
  EXPECT_EQ(Run({"logs", "x"}), kNotFound);
}

TEST_F(JobCommandsTest, GivesUpAWaitAfterItsTime) {
  server_.jobs.rounds = {{{}, {}, {grpc::StatusCode::UNAVAILABLE, "gone"}}};
  EXPECT_EQ(Run({"job", "wait", "a1", "--timeout", "50ms"}), kTimeout);
}

TEST_F(JobCommandsTest, PrintsTheBestLastAfterAWatch) {
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"watch", "a1"}), kOk);
  EXPECT_THAT(out(),
              testing::EndsWith("best val/accuracy 0.9750 at epoch 11\n"));
  EXPECT_THAT(err(), HasSubstr("SUCCEEDED"));
}

TEST_F(JobCommandsTest, SubmitsWithFilesAndPrintsTheName) {
  folder_.Write("train.py", "print(1)\n");
  const std::string file = folder_.Write(
      "job.yaml", "command: [python, train.py]\nfiles: [train.py]\n");
  EXPECT_EQ(Run({"submit", file, "--request-id", "r1"}), kOk) << err();
  EXPECT_EQ(out(), "jobs/a1\n");
  EXPECT_EQ(server_.jobs.submitted.request_id(), "r1");
  ASSERT_EQ(server_.jobs.submitted.spec().files_size(), 1);
  EXPECT_EQ(
      server_.jobs.uploads.at(server_.jobs.submitted.spec().files(0).sha256()),
      "print(1)\n");
}

TEST_F(JobCommandsTest, PutsTheServersViolationsAtTheirLines) {
  server_.jobs.submit_status = wire::ToGrpc(
      wire::BadRequest({{"resources.replicas", "this project may have 1"},
                        {"command[1]", "not allowed"}}));
  const std::string file = folder_.Write(
      "job.yaml", "command: [sh,\n  -c]\nresources: {replicas: 3}\n");
  EXPECT_EQ(Run({"submit", file}), kInvalid);
  EXPECT_THAT(err(),
              HasSubstr(file + ":2:3: command[1]: not allowed\n" + file +
                        ":3:13: resources.replicas: this project may have "
                        "1\n2 problems\n"));
}

TEST_F(JobCommandsTest, CancelsAndReportsEach) {
  EXPECT_EQ(Run({"stop", "a1"}), kOk) << err();
  EXPECT_EQ(out(), "jobs/a1 STOPPING\n");
  EXPECT_EQ(Run({"stop", "x", "a1", "-q"}), kNotFound);
  EXPECT_EQ(out(), "jobs/a1\n");
  EXPECT_EQ(err(), "error: no job jobs/x\n");
  EXPECT_EQ(Run({"stop", "a1", "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\"state\": \"JOB_STATE_STOPPING\""));
}

TEST_F(JobCommandsTest, DeletesAndReportsEach) {
  EXPECT_EQ(Run({"job", "delete", "a1", "jobs/a2"}), kOk) << err();
  EXPECT_EQ(out(), "jobs/a1 deleted\njobs/a2 deleted\n");
  EXPECT_THAT(server_.jobs.deleted, testing::ElementsAre("jobs/a1", "jobs/a2"));
  EXPECT_EQ(Run({"job", "delete", "a1", "-o", "json"}), kOk);
  EXPECT_EQ(out(), "{\n  \"name\": \"jobs/a1\"\n}\n");
  server_.jobs.failure = {grpc::StatusCode::FAILED_PRECONDITION, "it runs"};
  EXPECT_EQ(Run({"job", "delete", "a1"}), kConflict);
  EXPECT_EQ(err(), "error: it runs\n");
}

TEST_F(JobCommandsTest, RepeatsARequestByItsId) {
  EXPECT_EQ(Run({"stop", "a1", "--request-id", "r1"}), kOk);
  EXPECT_EQ(Run({"job", "delete", "a1", "--request-id", "r2"}), kOk);
  EXPECT_EQ(Run({"stop", "a1"}), kOk);
  ASSERT_EQ(server_.jobs.request_ids.size(), 3u);
  EXPECT_EQ(server_.jobs.request_ids[0], "r1");
  EXPECT_EQ(server_.jobs.request_ids[1], "r2");
  EXPECT_EQ(server_.jobs.request_ids[2].size(), 36u);
  EXPECT_EQ(Run({"stop", "a1", "a2", "--request-id", "r1"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("--request-id: names one request, got 2 jobs"));
  EXPECT_EQ(server_.jobs.request_ids.size(), 3u);
}

TEST_F(JobCommandsTest, MarksTheCheckpointThatIsTheBestNow) {
  v1::Checkpoint checkpoint;
  for (const int epoch : {4, 3, 2, 1}) {
    checkpoint.set_epoch(epoch);
    checkpoint.set_path("/s/" + std::to_string(epoch));
    checkpoint.set_best(epoch != 4);
    checkpoint.set_removed(epoch == 3);
    server_.jobs.checkpoints.push_back(checkpoint);
  }
  EXPECT_EQ(Run({"job", "checkpoints", "a1", "--all"}), kOk) << err();
  EXPECT_THAT(out(), testing::ContainsRegex("\n2 +0 +best"));
  EXPECT_THAT(out(), testing::ContainsRegex("\n[134] +0 +- .*\n[134] +0 +- "
                                            "(.*\n)*[134] +0 +- "));
}

TEST_F(JobCommandsTest, ListsCheckpointsNewestFirst) {
  v1::Checkpoint checkpoint;
  checkpoint.set_path("/s/b\x1b");
  checkpoint.set_epoch(2);
  checkpoint.set_step(46);
  checkpoint.set_best(true);
  checkpoint.set_size_bytes(3 << 20);
  checkpoint.mutable_create_time()->set_seconds(1000000 - 30);
  server_.jobs.checkpoints.push_back(checkpoint);
  checkpoint.set_path("/s/a");
  checkpoint.set_best(false);
  checkpoint.set_removed(true);
  server_.jobs.checkpoints.push_back(checkpoint);
  EXPECT_EQ(Run({"job", "checkpoints", "a1"}), kOk) << err();
  EXPECT_EQ(out(),
            "EPOCH  STEP  BEST  SIZE  AGE  PATH\n"
            "2      46    best  3MiB  30s  /s/b\\x1b\n");
  EXPECT_EQ(Run({"job", "checkpoints", "a1", "--all", "--no-headers"}), kOk);
  EXPECT_THAT(out(), HasSubstr("-     3MiB  30s  /s/a (removed)\n"));
  EXPECT_EQ(Run({"job", "checkpoints", "a1", "--all", "-o", "name"}), kOk);
  EXPECT_EQ(out(), "/s/b\\x1b\n/s/a\n");
}

TEST_F(JobCommandsTest, FiltersListsAtTheServer) {
  EXPECT_EQ(Run({"ps", "--state", "running", "--state", "queued", "--project",
                 "vision", "-l", "team=a", "-l", "k=", "--limit", "2"}),
            kOk);
  const v1::ListJobsRequest& request = server_.jobs.list_requests.front();
  EXPECT_THAT(request.states(), testing::ElementsAre(v1::JOB_STATE_RUNNING,
                                                     v1::JOB_STATE_QUEUED));
  EXPECT_EQ(request.project(), "vision");
  EXPECT_EQ(request.labels().at("team"), "a");
  EXPECT_EQ(request.labels().at("k"), "");
  EXPECT_EQ(request.page_size(), 2);
}

TEST_F(JobCommandsTest, RefusesFiltersThatMakeNoSenseBeforeItAsks) {
  struct Case {
    std::vector<std::string> arguments;
    const char* message;
  };
  for (const Case& c : {
           Case{{"ps", "--limit", "-1"},
                "--limit: expected 0 and more, got '-1'"},
           Case{{"ps", "-l", "team"},
                "--selector: expected KEY=VALUE, got 'team'"},
           Case{{"ps", "-l", "=a"}, "--selector: expected KEY=VALUE, got '=a'"},
           Case{{"ps", "--state", "lost"}, "lost"},
           Case{{"ps", "--limit", "many"}, "many"},
           Case{{"job", "wait", "a1", "--timeout", "soon"},
                "--timeout: expected a duration such as 90s"},
           Case{{"job", "wait", "a1", "--timeout", "-1s"}, "got '-1s'"},
           Case{{"job", "wait", "a1", "--timeout", "0s"}, "got '0s'"},
           Case{{"logs", "a1", "--rank", "first"}, "first"},
       }) {
    EXPECT_EQ(Run(c.arguments), kUsage) << c.message;
    EXPECT_THAT(err(), HasSubstr(c.message));
    EXPECT_EQ(out(), "");
  }
  EXPECT_TRUE(server_.jobs.list_requests.empty());
  EXPECT_TRUE(server_.jobs.log_requests.empty());
}

TEST_F(JobCommandsTest, StopsReadingPagesAtTheLimit) {
  EXPECT_EQ(Run({"ps", "-q", "--limit", "2"}), kOk);
  EXPECT_EQ(out(), "jobs/0\njobs/1\n");
  EXPECT_EQ(server_.jobs.list_requests.size(), 2u);
}

TEST_F(JobCommandsTest, TextOfJobsDoesNotDriveATerminal) {
  v1::Job& job = server_.jobs.job;
  job.mutable_spec()->set_display_name("a\x1b[31mb");
  job.set_message("line\nline\r\x07");
  job.mutable_best()->set_name("m\x1b]0;x\x07");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"ps", "-o", "wide"},
        std::vector<std::string>{"status", "a1"}}) {
    EXPECT_EQ(Run(arguments), kOk);
    const std::string printed = out();
    for (const char c : printed) {
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20)
          << arguments[0] << ": " << printed;
    }
    EXPECT_THAT(printed, HasSubstr("a\\x1b[31mb"));
  }
}

TEST_F(JobCommandsTest, SaysThatThereAreNoJobsWithoutATable) {
  server_.jobs.is_empty = true;
  EXPECT_EQ(Run({"ps"}), kOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "no jobs\n");
  EXPECT_EQ(Run({"ps", "-o", "yaml"}), kOk);
  EXPECT_EQ(out(), "jobs: []\n");
  EXPECT_EQ(Run({"ps", "-q"}), kOk);
  EXPECT_EQ(out() + err(), "");
}

TEST_F(JobCommandsTest, PrintsEventsOfAWatchAsLinesOfJson) {
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"watch", "a1", "-o", "json"}), kOk) << err();
  EXPECT_EQ(out(),
            R"({"sequence":"1","job_state":{"state":"JOB_STATE_SUCCEEDED"}})"
            "\n");
  EXPECT_EQ(err(), "");
  server_.jobs.listed = {client::Numbered(1), client::Numbered(2)};
  EXPECT_EQ(Run({"job", "events", "a1", "--after", "1", "-o", "json"}), kOk);
  EXPECT_EQ(out(), R"({"sequence":"2","epoch_started":{"epoch":"2"}})"
                   "\n")
      << "the shape of a watch";
  EXPECT_EQ(Run({"job", "events", "a1", "--after", "2", "-o", "json"}), kOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(Run({"job", "events", "a1", "--after", "1", "-o", "yaml"}), kOk);
  EXPECT_THAT(out(), HasSubstr("events:"));
}

TEST_F(JobCommandsTest, MarksWhereALogChangesItsAttempt) {
  v1::LogChunk cut = client::Chunk(2, 2, "");
  cut.set_truncated(true);
  server_.jobs.rounds = {
      {{},
       {client::Chunk(1, 0, "a\n"), client::Chunk(2, 0, "b\n"), cut,
        client::LastChunk(v1::JOB_STATE_FAILED)},
       {}}};
  EXPECT_EQ(Run({"logs", "a1", "--rank", "1"}), kOk);
  EXPECT_EQ(out(), "a\nb\n");
  EXPECT_EQ(err(),
            "--- attempt 2 ---\nwarning: the log was cut at its size limit\n");
  EXPECT_EQ(server_.jobs.log_requests[0].rank(), 1);
  EXPECT_EQ(server_.jobs.log_requests[0].tail_bytes(), 0);
}

TEST_F(JobCommandsTest, PlotsWhatTheEventsTell) {
  for (int epoch = 1; epoch <= 3; ++epoch) {
    v1::Event event = client::Numbered(epoch);
    event.mutable_epoch_finished()->set_epoch(epoch);
    (*event.mutable_epoch_finished()->mutable_metrics())["val/loss"] =
        1.0 / epoch;
    server_.jobs.listed.push_back(event);
  }
  EXPECT_EQ(Run({"job", "plot", "a1", "--width", "40", "--height", "6"}), kOk);
  EXPECT_THAT(out(), HasSubstr("loss  * val/loss\n1.0000 +"));
  const std::string plot = out();
  EXPECT_EQ(Run({"plot", "a1", "--width", "40", "--height", "6"}), kOk);
  EXPECT_EQ(out(), plot);
  EXPECT_EQ(Run({"job", "plot", "a1", "-m", "val/los"}), kNotFound);
  EXPECT_THAT(err(), HasSubstr("no 'val/los', known are val/loss"));
  EXPECT_EQ(Run({"job", "events", "a1", "--no-headers"}), kOk);
  EXPECT_THAT(out(), HasSubstr("epoch_finished  epoch 3  val/loss 0.3333"));
}

TEST_F(JobCommandsTest, ListsScoresByEpoch) {
  const auto epoch = [](int number, const std::string& name, double value) {
    v1::Event event = client::Numbered(number);
    event.mutable_epoch_finished()->set_epoch(number);
    event.mutable_epoch_finished()->set_step(10 * number);
    auto& metrics = *event.mutable_epoch_finished()->mutable_metrics();
    metrics["train/loss"] = 0.1;
    metrics[name] = value;
    return event;
  };
  server_.jobs.listed = {epoch(1, "val/loss", 0.5),
                         epoch(2, "val/f1/a, b", 1.0 / 3)};
  EXPECT_EQ(Run({"job", "metrics", "a1"}), kOk);
  EXPECT_EQ(out(),
            "EPOCH  STEP  train/loss  val/f1/a, b  val/loss\n"
            "1      10    0.1000      -            0.5000\n"
            "2      20    0.1000      0.3333       -\n");
  EXPECT_EQ(Run({"metrics", "a1", "--csv"}), kOk);
  EXPECT_EQ(out(),
            "epoch,step,train/loss,\"val/f1/a, b\",val/loss\n"
            "1,10,0.10000000000000001,,0.5\n"
            "2,20,0.10000000000000001,0.33333333333333331,\n");
  EXPECT_EQ(Run({"metrics", "a1", "-m", "val/loss", "-o", "json"}), kOk);
  EXPECT_EQ(nlohmann::json::parse(out()), nlohmann::json::parse(R"({"scores": [
                {"epoch": 1, "step": 10, "metrics": {"val/loss": 0.5}}]})"));
  EXPECT_EQ(Run({"metrics", "a1", "-o", "name"}), kOk);
  EXPECT_EQ(out(), "train/loss\nval/f1/a, b\nval/loss\n");
  EXPECT_EQ(Run({"metrics", "a1", "-m", "val/los"}), kNotFound);
  EXPECT_THAT(err(), HasSubstr("no 'val/los', known are train/loss, val/f1"));
}

TEST_F(JobCommandsTest, SaysOnceWhatIsWrongWithOneField) {
  server_.jobs.failure =
      wire::ToGrpc(wire::BadRequest({{"name", "bad job 'jobs/X'"}}));
  EXPECT_EQ(Run({"status", "X"}), kInvalid);
  EXPECT_EQ(err(), "error: name: bad job 'jobs/X'\n");
  server_.jobs.failure = wire::ToGrpc(
      wire::BadRequest({{"name", "bad job"}, {"after", "negative"}}));
  EXPECT_EQ(Run({"job", "events", "X"}), kInvalid);
  EXPECT_EQ(err(),
            "error: name: bad job (and 1 more)\n"
            "  name: bad job\n  after: negative\n");
}

TEST_F(JobCommandsTest, TellsThatNobodyAnswers) {
  environment_["EPOCHD_SERVER"] = "127.0.0.1:1";
  EXPECT_EQ(Run({"health"}), kUnreachable);
  EXPECT_THAT(err(), HasSubstr("is a coordinator running at 127.0.0.1:1?"));
}

}  // namespace
}  // namespace epochd::epochctl
