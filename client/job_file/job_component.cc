// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/job_component.h"

#include <utility>

#include "proto/wire/limits.h"

namespace epochd::client {
namespace {

using catalogue::Component;
using catalogue::Json;

Component Resources() {
  Component resources{.kind = "section",
                      .name = "JobResources",
                      .help = "what each rank of the job needs"};
  resources.parameters = {
      {.name = "replicas",
       .type = "section<JobReplicas>",
       .default_value = 1,
       .min = 1,
       .max = wire::kMaxReplicas,
       .scalar_ok = true,
       .help = "ranks, one device each; {min, max} makes the job elastic"},
      {.name = "device",
       .type = "string",
       .default_value = "cpu",
       .choices = {"cpu", "gpu"},
       .help = "kind of device"},
      {.name = "cpus",
       .type = "int",
       .default_value = 1,
       .min = 1,
       .max = wire::kMaxCpus,
       .help = "cores and threads of a rank"},
      {.name = "memory",
       .type = "size",
       .help = "of a rank; no limit by default"},
      {.name = "model",
       .type = "list<string>",
       .scalar_ok = true,
       .help = "accepted device models, such as H200; any by default"},
      {.name = "nodes",
       .type = "section<JobNodes>",
       .help = "which workers may be used"},
      {.name = "same_node",
       .type = "string",
       .choices = {"preferred", "required"},
       .help = "whether the ranks belong on one node"}};
  return resources;
}

Component Replicas() {
  Component replicas{.kind = "section",
                     .name = "JobReplicas",
                     .help = "the fewest and the most ranks"};
  replicas.parameters = {{.name = "min",
                          .type = "int",
                          .default_value = 1,
                          .min = 1,
                          .max = wire::kMaxReplicas,
                          .help = "fewest ranks to run with"},
                         {.name = "max",
                          .type = "int",
                          .min = 1,
                          .max = wire::kMaxReplicas,
                          .help = "most ranks; min by default"}};
  return replicas;
}

Component Nodes() {
  Component nodes{.kind = "section",
                  .name = "JobNodes",
                  .help = "which workers may be used"};
  nodes.parameters = {{.name = "labels",
                       .type = "map<string>",
                       .help = "labels that a worker must have"}};
  return nodes;
}

Component Restart() {
  Component restart{.kind = "section",
                    .name = "JobRestart",
                    .help = "what is done when an attempt fails"};
  restart.parameters = {
      {.name = "max",
       .type = "int",
       .default_value = 3,
       .min = 0,
       .max = wire::kMaxRestarts,
       .help = "restarts after failures"},
      {.name = "reasons",
       .type = "list<string>",
       .default_value = Json{"worker_lost", "rank_lost", "hang", "oom_host"},
       .choices = {"worker_lost", "rank_lost", "hang", "oom_host",
                   "start_failed", "training_failed"},
       .help = "failures that are restarted; a start that a worker fails is "
               "made elsewhere in any case, at most 5 times in a row"},
      {.name = "backoff",
       .type = "duration",
       .default_value = "1s",
       .help = "wait before a restart; twice as long after each in a row that "
               "saved no checkpoint, at most 1m"},
      {.name = "worker_lost_after",
       .type = "duration",
       .default_value = "2m",
       .help = "silence that is a loss"}};
  return restart;
}

Component Limits() {
  Component limits{
      .kind = "section", .name = "JobLimits", .help = "when the job is ended"};
  limits.parameters = {{.name = "max_time",
                        .type = "duration",
                        .help = "run time over all attempts; no limit by "
                                "default"},
                       {.name = "hang_after",
                        .type = "duration",
                        .choices = {"never"},
                        .help = "without a sign of life for so long an attempt "
                                "hangs and is ended; 30m by default, of a "
                                "command never"}};
  return limits;
}

Component Checkpoints() {
  Component checkpoints{
      .kind = "section", .name = "JobCheckpoints", .help = "what is kept"};
  checkpoints.parameters = {{.name = "every",
                             .type = "every",
                             .default_value = "1 epoch",
                             .help = "how often one is saved"},
                            {.name = "keep_last",
                             .type = "int",
                             .default_value = 3,
                             .min = 1,
                             .max = wire::kMaxKeptCheckpoints,
                             .help = "newest ones that stay"},
                            {.name = "keep_best",
                             .type = "int",
                             .default_value = 1,
                             .min = 0,
                             .max = wire::kMaxKeptCheckpoints,
                             .help = "best ones that stay beside them"}};
  return checkpoints;
}

}  // namespace

Component JobComponent() {
  Component job{
      .kind = "job", .name = "Job", .help = "a run, as epochctl submits it"};
  job.parameters = {
      {.name = "defaults",
       .type = "list<path>",
       .scalar_ok = true,
       .help = "files that this one builds on, in order; see docs/config.md"},
      {.name = "name",
       .type = "string",
       .help = "shown to people: a-z, 0-9 and inner -; the file's by default"},
      {.name = "project",
       .type = "string",
       .default_value = "default",
       .help = "access and quota"},
      {.name = "priority",
       .type = "int",
       .default_value = 50,
       .min = 0,
       .max = wire::kMaxPriority,
       .help = "more goes first"},
      {.name = "labels", .type = "map<string>", .help = "for filters"},
      {.name = "resources",
       .type = "section<JobResources>",
       .help = "what each rank needs"},
      {.name = "restart",
       .type = "section<JobRestart>",
       .help = "after failures"},
      {.name = "limits", .type = "section<JobLimits>", .help = "when it ends"},
      {.name = "storage",
       .type = "path",
       .help = "checkpoints, logs, outputs; the worker's by default"},
      {.name = "checkpoints",
       .type = "section<JobCheckpoints>",
       .help = "what is kept"},
      {.name = "experiment",
       .type = "section<Experiment>",
       .help = "what the engine builds, see below"},
      {.name = "command",
       .type = "list<string>",
       .help = "in place of experiment: any program and its arguments"},
      {.name = "files",
       .type = "list<path>",
       .help = "carried along, by content"},
      {.name = "env", .type = "map<string>", .help = "variables of the ranks"}};
  return job;
}

std::vector<Component> JobSections() {
  return {Resources(), Replicas(), Nodes(), Restart(), Limits(), Checkpoints()};
}

std::optional<std::string> JobPattern(const std::string& parameter) {
  if (parameter == "name" || parameter == "project") {
    return "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
  }
  return std::nullopt;
}

}  // namespace epochd::client
