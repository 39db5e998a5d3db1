// SPDX-License-Identifier: Apache-2.0
#include "server/web/status_page.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/fleet/worker.h"
#include "server/job/job.h"
#include "server/job/state.h"

namespace epochd::web {
namespace {

constexpr std::size_t kMaxText = 300;

class Table {
 public:
  Table(std::string& out, const std::vector<const char*>& heads) : out_(out) {
    out_ += "<table><thead><tr>";
    for (const char* head : heads) {
      absl::StrAppend(&out_, "<th scope=\"col\">", head, "</th>");
    }
    out_ += "</tr></thead><tbody>\n";
  }
  ~Table() { out_ += "</tbody></table>\n"; }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void Row(const std::vector<std::string>& cells) {
    out_ += "<tr>";
    for (const std::string& cell : cells) {
      absl::StrAppend(&out_, "<td>", EscapeHtml(cell), "</td>");
    }
    out_ += "</tr>\n";
  }

 private:
  std::string& out_;
};

std::string Ago(absl::Time time, absl::Time now) {
  if (time == absl::InfinitePast()) return "";
  const absl::Duration age = std::max(now - time, absl::ZeroDuration());
  return absl::StrCat(absl::FormatDuration(absl::Trunc(age, absl::Seconds(1))),
                      " ago");
}

std::string Progress(const control::JobView& view) {
  if (!view.progress) return "";
  const job::Progress& progress = *view.progress;
  std::string text = absl::StrFormat("epoch %d/%d %s", progress.epoch,
                                     progress.total_epochs, progress.phase);
  if (progress.batches > 0) {
    absl::StrAppendFormat(&text, " %d/%d", progress.batch, progress.batches);
  }
  absl::StrAppendFormat(&text, " loss %.4g, %.0f samples/s", progress.loss,
                        progress.samples_per_second);
  return text;
}

void AddJobs(const StatusSnapshot& snapshot, std::string& out) {
  Table table(
      out, {"Job", "Name", "Project", "State", "Why", "Progress", "Submitted"});
  for (const control::JobView& view : snapshot.jobs) {
    const job::Job& job = *view.job;
    std::string state(job::Name(job.state));
    if (view.queue_position > 0) {
      absl::StrAppend(&state, " #", view.queue_position);
    }
    std::string why(job::Name(view.reason));
    if (!view.message.empty()) absl::StrAppend(&why, ": ", view.message);
    table.Row({job.id.ToString(), job.spec->display_name, job.spec->project,
               state, why, Progress(view), Ago(job.create_time, snapshot.now)});
  }
}

void AddWorkers(const StatusSnapshot& snapshot, std::string& out) {
  Table table(
      out, {"Worker", "State", "Host", "Devices used", "Version", "Last seen"});
  for (const fleet::WorkerView& worker : snapshot.workers) {
    std::string state(fleet::Name(worker.state));
    if (!worker.message.empty()) absl::StrAppend(&state, ": ", worker.message);
    table.Row(
        {worker.record.id.name(), state, worker.record.hostname,
         absl::StrCat(worker.held.size(), "/", worker.record.devices.size()),
         worker.record.version, Ago(worker.last_seen_time, snapshot.now)});
  }
}

std::string Summary(const StatusSnapshot& snapshot) {
  std::string text;
  for (const auto& [state, count] : snapshot.stats.jobs) {
    if (count == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ",
                    std::string(job::Name(state)));
  }
  return text.empty() ? "no jobs" : text;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  const bool cut = text.size() > kMaxText;
  for (const char c : text.substr(0, kMaxText)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  if (cut) out += "...";
  return out;
}

std::string RenderStatusPage(const StatusSnapshot& snapshot) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"refresh\" content=\"5\">"
      "<meta name=\"viewport\" content=\"width=device-width\">"
      "<title>epochd</title><link rel=\"stylesheet\" href=\"/style.css\">"
      "</head><body>\n";
  absl::StrAppend(
      &out, "<h1>epochd ", EscapeHtml(snapshot.version), "</h1>\n<p>cluster ",
      EscapeHtml(snapshot.cluster_id), ", ",
      EscapeHtml(absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", snapshot.now,
                                  absl::UTCTimeZone())),
      "</p>\n<h2>Jobs</h2>\n<p>", EscapeHtml(Summary(snapshot)), "</p>\n");
  AddJobs(snapshot, out);
  out += "<h2>Workers</h2>\n";
  AddWorkers(snapshot, out);
  out += "<p><a href=\"/metrics\">metrics</a></p>\n</body></html>\n";
  return out;
}

std::string StatusPageStyle() {
  return "body{font:14px/1.5 system-ui,sans-serif;margin:2em;color:#222;"
         "background:#fff}\n"
         "h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}\n"
         "table{border-collapse:collapse;width:100%}\n"
         "th,td{text-align:left;padding:.3em .8em .3em 0;"
         "border-bottom:1px solid #ddd;vertical-align:top;"
         "overflow-wrap:anywhere}\n"
         "@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}"
         "th,td{border-color:#333}a{color:#8ab4f8}}\n";
}

}  // namespace epochd::web
