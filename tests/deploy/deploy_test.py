# SPDX-License-Identifier: Apache-2.0
"""Our Dockerfiles, compose file and manifests, with nothing running."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import policy

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(os.environ.get("EPOCHD_TEST_SOURCE_DIR",
                                   pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("EPOCHD_TEST_BIN_DIR", ROOT / "build/none"))
KUBERNETES = ROOT / "deploy/kubernetes"
IMAGES = ("coordinator", "worker")
# Settings of epochctl, which runs beside the coordinator, and of all programs.
ALSO_KNOWN = {"EPOCHD_TAG", "EPOCHD_SERVER", "EPOCHD_SERVICE_HOST",
              "EPOCHD_SERVICE_PORT"}
CLUSTER_WIDE = {"Namespace", "PersistentVolume"}


def has_kubectl():
    """Whether kubectl is there and its kustomize knows `labels`."""
    if not shutil.which("kubectl"):
        return False
    text = subprocess.run(["kubectl", "version", "--client", "-o", "json"],
                          capture_output=True, text=True, timeout=30).stdout
    minor = re.search(r'"minor": "(\d+)', text)
    return bool(minor) and int(minor.group(1)) >= 22


needs_yaml = unittest.skipUnless(yaml, "no python3-yaml")
needs_kubectl = unittest.skipUnless(has_kubectl(), "no kubectl >= 1.22")


def load(*paths):
    """All YAML documents of these files."""
    documents = []
    for path in paths:
        documents += yaml.safe_load_all(path.read_text())
    return [d for d in documents if d]


def label(documents):
    """Adds the labels of the kustomization, as rendering does."""
    (kustomization,) = load(KUBERNETES / "base/kustomization.yaml")
    pairs = kustomization["labels"][0]["pairs"]
    for document in documents:
        spec = document.get("spec", {})
        places = [document["metadata"].setdefault("labels", {})]
        if document["kind"] == "StatefulSet":
            places += [spec["selector"]["matchLabels"],
                       spec["template"]["metadata"]["labels"]]
        elif document["kind"] == "Service":
            places.append(spec["selector"])
        elif document["kind"] == "NetworkPolicy":
            places.append(spec["podSelector"]["matchLabels"])
        for place in places:
            place.update(pairs)
    return documents


def render(folder):
    """What kubectl makes of a kustomization."""
    text = subprocess.run(["kubectl", "kustomize", folder], check=True,
                          capture_output=True, text=True, timeout=30).stdout
    return list(yaml.safe_load_all(text))


def mounts(documents, name):
    """Path to volume of the set's container."""
    container = policy.container_of(documents, name)
    return {m["mountPath"]: m["name"] for m in container["volumeMounts"]}


def environment(documents, name):
    container = policy.container_of(documents, name)
    return {v["name"]: v.get("value") for v in container["env"]}


class ImagesTest(unittest.TestCase):

    def test_dockerfiles_keep_to_the_policy(self):
        for name in IMAGES:
            file = ROOT / "docker" / (name + ".Dockerfile")
            with self.subTest(file=file.name):
                self.assertEqual(
                    list(policy.check_dockerfile(file.name, file.read_text())),
                    [])

    def test_the_scripts_explain_themselves_and_refuse_what_they_do_not_know(
            self):
        scripts = {ROOT / "docker/build": "no-such-image",
                   KUBERNETES / "run_digits": "--no-such-flag"}
        for script, wrong in scripts.items():
            with self.subTest(script=script.name):
                helped = subprocess.run([script, "--help"], text=True,
                                        capture_output=True, timeout=30)
                self.assertEqual(helped.returncode, 0, helped.stderr)
                self.assertIn(str(script.relative_to(ROOT)), helped.stdout)
                self.assertNotIn("set -euo", helped.stdout)
                refused = subprocess.run([script, wrong], text=True,
                                         capture_output=True, timeout=30)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn(wrong, refused.stderr)

    def test_a_worker_is_healthy_unless_it_is_silent_or_cannot_work(self):
        rows = {"READY": 0, "DRAINING": 0, "QUARANTINED: gets no new work": 0,
                "NOT_READY: no room, else ready": 1, "UNREACHABLE": 1,
                "LOST": 1, "": 1}
        with tempfile.TemporaryDirectory() as folder:
            asked = pathlib.Path(folder, "epochctl")
            asked.write_text('#!/bin/sh\necho "$@" > "$0.asked"\n'
                             'printf "%s\\nhost ready\\n" "$ANSWER"\n')
            asked.chmod(0o755)
            for state, expected in rows.items():
                answer = f"workers/w0 {state}" if state else "none"
                result = subprocess.run(
                    [ROOT / "docker/worker_health"], timeout=30, env={
                        "PATH": f"{folder}:{os.environ['PATH']}",
                        "ANSWER": answer, "EPOCHD_NAME": "w0",
                        "EPOCHD_COORDINATOR": "host:1"})
                self.assertEqual(result.returncode != 0, expected != 0, state)
            self.assertEqual(pathlib.Path(folder, "epochctl.asked").read_text(),
                             "--server host:1 worker get w0\n")

    @needs_yaml
    def test_the_compose_file_keeps_to_the_policy(self):
        (compose,) = load(ROOT / "docker/compose.yaml")
        self.assertEqual(list(policy.check_compose(compose)), [])

    @unittest.skipUnless((BIN / "epochd-worker").exists()
                         and (BIN / "epochd").exists(), "no programs built")
    def test_all_settings_are_ones_that_the_programs_know(self):
        known = set(ALSO_KNOWN)
        for program in ("epochd", "epochd-worker"):
            text = subprocess.run([BIN / program, "--help"], check=True,
                                  capture_output=True, text=True,
                                  timeout=30).stdout
            known |= set(re.findall(r"\(Env:(\w+)\)", text))
        self.assertGreater(len(known), 20)
        files = [ROOT / "docker/compose.yaml", ROOT / "docker/worker_health"]
        files += [ROOT / "docker" / (n + ".Dockerfile") for n in IMAGES]
        files += KUBERNETES.glob("**/*.yaml")
        for file in files:
            used = set(re.findall(r"\bEPOCHD_\w+", file.read_text()))
            self.assertLessEqual(used, known, file)


@needs_yaml
class ManifestsTest(unittest.TestCase):

    def base(self):
        (kustomization,) = load(KUBERNETES / "base/kustomization.yaml")
        return label(load(*(KUBERNETES / "base" / name
                            for name in kustomization["resources"])))

    def test_the_base_keeps_to_the_policy(self):
        self.assertEqual(list(policy.check_manifests(self.base())), [])

    def test_workers_and_coordinator_take_the_token_from_one_secret(self):
        for _, pod, _ in policy.pod_specs(self.base()):
            (secret,) = [v["secret"] for v in pod["volumes"] if "secret" in v]
            self.assertEqual(secret,
                             {"secretName": "epochd-token",
                              "defaultMode": 0o400})

    def test_workers_get_longer_to_stop_than_they_take(self):
        # The default of --drain-timeout.
        for where, pod, _ in policy.pod_specs(self.base()):
            if "worker" in where:
                self.assertGreater(pod["terminationGracePeriodSeconds"], 90)

    @needs_kubectl
    def test_all_kustomizations_render_and_keep_to_the_policy(self):
        folders = [KUBERNETES / "base"]
        folders += (f.parent for f in KUBERNETES.glob(
            "overlays/*/kustomization.yaml"))
        self.assertGreater(len(folders), 1)
        for folder in folders:
            with self.subTest(folder=folder.name):
                documents = render(folder)
                self.assertEqual(list(policy.check_manifests(documents)), [])
                for document in documents:
                    if document["kind"] not in CLUSTER_WIDE:
                        self.assertEqual(document["metadata"]["namespace"],
                                         "epochd")

    @needs_kubectl
    def test_in_all_kustomizations_the_journal_outlives_the_coordinators_pod(
            self):
        for folder in (KUBERNETES / "base", KUBERNETES / "overlays/kube-1.20"):
            with self.subTest(folder=folder.name):
                documents = render(folder)
                (coordinator,) = [d for _, _, d in policy.pod_specs(documents)
                                  if d["metadata"]["name"] == "epochd"]
                (claim,) = coordinator["spec"]["volumeClaimTemplates"]
                self.assertEqual(mounts(documents, "epochd")["/var/lib/epochd"],
                                 claim["metadata"]["name"])

    @needs_kubectl
    def test_shared_storage_is_mounted_where_the_image_keeps_checkpoints(self):
        image = (ROOT / "docker/worker.Dockerfile").read_text()
        storage = re.search(r"EPOCHD_STORAGE=(\S+)", image).group(1)
        documents = render(KUBERNETES / "overlays/kube-1.20")
        volume = mounts(documents, "epochd-worker")[storage]
        (pod,) = [p for where, p, _ in policy.pod_specs(documents)
                  if "worker" in where]
        (claim,) = [v["persistentVolumeClaim"]["claimName"]
                    for v in pod["volumes"] if v["name"] == volume]
        (found,) = [d for d in documents
                    if d["kind"] == "PersistentVolumeClaim"]
        self.assertEqual(found["metadata"]["name"], claim)
        self.assertEqual(found["spec"]["accessModes"], ["ReadWriteMany"])

    @needs_kubectl
    def test_the_overlay_for_old_clusters_needs_neither_grpc_probes_nor_dns(
            self):
        documents = render(KUBERNETES / "overlays/kube-1.20")
        coordinator = policy.container_of(documents, "epochd")
        self.assertNotIn("grpc", coordinator["readinessProbe"])
        self.assertEqual(
            environment(documents, "epochd-worker")["EPOCHD_COORDINATOR"],
            "$(EPOCHD_SERVICE_HOST):$(EPOCHD_SERVICE_PORT)")

    @needs_kubectl
    def test_each_claim_of_the_overlay_for_old_clusters_has_its_volume(self):
        documents = render(KUBERNETES / "overlays/kube-1.20")
        wanted = {}
        for document in documents:
            if document["kind"] == "PersistentVolumeClaim":
                wanted[document["metadata"]["name"]] = document["spec"]
        for _, _, document in policy.pod_specs(documents):
            for claim in document["spec"].get("volumeClaimTemplates", []):
                for ordinal in range(document["spec"]["replicas"]):
                    name = "%s-%s-%d" % (claim["metadata"]["name"],
                                         document["metadata"]["name"], ordinal)
                    wanted[name] = claim["spec"]
        offered = {d["spec"]["claimRef"]["name"]: d["spec"] for d in documents
                   if d["kind"] == "PersistentVolume"}
        self.assertEqual(set(offered), set(wanted))
        for name, volume in offered.items():
            self.assertEqual(volume["accessModes"],
                             wanted[name]["accessModes"])
            self.assertEqual(volume["capacity"],
                             wanted[name]["resources"]["requests"])


if __name__ == "__main__":
    unittest.main()
