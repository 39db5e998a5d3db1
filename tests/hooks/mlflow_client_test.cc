// SPDX-License-Identifier: Apache-2.0
//
// Against a server that answers as MLflow does; tests/golden/mlflow_check.py
// runs the hook against the real one.
#include "hooks/mlflow_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>
#include <map>

#include "hooks/metric_logger.h"
#include "tests/hooks/http_server.h"
#include "tests/worker/engine/digits_run.h"

namespace epochd::hooks {
namespace {

using std::chrono::milliseconds;

// Long enough for a slow machine; nothing waits for it to pass.
constexpr milliseconds kSoon{60'000};

TEST(MlflowClientTest, MakesARunAndSendsWhatItIsGiven) {
  HttpServer server(&AnswerAsMlflow);
  MlflowClient client({.uri = server.uri() + "/",
                       .experiment = "a b",
                       .run_name = "first",
                       .params = {{"seed", "3"}},
                       .tags = {{"job", "j1"}}});
  client.Add(1.5, 3, {{"train/loss", 0.25}, {"odd:name#", NAN}});
  EXPECT_TRUE(client.Finish("FINISHED", kSoon));
  EXPECT_EQ(client.delivered(), 2);
  EXPECT_EQ(client.dropped(), 0);
  EXPECT_EQ(client.run_id(), "run-1");
  ASSERT_EQ(server.Of("/get-by-name").size(), 1u);
  EXPECT_TRUE(server.Of("/get-by-name")[0].path.ends_with("=a%20b"));
  EXPECT_EQ(server.Of("/experiments/create")[0].body["name"], "a b");
  const auto made = server.Of("/runs/create")[0].body;
  EXPECT_EQ(made["experiment_id"], "7");
  EXPECT_EQ(made["run_name"], "first");
  EXPECT_EQ(made["tags"][0]["key"], "job");
  const auto batches = server.Of("/runs/log-batch");
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].body["params"][0]["value"], "3");
  const auto metrics = batches[1].body["metrics"];
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0]["key"], "train/loss");
  EXPECT_EQ(metrics[0]["value"], 0.25);
  EXPECT_EQ(metrics[0]["timestamp"], 1500);
  EXPECT_EQ(metrics[0]["step"], 3);
  EXPECT_EQ(metrics[1]["key"], "odd:name_");
  EXPECT_EQ(metrics[1]["value"], "NaN");
  EXPECT_EQ(server.Of("/runs/update")[0].body["status"], "FINISHED");
}

TEST(MlflowClientTest, SendsManyValuesInFewRequests) {
  // Nothing is sent before the run is there, nor that before all is added.
  std::promise<void> added;
  const std::shared_future<void> all = added.get_future().share();
  HttpServer server([all](const HttpServer::Request& request) {
    if (request.path.ends_with("/runs/create")) all.wait();
    return AnswerAsMlflow(request);
  });
  MlflowClient client({.uri = server.uri()});
  for (int step = 0; step < 2500; ++step) {
    client.Add(1, step, {{"loss", step * 1.0}});
  }
  added.set_value();
  EXPECT_TRUE(client.Finish("FINISHED", kSoon));
  EXPECT_EQ(client.delivered(), 2500);
  const auto batches = server.Of("/runs/log-batch");
  EXPECT_EQ(batches.size(), 3u);
  for (const auto& each : batches)
    EXPECT_LE(each.body["metrics"].size(), 1000u);
}

TEST(MlflowClientTest, TriesAgainWhenTheServerIsInTrouble) {
  std::atomic<int> calls = 0;
  HttpServer server([&](const HttpServer::Request& request) {
    if (request.path.ends_with("/log-batch") && ++calls == 1) {
      return HttpServer::Response{503, {{"message", "busy"}}};
    }
    return AnswerAsMlflow(request);
  });
  MlflowClient client({.uri = server.uri()});
  client.Add(1, 1, {{"loss", 1}});
  EXPECT_TRUE(client.Finish("FINISHED", kSoon));
  EXPECT_EQ(client.TakeProblem(), "status 503, busy");
  EXPECT_EQ(client.TakeProblem(), "");
}

TEST(MlflowClientTest, ARequestThatIsRefusedIsDroppedAndCounted) {
  HttpServer server([&](const HttpServer::Request& request) {
    if (request.path.ends_with("/log-batch")) {
      return HttpServer::Response{400, {{"message", "bad key"}}};
    }
    return AnswerAsMlflow(request);
  });
  MlflowClient client({.uri = server.uri()});
  client.Add(1, 1, {{"loss", 1}, {"accuracy", 1}});
  EXPECT_FALSE(client.Finish("FINISHED", kSoon));
  EXPECT_EQ(client.dropped(), 2);
  EXPECT_EQ(client.TakeProblem(), "status 400, bad key");
}

TEST(MlflowClientTest, NothingWaitsForAServerThatIsNotThere) {
  const auto began = std::chrono::steady_clock::now();
  {
    MlflowClient client({.uri = "http://127.0.0.1:1", .capacity = 100});
    for (int step = 0; step < 1000; ++step) client.Add(1, step, {{"loss", 1}});
    EXPECT_EQ(client.dropped(), 1000);
    EXPECT_FALSE(client.Finish("FINISHED", milliseconds(50)));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, kSoon / 4);
}

TEST(MlflowClientTest, GoesOnWithARunThatTheServerHas) {
  bool has_run = true;
  HttpServer server([&](const HttpServer::Request& request) {
    if (request.path.ends_with("/runs/search") && has_run) {
      return HttpServer::Response{
          200, {{"runs", {{{"info", {{"run_id", "earlier"}}}}}}}};
    }
    return AnswerAsMlflow(request);
  });
  {
    MlflowClient client({.uri = server.uri(), .key = "k1", .go_on = true});
    client.Add(1, 1, {{"loss", 1}});
    EXPECT_TRUE(client.Finish("FINISHED", kSoon));
    EXPECT_EQ(client.run_id(), "earlier");
    EXPECT_TRUE(server.Of("/runs/create").empty());
    EXPECT_EQ(server.Of("/runs/search")[0].body["filter"],
              "tags.`epochd.run` = 'k1'");
  }
  has_run = false;
  MlflowClient client({.uri = server.uri(), .key = "k1", .go_on = true});
  EXPECT_TRUE(client.Finish("FINISHED", kSoon));
  EXPECT_EQ(server.Of("/runs/create").at(0).body["tags"][0]["value"], "k1");
}

TEST(MetricLoggerTest, SendsScoresToMlflow) {
  const engine::TempFolder output;
  HttpServer server(&AnswerAsMlflow);
  engine::Json json = engine::DigitsExperiment(2);
  json["hooks"].push_back({{"type", "MetricLogger"},
                           {"mlflow", server.uri()},
                           {"every_steps", 6},
                           {"mlflow_experiment", "digits"}});
  engine::TestRun run(json, output.path());
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_TRUE(run.sink.Of("notice").empty());
  std::map<std::string, std::vector<int>> steps;
  for (const auto& batch : server.Of("/runs/log-batch")) {
    for (const auto& metric : batch.body["metrics"]) {
      steps[metric["key"]].push_back(metric["step"]);
    }
  }
  EXPECT_EQ(steps["val/accuracy"], (std::vector<int>{12, 24}));
  EXPECT_EQ(steps["train/step_loss"], (std::vector<int>{6, 12, 18, 24}));
  EXPECT_EQ(server.Of("/runs/update")[0].body["status"], "FINISHED");
}

}  // namespace
}  // namespace epochd::hooks
