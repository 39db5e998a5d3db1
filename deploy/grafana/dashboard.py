#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes epochd.json, the dashboard of a fleet and its jobs.

Change this file and run it; a test compares the two. No package is needed.

  deploy/grafana/dashboard.py            write epochd.json
  deploy/grafana/dashboard.py --check    fail when epochd.json is not current
"""

import json
import pathlib
import sys

OUTPUT = pathlib.Path(__file__).with_name("epochd.json")
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
FLEET = 'job=~"$job",instance=~"$instance"'
JOB = FLEET + ',job_id=~"$job_id"'

# How a job is named in legends: its id joined with name and project.
NAMED = "%s * on (instance, job_id) group_left (name) epochd_job_info{" + JOB + "}"


def target(expr, legend, instant=False):
    return {
        "datasource": SOURCE,
        "expr": expr,
        "legendFormat": legend,
        "instant": instant,
        "range": not instant,
    }


def panel(kind, title, description, unit, targets, width=8, height=8, **options):
    made = {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": SOURCE,
        "gridPos": {"w": width, "h": height},
        "fieldConfig": {
            "defaults": {"unit": unit, "custom": {}},
            "overrides": [],
        },
        "options": {},
        "targets": [dict(t, refId=chr(ord("A") + i)) for i, t in enumerate(targets)],
    }
    if kind == "timeseries":
        made["fieldConfig"]["defaults"]["custom"] = {
            "fillOpacity": 30 if options.get("stack") else 0,
            "stacking": {"mode": "normal" if options.get("stack") else "none"},
            "showPoints": "never",
        }
        made["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi"},
        }
    if kind == "stat":
        made["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}}
    return made


def row(title):
    return {
        "type": "row",
        "title": title,
        "collapsed": False,
        "gridPos": {"w": 24, "h": 1},
        "panels": [],
    }


def graph(title, description, unit, targets, **options):
    return panel("timeseries", title, description, unit, targets, **options)


def stat(title, description, unit, expr):
    return panel("stat", title, description, unit, [target(expr, "")], width=4, height=4)


PANELS = [
    row("Fleet"),
    stat("Jobs running", "Jobs whose every rank runs.", "short",
         'sum(epochd_jobs{%s,state="running"})' % FLEET),
    stat("Jobs waiting", "Jobs in the queue.", "short",
         'sum(epochd_jobs{%s,state="queued"})' % FLEET),
    stat("Workers ready", "Workers that take new work.", "short",
         'sum(epochd_workers{%s,state="ready"})' % FLEET),
    stat("Workers missing", "Workers that are unreachable or lost.", "short",
         'sum(epochd_workers{%s,state=~"unreachable|lost"})' % FLEET),
    stat("Devices used", "Share of devices that an attempt holds.", "percentunit",
         'sum(epochd_devices{%s,state="used"}) / sum(epochd_devices{%s})'
         % (FLEET, FLEET)),
    stat("Coordinator up", "Time since the coordinator started.", "s",
         "time() - max(process_start_time_seconds{%s})" % FLEET),
    graph("Jobs by state", "All jobs that the coordinator knows.", "short",
          [target("sum by (state) (epochd_jobs{%s})" % FLEET, "{{state}}")],
          stack=True),
    graph("Workers by state", "A worker is lost once its lease has ended.", "short",
          [target("sum by (state) (epochd_workers{%s})" % FLEET, "{{state}}")],
          stack=True),
    graph("Devices", "Devices of workers that are not lost.", "short",
          [target("sum by (kind, state) (epochd_devices{%s})" % FLEET,
                  "{{kind}} {{state}}")],
          stack=True),
    graph("Queue wait", "Time from being queued to being assigned, over the last hour.",
          "s",
          [target("histogram_quantile(%s, sum by (le) "
                  "(increase(epochd_job_queue_wait_seconds_bucket{%s}[1h])))"
                  % (quantile, FLEET), name)
           for quantile, name in ((0.5, "median"), (0.95, "95 %"))]),
    graph("Restarts", "Attempts that ended so that their job goes on, by reason.",
          "short",
          [target("sum by (reason) (increase(epochd_job_restarts_total{%s}"
                  "[$__rate_interval]))" % FLEET, "{{reason}}")],
          stack=True),
    panel("table", "Active jobs", "Names and projects of jobs that are active.",
          "short",
          [target("epochd_job_info{%s}" % JOB, "{{job_id}}", instant=True)]),
    row("Job"),
    graph("Loss", "Newest known loss of each phase.", "none",
          [target(NAMED % ("epochd_train_loss{%s}" % JOB),
                  "{{name}} {{phase}}")], width=12),
    graph("Metrics", "Metrics of the last finished epoch.", "none",
          [target(NAMED % ("epochd_train_metric{%s}" % JOB),
                  "{{name}} {{phase}} {{metric}}")], width=12),
    graph("Speed", "Samples per second as last reported.", "short",
          [target(NAMED % ("epochd_train_samples_per_second{%s}" % JOB), "{{name}}")]),
    graph("Waiting for data", "Part of the last epoch that its training waited for "
          "its batches.", "percentunit",
          [target(NAMED % ("(epochd_train_data_wait_seconds{%s} / "
                           "epochd_train_epoch_seconds{%s})" % (JOB, JOB)),
                  "{{name}}")]),
    graph("Epoch", "Epoch that the job is in.", "none",
          [target(NAMED % ("epochd_train_epoch{%s}" % JOB), "{{name}}")]),
    graph("Checkpoint age", "What a restart now would lose at most.", "s",
          [target(NAMED % ("epochd_checkpoint_age_seconds{%s}" % JOB), "{{name}}")]),
    row("Coordinator"),
    graph("Commit time", "Until state transitions are durable.", "s",
          [target("histogram_quantile(%s, sum by (le) "
                  "(increase(epochd_store_commit_seconds_bucket{%s}[5m])))"
                  % (quantile, FLEET), name)
           for quantile, name in ((0.5, "median"), (0.99, "99 %"))]),
    graph("Commits and events", "Each commit may carry several events.", "ops",
          [target("sum(rate(epochd_store_commit_seconds_count{%s}"
                  "[$__rate_interval]))" % FLEET, "commits"),
           target("sum(rate(epochd_events_total{%s}[$__rate_interval]))" % FLEET,
                  "events")]),
    graph("Refused", "Calls from stale attempts, and commits that the store refused.",
          "short",
          [target("sum(increase(epochd_fenced_requests_total{%s}"
                  "[$__rate_interval]))" % FLEET, "stale calls"),
           target("sum(increase(epochd_store_commit_failures_total{%s}"
                  "[$__rate_interval]))" % FLEET, "failed commits")]),
    graph("Memory", "Resident memory of the coordinator.", "bytes",
          [target("process_resident_memory_bytes{%s}" % FLEET, "{{instance}}")]),
    graph("File descriptors", "Open ones beside the limit.", "short",
          [target("process_open_fds{%s}" % FLEET, "open"),
           target("process_max_fds{%s}" % FLEET, "limit")]),
    graph("Followers and mailbox", "Open event streams; commands that wait.", "short",
          [target("sum(epochd_event_subscribers{%s})" % FLEET, "followers"),
           target("sum(epochd_mailbox_commands{%s})" % FLEET, "commands")]),
]


def place(panels):
    """Gives each panel an id and the next free place, row by row."""
    x = y = line_height = 0
    for number, one in enumerate(panels, start=1):
        position = one["gridPos"]
        if x + position["w"] > 24:
            x, y, line_height = 0, y + line_height, 0
        position.update(x=x, y=y)
        one["id"] = number
        x += position["w"]
        line_height = max(line_height, position["h"])
    return panels


def variable(name, label, query):
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "hide": 0,
    }


def dashboard():
    return {
        "uid": "epochd",
        "title": "epochd: fleet and jobs",
        "description": "Workers, queue and jobs of an epochd coordinator.",
        "tags": ["epochd"],
        "schemaVersion": 36,
        "editable": True,
        "timezone": "",
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Data source",
                    "type": "datasource",
                    "query": "prometheus",
                    "current": {},
                    "hide": 0,
                },
                variable("job", "Scrape job", "label_values(epochd_build_info, job)"),
                variable("instance", "Coordinator",
                         'label_values(epochd_build_info{job=~"$job"}, instance)'),
                variable("job_id", "Job",
                         "label_values(epochd_job_info{%s}, job_id)" % FLEET),
            ]
        },
        "annotations": {"list": []},
        "panels": place(PANELS),
    }


def main():
    text = json.dumps(dashboard(), indent=2, sort_keys=True) + "\n"
    if sys.argv[1:] == ["--check"]:
        if OUTPUT.read_text() != text:
            sys.exit("%s: not current, run %s" % (OUTPUT.name, __file__))
        return
    OUTPUT.write_text(text)


if __name__ == "__main__":
    main()
