#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every expression of the dashboard against a live Prometheus.

  deploy/grafana/check_dashboard.py http://127.0.0.1:9090 [--wait SECONDS]

Fails unless each returns at least one series, over the last minutes for graphs
and now for tables and stats. Prometheus has to scrape a coordinator on which a
job runs. With --wait it tries again until all do or the time is over.
Also checks what a good dashboard has: titles, descriptions, units, selectors on
job and instance, variables, and that each variable has values.
"""

import argparse
import json
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

DASHBOARD = pathlib.Path(__file__).with_name("epochd.json")
VARIABLES = {"datasource", "job", "instance", "job_id"}
# What Grafana puts in; "All" of a variable is its allValue.
VALUES = {
    "$__rate_interval": "1m",
    "$job_id": ".*",
    "$job": ".*",
    "$instance": ".*",
}


def lint(dashboard):
    """Yields what is missing."""
    names = {v["name"] for v in dashboard["templating"]["list"]}
    for name in sorted(VARIABLES - names):
        yield "dashboard: no variable '%s'" % name
    for panel in dashboard["panels"]:
        where = "panel '%s'" % panel.get("title", "")
        if not panel.get("title"):
            yield "panel %s: no title" % panel.get("id")
        if panel["type"] == "row":
            continue
        if not panel.get("description"):
            yield "%s: no description" % where
        if not panel["fieldConfig"]["defaults"].get("unit"):
            yield "%s: no unit" % where
        if not panel["targets"]:
            yield "%s: no expression" % where
        for target in panel["targets"]:
            if 'job=~"$job",instance=~"$instance"' not in target["expr"]:
                yield "%s: '%s' does not select job and instance" % (
                    where, target["expr"])


def substitute(text):
    for name, value in VALUES.items():
        text = text.replace(name, value)
    return text


class Prometheus:
    def __init__(self, url):
        self.url = url.rstrip("/")

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters, doseq=True)
        with urllib.request.urlopen(
                "%s%s?%s" % (self.url, path, query), timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, expr, instant):
        now = time.time()
        if instant:
            return self.get("/api/v1/query", query=expr, time=now)["result"]
        return self.get("/api/v1/query_range", query=expr, start=now - 600,
                        end=now, step=2)["result"]

    def label_values(self, definition):
        inner = definition[len("label_values("):-1]
        selector, label = inner.rsplit(", ", 1)
        return self.get("/api/v1/label/%s/values" % label, **{"match[]": selector})


def problems(dashboard, prometheus):
    """Yields each expression that returns nothing, with its panel."""
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query" and not prometheus.label_values(
                substitute(variable["definition"])):
            yield "variable '%s': no values" % variable["name"]
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expr = substitute(target["expr"])
            instant = target["instant"] or panel["type"] == "stat"
            try:
                series = prometheus.query(expr, instant)
            except urllib.error.HTTPError as error:
                yield "panel '%s': %s: %s" % (
                    panel["title"], expr, error.read().decode(errors="replace"))
                continue
            if not has_numbers(series, instant):
                yield "panel '%s': no series: %s" % (panel["title"], expr)


def has_numbers(series, instant):
    """Whether there is a series with a value that is a number."""
    return any(
        sample[1] != "NaN"
        for one in series
        for sample in ([one["value"]] if instant else one["values"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prometheus", metavar="PROM_URL")
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS",
                        help="try again for so long (default: once)")
    arguments = parser.parse_args()
    dashboard = json.loads(DASHBOARD.read_text())
    missing = list(lint(dashboard))
    if missing:
        sys.exit("\n".join(missing))
    prometheus = Prometheus(arguments.prometheus)
    deadline = time.monotonic() + arguments.wait
    while True:
        try:
            missing = list(problems(dashboard, prometheus))
        except OSError as error:  # no connection, or one that broke
            missing = ["%s: %s" % (arguments.prometheus, error)]
        if not missing or time.monotonic() >= deadline:
            break
        time.sleep(1)
    if missing:
        sys.exit("\n".join(missing))
    count = sum(len(panel.get("targets", [])) for panel in dashboard["panels"])
    print("%d expressions of %s return series" % (count, DASHBOARD.name))


if __name__ == "__main__":
    main()
