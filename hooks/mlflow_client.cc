// SPDX-License-Identifier: Apache-2.0
#include "hooks/mlflow_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>

#include "worker/engine/core/number.h"

namespace epochd::hooks {
namespace {

constexpr size_t kBatch = 1000;  // values of a request: the API's limit
constexpr size_t kParams = 100;
constexpr size_t kParamLength = 500;
constexpr std::chrono::milliseconds kGather{1000};
constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kLongestPause{30'000};

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

size_t Receive(char* bytes, size_t size, size_t count, void* text) {
  static_cast<std::string*>(text)->append(bytes, size * count);
  return size * count;
}

std::string Escape(CURL* curl, const std::string& text) {
  char* escaped =
      curl_easy_escape(curl, text.data(), static_cast<int>(text.size()));
  std::string copy = escaped != nullptr ? escaped : "";
  curl_free(escaped);
  return copy;
}

nlohmann::json Pairs(
    const std::vector<std::pair<std::string, std::string>>& pairs,
    size_t limit) {
  nlohmann::json json = nlohmann::json::array();
  for (const auto& [key, value] : pairs) {
    if (json.size() == limit) break;
    json.push_back(
        {{"key", MlflowName(key)}, {"value", value.substr(0, kParamLength)}});
  }
  return json;
}

}  // namespace

std::string MlflowName(std::string_view name) {
  std::string made;
  for (char c : name) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
        (c >= '0' && c <= '9') ||
        std::string_view("_-. :/").find(c) != std::string_view::npos;
    made += fits ? c : '_';
  }
  return made;
}

MlflowClient::MlflowClient(Options options) : options_(std::move(options)) {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  (void)ready;
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "mlflow");
}

MlflowClient::~MlflowClient() {
  {
    std::lock_guard lock(mutex_);
    gives_up_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MlflowClient::Add(
    double time, int64_t step,
    const std::vector<std::pair<std::string, double>>& scores) {
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, value] : scores) {
      if (done_ || queue_.size() >= options_.capacity) {
        ++dropped_;
        continue;
      }
      queue_.push_back(
          {MlflowName(name), value, static_cast<int64_t>(time * 1000), step});
    }
    if (queue_.size() >= options_.capacity) {
      Complain("its queue is full; values are dropped");
    }
    // The thread gathers for a while; a full request need not wait.
    if (queue_.size() < kBatch) return;
  }
  changed_.notify_all();
}

bool MlflowClient::Finish(const std::string& status,
                          std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  status_ = status;
  changed_.notify_all();
  changed_.wait_for(lock, patience, [this] { return done_; });
  gives_up_ = true;
  changed_.notify_all();
  return done_ && dropped_ == 0 && queue_.empty();
}

std::string MlflowClient::run_id() const {
  std::lock_guard lock(mutex_);
  return run_id_;
}

int64_t MlflowClient::delivered() const {
  std::lock_guard lock(mutex_);
  return delivered_;
}

int64_t MlflowClient::dropped() const {
  std::lock_guard lock(mutex_);
  return dropped_ + static_cast<int64_t>(queue_.size());
}

std::string MlflowClient::TakeProblem() {
  std::lock_guard lock(mutex_);
  return std::exchange(problem_, "");
}

void MlflowClient::Complain(const std::string& problem) {
  if (told_ == problem) return;
  told_ = problem_ = problem;
}

int MlflowClient::IsGivenUp(void* client, int64_t, int64_t, int64_t, int64_t) {
  return static_cast<MlflowClient*>(client)->gives_up_ ? 1 : 0;
}

bool MlflowClient::Pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return gives_up_.load(); });
}

MlflowClient::Answer MlflowClient::Request(const char* method,
                                           const std::string& path,
                                           const nlohmann::json& body) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(
      curl_easy_init(), &curl_easy_cleanup);
  Answer answer;
  if (!curl) {
    answer.problem = "libcurl cannot be set up";
    return answer;
  }
  std::string base = options_.uri;
  while (base.ends_with('/')) base.pop_back();
  std::string url = base + "/api/2.0/mlflow/" + path;
  const std::string text = body.is_null() ? "" : body.dump();
  std::string received;
  curl_slist* headers =
      curl_slist_append(nullptr, "Content-Type: application/json");
  if (const char* token = getenv("MLFLOW_TRACKING_TOKEN")) {
    headers = curl_slist_append(
        headers, (std::string("Authorization: Bearer ") + token).c_str());
  } else if (const char* user = getenv("MLFLOW_TRACKING_USERNAME")) {
    const char* password = getenv("MLFLOW_TRACKING_PASSWORD");
    curl_easy_setopt(curl.get(), CURLOPT_USERNAME, user);
    curl_easy_setopt(curl.get(), CURLOPT_PASSWORD,
                     password != nullptr ? password : "");
  }
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS,
                   static_cast<long>(options_.request_timeout.count()));
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Receive);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &received);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, &IsGivenUp);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, this);
  if (std::string_view(method) == "POST") {
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, text.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE,
                     static_cast<long>(text.size()));
  }
  const CURLcode code = curl_easy_perform(curl.get());
  curl_slist_free_all(headers);
  if (code != CURLE_OK) {
    answer.problem = curl_easy_strerror(code);
    return answer;
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = status;
  answer.body =
      nlohmann::json::parse(received, nullptr, /*allow_exceptions=*/false);
  if (!answer.ok()) {
    answer.problem = "status " + std::to_string(status);
    if (answer.body.is_object() && answer.body.contains("message") &&
        answer.body["message"].is_string()) {
      answer.problem += ", " + answer.body["message"].get<std::string>();
    }
  }
  return answer;
}

MlflowClient::Answer MlflowClient::Ask(const char* method,
                                       const std::string& path,
                                       const nlohmann::json& body) {
  std::chrono::milliseconds pause = kFirstPause;
  for (;;) {
    Answer answer = Request(method, path, body);
    if (answer.ok()) {
      std::lock_guard lock(mutex_);
      told_.clear();
      return answer;
    }
    if (answer.is_final()) return answer;
    {
      std::lock_guard lock(mutex_);
      Complain(answer.problem);
    }
    if (!Pause(pause)) return answer;
    pause = std::min(pause * 2, kLongestPause);
  }
}

bool MlflowClient::OpenExperiment(std::string& id) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(
      curl_easy_init(), &curl_easy_cleanup);
  const std::string by_name = "experiments/get-by-name?experiment_name=" +
                              Escape(curl.get(), options_.experiment);
  Answer answer = Ask("GET", by_name, nullptr);
  if (answer.ok()) {
    id = answer.body.at("experiment").at("experiment_id").get<std::string>();
    return true;
  }
  if (answer.status == 404) {
    answer = Ask("POST", "experiments/create", {{"name", options_.experiment}});
    if (answer.ok()) {
      id = answer.body.at("experiment_id").get<std::string>();
      return true;
    }
    // Another process may have made it meanwhile.
    answer = Ask("GET", by_name, nullptr);
    if (answer.ok()) {
      id = answer.body.at("experiment").at("experiment_id").get<std::string>();
      return true;
    }
  }
  std::lock_guard lock(mutex_);
  Complain("experiment \"" + options_.experiment + "\": " + answer.problem);
  return false;
}

bool MlflowClient::FindRun(const std::string& experiment) {
  const Answer found =
      Ask("POST", "runs/search",
          {{"experiment_ids", {experiment}},
           {"filter", "tags.`epochd.run` = '" + options_.key + "'"},
           {"max_results", 1}});
  if (!found.ok() || !found.body.contains("runs") ||
      found.body["runs"].empty()) {
    return false;
  }
  const std::string id = found.body["runs"][0].at("info").at("run_id");
  const Answer running =
      Ask("POST", "runs/update", {{"run_id", id}, {"status", "RUNNING"}});
  if (!running.ok()) return false;
  std::lock_guard lock(mutex_);
  run_id_ = id;
  return true;
}

bool MlflowClient::OpenRun() {
  std::string experiment;
  if (!OpenExperiment(experiment)) return false;
  if (options_.go_on && FindRun(experiment)) return true;
  nlohmann::json body = {{"experiment_id", experiment},
                         {"start_time", NowMs()},
                         {"tags", Pairs(options_.tags, kParams)}};
  if (!options_.key.empty()) {
    body["tags"].push_back({{"key", "epochd.run"}, {"value", options_.key}});
  }
  if (!options_.run_name.empty()) body["run_name"] = options_.run_name;
  const Answer made = Ask("POST", "runs/create", body);
  if (!made.ok()) {
    std::lock_guard lock(mutex_);
    Complain("the run was not made: " + made.problem);
    return false;
  }
  std::string id = made.body.at("run").at("info").at("run_id");
  if (!options_.params.empty()) {
    const Answer logged =
        Ask("POST", "runs/log-batch",
            {{"run_id", id}, {"params", Pairs(options_.params, kParams)}});
    if (!logged.ok()) {
      std::lock_guard lock(mutex_);
      Complain("parameters were not taken: " + logged.problem);
    }
  }
  std::lock_guard lock(mutex_);
  run_id_ = std::move(id);
  return true;
}

bool MlflowClient::Wait(std::vector<Value>& batch, std::string& status) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kGather, [this] {
    return gives_up_ || !status_.empty() || queue_.size() >= kBatch;
  });
  if (gives_up_) return false;
  while (!queue_.empty() && batch.size() < kBatch) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  if (queue_.empty()) status = status_;
  return true;
}

void MlflowClient::Run() {
  bool is_open = false;
  try {
    is_open = OpenRun();
    std::string status;
    while (is_open && status.empty()) {
      std::vector<Value> batch;
      if (!Wait(batch, status)) break;
      if (!batch.empty()) {
        nlohmann::json metrics = nlohmann::json::array();
        for (const Value& each : batch) {
          metrics.push_back({{"key", each.key},
                             {"value", engine::FromNumber(each.value)},
                             {"timestamp", each.time_ms},
                             {"step", each.step}});
        }
        const Answer answer = Ask("POST", "runs/log-batch",
                                  {{"run_id", run_id()}, {"metrics", metrics}});
        std::lock_guard lock(mutex_);
        const auto count = static_cast<int64_t>(batch.size());
        (answer.ok() ? delivered_ : dropped_) += count;
        if (answer.is_final()) Complain(answer.problem);
      }
      if (!status.empty()) {
        Ask("POST", "runs/update",
            {{"run_id", run_id()}, {"status", status}, {"end_time", NowMs()}});
      }
    }
  } catch (const std::exception& error) {
    // An answer that is not what the API promises.
    std::lock_guard lock(mutex_);
    Complain(std::string("an answer is not understood: ") + error.what());
  }
  std::lock_guard lock(mutex_);
  dropped_ += static_cast<int64_t>(queue_.size());
  queue_.clear();
  done_ = true;
  changed_.notify_all();
}

}  // namespace epochd::hooks
