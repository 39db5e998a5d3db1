// SPDX-License-Identifier: Apache-2.0
//
// MlflowClient: sends scores to an MLflow tracking server over its REST API
// (/api/2.0/mlflow), from a thread of its own. The training never waits for it
// and never fails by it: the queue is bounded, what does not fit or cannot be
// delivered is dropped and counted. Requests carry up to 1000 values. Failed
// ones are tried again after a pause that doubles up to 30 s; a server that
// says the request itself is wrong is not asked again.
//
// Credentials come from MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and
// MLFLOW_TRACKING_PASSWORD. Called from one thread, the training thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace epochd::hooks {

class MlflowClient {
 public:
  struct Options {
    std::string uri;  // http://host:5000
    std::string experiment = "Default";
    std::string run_name = {};  // the server finds one when it is empty
    // Kept as the run's tag epochd.run: how a later process finds it again.
    std::string key = {};
    // Goes on with the run of that key if the server has it.
    bool go_on = false;
    std::vector<std::pair<std::string, std::string>> params = {};
    std::vector<std::pair<std::string, std::string>> tags = {};
    size_t capacity = 100'000;  // values that may wait
    std::chrono::milliseconds request_timeout{10'000};
  };
  // Starts the thread; nothing is waited for.
  explicit MlflowClient(Options options);
  // Gives up what was not sent; call Finish() before.
  ~MlflowClient();
  MlflowClient(const MlflowClient&) = delete;
  MlflowClient& operator=(const MlflowClient&) = delete;

  // `time`: seconds since 1970.
  void Add(double time, int64_t step,
           const std::vector<std::pair<std::string, double>>& scores);
  // Ends the run ("FINISHED", "FAILED", "KILLED") after what waits was sent;
  // for at most `patience`. True: everything was delivered.
  bool Finish(const std::string& status, std::chrono::milliseconds patience);

  // The server's id of the run; empty until it is known.
  std::string run_id() const;
  int64_t delivered() const;
  int64_t dropped() const;
  // What went wrong since the last call; empty: nothing. Each problem is told
  // once until it is over.
  std::string TakeProblem();

 private:
  struct Value {
    std::string key;
    double value;
    int64_t time_ms;
    int64_t step;
  };
  // Of a request: the server's answer, or what kept it from coming.
  struct Answer {
    int64_t status = 0;  // 0: there is none
    nlohmann::json body;
    std::string problem;
    bool ok() const { return status >= 200 && status < 300; }
    // It would be refused again.
    bool is_final() const {
      return status >= 400 && status < 500 && status != 408 && status != 429;
    }
  };

  // libcurl asks whether to give a request up.
  static int IsGivenUp(void* client, int64_t, int64_t, int64_t, int64_t);
  void Run();
  // Waits for work. False: end now.
  bool Wait(std::vector<Value>& batch, std::string& status);
  // Until it is answered, refused for good, or nobody waits any more.
  Answer Ask(const char* method, const std::string& path,
             const nlohmann::json& body);
  Answer Request(const char* method, const std::string& path,
                 const nlohmann::json& body);
  // Makes or finds the run. False: there will be none.
  bool OpenRun();
  bool OpenExperiment(std::string& id);
  bool FindRun(const std::string& experiment);
  void Complain(const std::string& problem);
  bool Pause(std::chrono::milliseconds time);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<Value> queue_;
  std::string run_id_;
  std::string status_;  // what the run ended as; empty: it goes on
  std::string problem_, told_;
  int64_t delivered_ = 0;
  int64_t dropped_ = 0;
  bool done_ = false;
  std::atomic<bool> gives_up_ = false;
  std::thread thread_;
};

// A name as MLflow takes it: letters, digits, _ - . space : and /.
std::string MlflowName(std::string_view name);

}  // namespace epochd::hooks
