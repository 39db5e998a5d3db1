# SPDX-License-Identifier: Apache-2.0
"""The policy itself: each rule refuses what it is there for."""

import copy
import unittest

import policy


def document():
    """Two sets that break no rule, with services and network policies."""
    documents = []
    for name in ("epochd", "epochd-worker"):
        labels = {"component": name}
        image = "epochd-worker" if "worker" in name else "epochd-coordinator"
        container = {
            "name": "main",
            "image": "registry.example/team/%s:1.0" % image,
            "readinessProbe": {},
            "startupProbe": {},
            "livenessProbe": {},
            "env": [{"name": "EPOCHD_TOKEN_FILE", "value": "/token"}],
            "resources": {"requests": {"cpu": 1, "memory": 1},
                          "limits": {"memory": 1}},
            "securityContext": {"allowPrivilegeEscalation": False,
                                "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "token", "readOnly": True},
                             {"name": "state"}],
        }
        pod = {
            "automountServiceAccountToken": False,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65532,
                                "runAsGroup": 65532, "fsGroup": 65532,
                                "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
            "volumes": [{"name": "token", "secret": {}}],
        }
        documents += [
            {"kind": "StatefulSet", "metadata": {"name": name},
             "spec": {"selector": {"matchLabels": labels},
                      "template": {"metadata": {"labels": dict(labels)},
                                   "spec": pod},
                      "volumeClaimTemplates": [
                          {"metadata": {"name": "state"}}]}},
            {"kind": "Service", "metadata": {"name": name},
             "spec": {"selector": labels}},
            {"kind": "NetworkPolicy", "metadata": {"name": name},
             "spec": {"podSelector": {"matchLabels": labels}}},
        ]
    return documents


# Path below the first set's spec, the value to put there (None: take it out),
# and a word of the sentence that must come.
POD = "template.spec."
CONTAINER = POD + "containers.0."
BREAKS = [
    (POD + "automountServiceAccountToken", None, "service account"),
    (POD + "hostNetwork", True, "hostNetwork"),
    (POD + "hostPID", True, "hostPID"),
    (POD + "securityContext.runAsNonRoot", None, "root"),
    (POD + "securityContext.runAsUser", 0, "runAsUser"),
    (POD + "securityContext.runAsGroup", None, "runAsGroup"),
    (POD + "securityContext.fsGroup", None, "fsGroup"),
    (POD + "securityContext.seccompProfile", None, "seccomp"),
    (POD + "volumes.0", {"name": "token", "hostPath": {}}, "path of the node"),
    (POD + "volumes.0", {"name": "token", "persistentVolumeClaim":
                         {"claimName": "other"}}, "no claim"),
    (CONTAINER + "image", "debian:12", "docker/build"),
    (CONTAINER + "image", "epochd-coordinator-2:12", "docker/build"),
    (CONTAINER + "readinessProbe", None, "readinessProbe"),
    (CONTAINER + "startupProbe", None, "startupProbe"),
    (CONTAINER + "livenessProbe", None, "livenessProbe"),
    (CONTAINER + "resources.requests.cpu", None, "requests"),
    (CONTAINER + "resources.limits.memory", None, "limit"),
    (CONTAINER + "securityContext.privileged", True, "privileged"),
    (CONTAINER + "securityContext.allowPrivilegeEscalation", True,
     "Escalation"),
    (CONTAINER + "securityContext.readOnlyRootFilesystem", None, "written"),
    (CONTAINER + "securityContext.capabilities.drop", ["NET_RAW"],
     "capabilities"),
    (CONTAINER + "securityContext.capabilities.add", ["NET_RAW"],
     "capabilities"),
    (CONTAINER + "volumeMounts.0.readOnly", None, "read-only"),
    (CONTAINER + "volumeMounts.1.name", "other", "no volume"),
    (CONTAINER + "env.0.name", "EPOCHD_TOKEN", "secret"),
    ("template.metadata.labels.component", "other", "selector"),
]

DOCKERFILE = """\
# A comment \\
FROM base
RUN apt-get update && apt-get install -y --no-install-recommends a \\
 && rm -rf /var/lib/apt/lists/*
USER 65532:65532
VOLUME /state
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s \\
  CMD ["/bin/health"]
ENTRYPOINT ["/bin/program"]
"""
DOCKERFILE_BREAKS = [
    ("USER 65532:65532\n", "", "USER"),
    ("USER 65532:65532\n", "USER 65532:65532\nUSER root\n", "USER"),
    ("STOPSIGNAL SIGTERM", "STOPSIGNAL SIGKILL", "STOPSIGNAL"),
    ('CMD ["/bin/health"]', "CMD /bin/health", "HEALTHCHECK"),
    ('["/bin/program"]', "/bin/program", "ENTRYPOINT"),
    ('["/bin/program"]', '["sh", "-c", "program"]', "ENTRYPOINT"),
    ("VOLUME /state\n", "", "VOLUME"),
    ("FROM base\n", "FROM base\nADD a /a\n", "ADD"),
    ("FROM base\n", "FROM base\nENV LD_LIBRARY_PATH=/a\n", "LD_LIBRARY"),
    ("FROM base\n", "FROM base\nARG API_TOKEN=1\n", "secret"),
    (" --no-install-recommends", "", "apt-get"),
    (" \\\n && rm -rf /var/lib/apt/lists/*", "", "apt-get"),
]

COMPOSE = {
    "services": {"a": {
        "image": "epochd-worker:latest", "read_only": True,
        "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"],
        "ports": ["127.0.0.1:1:1"], "volumes": ["v:/v", "../e:/e:ro"]}},
    "volumes": {"v": {}},
}
COMPOSE_BREAKS = [
    ("image", "debian:12", "image"),
    ("read_only", None, "written"),
    ("cap_drop", None, "capabilities"),
    ("security_opt", None, "privileges"),
    ("ports", ["1:1"], "loopback"),
    ("volumes", ["w:/v"], "no volume"),
    ("volumes", ["../e:/e"], "written"),
]


def put(tree, path, value):
    """Sets or takes out what is at a dotted path."""
    *parents, last = path.split(".")
    for key in parents:
        tree = tree[int(key) if isinstance(tree, list) else key]
    if isinstance(tree, list):
        tree[int(last)] = value
    elif value is None:
        del tree[last]
    else:
        tree[last] = value


class PolicyTest(unittest.TestCase):

    def expect(self, violations, word):
        violations = list(violations)
        self.assertTrue(any(word in v for v in violations), violations)

    def test_what_keeps_to_the_rules_passes(self):
        self.assertEqual(list(policy.check_manifests(document())), [])
        self.assertEqual(list(policy.check_dockerfile("f", DOCKERFILE)), [])
        self.assertEqual(list(policy.check_compose(COMPOSE)), [])

    def test_each_rule_for_pods_refuses(self):
        for path, value, word in BREAKS:
            with self.subTest(path=path, value=value):
                documents = document()
                put(documents[0]["spec"], path, value)
                self.expect(policy.check_manifests(documents), word)

    def test_a_set_a_service_or_a_network_policy_that_is_missing_is_said(self):
        documents = document()
        self.expect(policy.check_manifests(documents[3:]), "in place of")
        self.expect(policy.check_manifests(documents[:2] + documents[3:]),
                    "no network policy")
        documents[1]["spec"]["selector"] = {"component": "none"}
        self.expect(policy.check_manifests(documents), "selects no pod")

    def test_each_rule_for_dockerfiles_refuses(self):
        for old, new, word in DOCKERFILE_BREAKS:
            with self.subTest(old=old, new=new):
                self.assertIn(old, DOCKERFILE)
                text = DOCKERFILE.replace(old, new)
                self.expect(policy.check_dockerfile("f", text), word)

    def test_each_rule_for_the_compose_file_refuses(self):
        for key, value, word in COMPOSE_BREAKS:
            with self.subTest(key=key, value=value):
                compose = copy.deepcopy(COMPOSE)
                put(compose["services"]["a"], key, value)
                self.expect(policy.check_compose(compose), word)


if __name__ == "__main__":
    unittest.main()
