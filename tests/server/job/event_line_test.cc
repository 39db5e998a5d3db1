// SPDX-License-Identifier: Apache-2.0
#include "server/job/event_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace epochd::job {
namespace {

template <typename Body>
Body Parse(const std::string& line) {
  const auto parsed = ParseEventLine(line);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.status() << " of " << line;
    return {};
  }
  const Body* body = std::get_if<Body>(&parsed->body);
  if (body == nullptr) {
    ADD_FAILURE() << "another kind of line: " << line;
    return {};
  }
  return *body;
}

std::string Error(const std::string& line) {
  const auto parsed = ParseEventLine(line);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << line;
  return std::string(parsed.status().message());
}

TEST(EventLineTest, ReadsTimeAndRank) {
  const auto parsed =
      ParseEventLine(R"({"type":"started","time":12.5,"rank":3,"pid":1})");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->time, absl::FromUnixMillis(12500));
  EXPECT_EQ(parsed->rank, 3);
  EXPECT_TRUE(std::holds_alternative<IgnoredLine>(parsed->body));
}

TEST(EventLineTest, ReadsEveryType) {
  const auto began = Parse<TrainingBegan>(
      R"({"type":"training_began","total_epochs":30,"initial_epoch":2,
          "initial_batch":5,"train_batches":10,"parameters":1234,
          "resumed_from":"/s/c"})");
  EXPECT_EQ(began.total_epochs, 30);
  EXPECT_EQ(began.initial_batch, 5);
  EXPECT_EQ(began.parameters, 1234);
  EXPECT_EQ(began.resumed_from, "/s/c");
  EXPECT_EQ(Parse<FirstStep>(R"({"type":"first_step","step":1})").step, 1);
  EXPECT_EQ(Parse<EpochStarted>(R"({"type":"epoch_started","epoch":4})").epoch,
            4);
  const auto progress = Parse<Progress>(
      R"({"type":"progress","epoch":1,"phase":"train","batch":3,"batches":9,
          "step":3,"loss":0.5,"samples_per_second":100})");
  EXPECT_EQ(progress.phase, "train");
  EXPECT_EQ(progress.loss, 0.5);
  EXPECT_EQ(Parse<MetricsLogged>(R"({"type":"metrics","metrics":{"a":1}})")
                .metrics.at("a"),
            1);
  const auto finished = Parse<EpochFinished>(
      R"({"type":"epoch_finished","epoch":1,"step":22,
          "metrics":{"train/loss":0.25},"learning_rates":{"0":0.001},
          "seconds":1.5,"samples_per_second":9,"data_wait_seconds":0.25})");
  EXPECT_EQ(finished.metrics.at("train/loss"), 0.25);
  EXPECT_EQ(finished.elapsed, absl::Milliseconds(1500));
  EXPECT_EQ(finished.data_wait, absl::Milliseconds(250));
  const auto saved = Parse<CheckpointSaved>(
      R"({"type":"checkpoint_saved","path":"/s/c","epoch":1,"step":2,"batch":3,
          "best":true,"bytes":99,"manifest_sha256":"ab","world_size":2,
          "metrics":{"val/accuracy":0.9}})");
  EXPECT_EQ(saved.checkpoint.path, "/s/c");
  EXPECT_TRUE(saved.checkpoint.best);
  EXPECT_EQ(saved.checkpoint.size_bytes, 99);
  EXPECT_EQ(saved.checkpoint.world_size, 2);
  EXPECT_EQ(Parse<CheckpointRemovedLine>(
                R"({"type":"checkpoint_removed","path":"/s/c"})")
                .path,
            "/s/c");
  const auto ended = Parse<TrainingEnded>(
      R"({"type":"training_ended","outcome":"completed","epochs":30,
          "best":{"name":"val/accuracy","value":0.98,"epoch":7},
          "outputs":{"metrics":"/s/m.jsonl"}})");
  EXPECT_EQ(ended.outcome, TrainingEnded::Outcome::kCompleted);
  EXPECT_EQ(ended.best->epoch, 7);
  EXPECT_EQ(ended.outputs.at("metrics"), "/s/m.jsonl");
  const auto notice = Parse<Notice>(
      R"({"type":"notice","severity":"error","text":"ow","rank":1})");
  EXPECT_EQ(notice.severity, Notice::Severity::kError);
  EXPECT_EQ(notice.text, "ow");
}

TEST(EventLineTest, ReadsNumbersThatAreNotFinite) {  // P-93
  const auto metrics = Parse<MetricsLogged>(
                           R"({"type":"metrics","metrics":
          {"a":"NaN","b":"Infinity","c":"-Infinity","d":-0.0,"e":5e-324}})")
                           .metrics;
  EXPECT_TRUE(std::isnan(metrics.at("a")));
  EXPECT_EQ(metrics.at("b"), HUGE_VAL);
  EXPECT_EQ(metrics.at("c"), -HUGE_VAL);
  EXPECT_TRUE(std::signbit(metrics.at("d")));
  EXPECT_EQ(metrics.at("e"), 5e-324);
}

TEST(EventLineTest, IgnoresWhatItDoesNotKnow) {
  Parse<IgnoredLine>(R"({"type":"from_the_future","x":[1,{"y":2}]})");
  EXPECT_EQ(
      Parse<FirstStep>(R"({"type":"first_step","step":2,"new":null})").step, 2);
  EXPECT_EQ(Parse<FirstStep>(R"({"type":"first_step","step":null})").step, 0);
}

TEST(EventLineTest, SaysWhichKeyIsWrong) {
  const struct {
    const char* line;
    const char* part;
  } kRows[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{", "not a JSON object"},
      {"{\"type\":\"first_step\",\"step\":1}}", "not a JSON object"},
      {"\xff\xfe", "not a JSON object"},
      {"{}", "type"},
      {R"({"type":5})", "type"},
      {R"({"type":"first_step","step":"one"})", "first_step.step: \"one\""},
      {R"({"type":"first_step","step":1.5})", "whole number"},
      {R"({"type":"first_step","step":99999999999999999999})", "whole number"},
      {R"({"type":"first_step","step":18446744073709551615})", "below 2^63"},
      {R"({"type":"first_step","rank":-1})", "rank"},
      {R"({"type":"metrics","metrics":[1]})", "metrics.metrics"},
      {R"({"type":"metrics","metrics":{"a":"x"}})", "metrics.metrics.a"},
      {R"({"type":"checkpoint_saved"})", "path"},
      {R"({"type":"checkpoint_saved","path":"c"})", "absolute"},
      {R"({"type":"training_ended","outcome":"fine"})", "one of completed"},
      {R"({"type":"training_ended","outcome":"failed","best":3})", "best"},
      {R"({"type":"notice","text":"no severity"})", "severity"},
  };
  for (const auto& row : kRows) {
    EXPECT_NE(Error(row.line).find(row.part), std::string::npos)
        << row.line << " gave " << Error(row.line);
  }
}

TEST(EventLineTest, EveryKeyOfEveryTypeIsCheckedForItsKind) {
  const struct {
    const char* type;
    std::vector<const char*> numbers;
    std::vector<const char*> texts;
    std::vector<const char*> objects;
    const char* needed;
  } kRows[] = {
      {"training_began",
       {"total_epochs", "initial_epoch", "initial_batch", "train_batches",
        "val_batches", "train_samples", "val_samples", "parameters"},
       {"resumed_from"},
       {},
       ""},
      {"first_step", {"step"}, {}, {}, ""},
      {"epoch_started", {"epoch"}, {}, {}, ""},
      {"epoch_finished",
       {"epoch", "step", "seconds", "samples_per_second", "data_wait_seconds"},
       {},
       {"metrics", "learning_rates"},
       ""},
      {"metrics", {"epoch", "step"}, {}, {"metrics"}, ""},
      {"checkpoint_saved",
       {"epoch", "step", "batch", "bytes", "world_size"},
       {"manifest_sha256"},
       {"metrics"},
       R"(,"path":"/c")"},
      {"checkpoint_removed", {}, {"path"}, {}, ""},
      {"training_ended",
       {"epochs"},
       {"message"},
       {"outputs"},
       R"(,"outcome":"failed")"},
      {"notice", {"rank"}, {"text"}, {}, R"(,"severity":"info")"},
      {"progress",
       {"epoch", "total_epochs", "batch", "batches", "step", "loss",
        "samples_per_second"},
       {"phase"},
       {},
       ""},
  };
  for (const auto& row : kRows) {
    const auto line = [&](const char* key, const char* value) {
      return std::string("{\"type\":\"") + row.type + "\"" + row.needed +
             ",\"" + key + "\":" + value + "}";
    };
    for (const char* key : row.numbers) {
      EXPECT_TRUE(ParseEventLine(line(key, "1")).ok()) << line(key, "1");
      // "" is a text, but not one of those that stand for a number.
      for (const char* wrong : {"\"\"", "true", "[]", "{}"}) {
        EXPECT_NE(Error(line(key, wrong)).find(key), std::string::npos);
      }
    }
    for (const char* key : row.texts) {
      for (const char* wrong : {"1", "true", "[]", "{}"}) {
        EXPECT_NE(Error(line(key, wrong)).find(key), std::string::npos);
      }
    }
    for (const char* key : row.objects) {
      EXPECT_TRUE(ParseEventLine(line(key, "{}")).ok()) << line(key, "{}");
      for (const char* wrong : {"1", "true", "[]", "\"\""}) {
        EXPECT_NE(Error(line(key, wrong)).find(key), std::string::npos);
      }
    }
  }
}

TEST(EventLineTest, MoreEntriesThanAreKeptAreSaidByTheirNumber) {
  const auto line = [](int num_entries) {
    std::string text = R"({"type":"metrics","metrics":{)";
    for (int i = 0; i < num_entries; ++i) {
      text += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":1";
    }
    return text + "}}";
  };
  EXPECT_EQ(Parse<MetricsLogged>(line(1000)).metrics.size(), 1000u);
  EXPECT_EQ(Error(line(1001)),
            "metrics.metrics: has 1001 entries, at most 1000 are accepted");
}

TEST(EventLineTest, TimesThatNoClockShowsAreLeftOut) {
  const auto time_of = [](const std::string& time) {
    const auto parsed =
        ParseEventLine(R"({"type":"first_step","time":)" + time + "}");
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() ? parsed->time : std::nullopt;
  };
  EXPECT_EQ(time_of("0"), absl::UnixEpoch());
  EXPECT_EQ(time_of("253402300799"), absl::FromUnixSeconds(253402300799));
  for (const char* odd : {"-1", "253402300800", "1e300", "\"NaN\"",
                          "\"Infinity\"", "\"-Infinity\"", "null"}) {
    EXPECT_EQ(time_of(odd), std::nullopt) << odd;
  }
}

TEST(EventLineTest, DurationsThatAreNotFiniteAreNone) {
  for (const char* odd : {"\"NaN\"", "\"Infinity\"", "\"-Infinity\""}) {
    const auto finished = Parse<EpochFinished>(
        std::string(R"({"type":"epoch_finished","seconds":)") + odd +
        R"(,"data_wait_seconds":)" + odd + "}");
    EXPECT_EQ(finished.elapsed, absl::ZeroDuration()) << odd;
    EXPECT_EQ(finished.data_wait, absl::ZeroDuration()) << odd;
  }
}

TEST(EventLineTest, ALongValueIsQuotedInPart) {
  const std::string error = Error(R"({"type":"first_step","step":")" +
                                  std::string(1000, 'x') + "\"}");
  EXPECT_LT(error.size(), 200u) << error;
  EXPECT_NE(error.find("xxx..."), std::string::npos) << error;
}

TEST(EventLineTest, HostileLinesAreOnlyErrors) {
  Error(std::string(1 << 20, 'x'));
  Error(std::string(200000, '['));
  Error("{\"type\":" + std::string(100000, '[') + "}");
  const std::string deep = R"({"type":"metrics","metrics":{"a":)" +
                           std::string(50000, '[') + std::string(50000, ']') +
                           "}}";
  Error(deep);
}

}  // namespace
}  // namespace epochd::job
