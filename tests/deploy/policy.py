# SPDX-License-Identifier: Apache-2.0
"""What manifests, Dockerfiles and the compose file must keep to.

Each function takes parsed input and yields one sentence for each violation.
"""

import json
import re

IMAGES = {"epochd-coordinator", "epochd-worker"}
USER = 65532


def pod_specs(documents):
    """Yields (where, pod spec, whole document) of all that starts pods."""
    for document in documents:
        template = document.get("spec", {}).get("template")
        if template:
            where = "%s/%s" % (document["kind"], document["metadata"]["name"])
            yield where, template["spec"], document


def check_container(where, container, volumes):
    """One container of a pod with these volumes, by name."""
    image = container.get("image", "").split("/")[-1].split(":")[0]
    if image not in IMAGES:
        yield "%s: image '%s' is not one that docker/build makes" % (
            where, container.get("image"))
    context = container.get("securityContext", {})
    if context.get("allowPrivilegeEscalation") is not False:
        yield "%s: allowPrivilegeEscalation is not false" % where
    if context.get("readOnlyRootFilesystem") is not True:
        yield "%s: the root file system can be written" % where
    if context.get("capabilities", {}) != {"drop": ["ALL"]}:
        yield "%s: not all capabilities are dropped" % where
    if context.get("privileged"):
        yield "%s: privileged" % where
    if "readinessProbe" not in container:
        yield "%s: no readinessProbe" % where
    resources = container.get("resources", {})
    if not {"cpu", "memory"} <= set(resources.get("requests", {})):
        yield "%s: no requests of cpu and memory" % where
    if "memory" not in resources.get("limits", {}):
        yield "%s: no limit of memory" % where
    for mount in container.get("volumeMounts", []):
        volume = volumes.get(mount["name"])
        if volume is None:
            yield "%s: mount '%s' of no volume" % (where, mount["name"])
        elif not mount.get("readOnly") and (
                "secret" in volume or "configMap" in volume):
            yield "%s: mount '%s' is not read-only" % (where, mount["name"])
    for variable in container.get("env", []):
        if "TOKEN" in variable["name"] and (
                not variable["name"].endswith("_FILE")):
            yield "%s: secret in the environment: %s" % (
                where, variable["name"])


def check_pod(where, pod, claims, known):
    """One pod spec; `claims` are its own volume claims, `known` the others."""
    if pod.get("automountServiceAccountToken") is not False:
        yield "%s: gets a service account's token" % where
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield "%s: %s" % (where, name)
    context = pod.get("securityContext", {})
    if context.get("runAsNonRoot") is not True:
        yield "%s: may run as root" % where
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        if context.get(name) != USER:
            yield "%s: %s is not %d" % (where, name, USER)
    if context.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "%s: no seccomp profile" % where
    volumes = {v["name"]: v for v in pod.get("volumes", [])}
    for name, volume in volumes.items():
        if "hostPath" in volume:
            yield "%s: volume '%s' is a path of the node" % (where, name)
        claim = volume.get("persistentVolumeClaim")
        if claim and claim["claimName"] not in known:
            yield "%s: volume '%s' is of no claim here" % (where, name)
    volumes.update((name, {"claim": name}) for name in claims)
    for container in pod.get("containers", []):
        inner = "%s, container %s" % (where, container["name"])
        yield from check_container(inner, container, volumes)


def check_manifests(documents):
    """All documents of a rendered kustomization."""
    found = set()
    known = {d["metadata"]["name"] for d in documents
             if d["kind"] == "PersistentVolumeClaim"}
    for where, pod, document in pod_specs(documents):
        found.add(document["metadata"]["name"])
        claims = [c["metadata"]["name"]
                  for c in document["spec"].get("volumeClaimTemplates", [])]
        yield from check_pod(where, pod, claims, known)
        spec = document["spec"]
        labels = spec["template"]["metadata"].get("labels", {})
        wanted = spec["selector"]["matchLabels"].items()
        if not wanted <= labels.items():
            yield "%s: its selector does not match its pods" % where
    if found != {"epochd", "epochd-worker"}:
        yield "pods of %s in place of epochd, epochd-worker" % sorted(found)
    coordinator = container_of(documents, "epochd")
    if coordinator:
        for probe in ("startupProbe", "livenessProbe"):
            if probe not in coordinator:
                yield "epochd: no %s" % probe
    yield from check_services(documents)


def check_services(documents):
    """Each service must have pods, and each policy too."""
    pods = [d["spec"]["template"]["metadata"]["labels"]
            for _, _, d in pod_specs(documents)]
    guarded = []
    for document in documents:
        where = "%s/%s" % (document["kind"], document["metadata"]["name"])
        if document["kind"] == "Service":
            selector = document["spec"]["selector"]
        elif document["kind"] == "NetworkPolicy":
            selector = document["spec"]["podSelector"]["matchLabels"]
            guarded += [p for p in pods if selector.items() <= p.items()]
        else:
            continue
        if not any(selector.items() <= labels.items() for labels in pods):
            yield "%s: selects no pod" % where
    for labels in pods:
        if labels not in guarded:
            yield "no network policy for pods %s" % json.dumps(labels)


def container_of(documents, name):
    """The first container of the set with this name, or None."""
    for _, pod, document in pod_specs(documents):
        if document["metadata"]["name"] == name:
            return pod["containers"][0]
    return None


def instructions(text):
    """(word, rest) of each instruction; continued lines are joined."""
    lines = [l for l in text.splitlines() if not l.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word.upper(), rest.strip()


def check_dockerfile(where, text):
    """One Dockerfile."""
    found = {}
    for word, rest in instructions(text):
        found.setdefault(word, []).append(rest)
    if found.get("USER", [""])[-1] != "%d:%d" % (USER, USER):
        yield "%s: USER is not %d:%d at the end" % (where, USER, USER)
    if found.get("STOPSIGNAL") != ["SIGTERM"]:
        yield "%s: STOPSIGNAL is not SIGTERM" % where
    if not re.search(r"CMD \[\"/", found.get("HEALTHCHECK", [""])[-1]):
        yield "%s: no HEALTHCHECK in exec form" % where
    entry = found.get("ENTRYPOINT", [""])[-1]
    if not re.fullmatch(r'\["/[^"]+"\]', entry):
        yield "%s: ENTRYPOINT '%s' is no program in exec form" % (where, entry)
    if "VOLUME" not in found:
        yield "%s: no VOLUME" % where
    if "ADD" in found:
        yield "%s: ADD in place of COPY" % where
    if any("LD_LIBRARY_PATH" in e for e in found.get("ENV", [])):
        yield "%s: LD_LIBRARY_PATH, which ranks are not given" % where
    for run in found.get("RUN", []):
        if "apt-get install" in run and (
                "--no-install-recommends" not in run
                or "rm -rf /var/lib/apt/lists/*" not in run):
            yield "%s: apt-get leaves more than it must" % where
    for word in ("ARG", "ENV"):
        for rest in found.get(word, []):
            if re.search(r"(TOKEN|SECRET|PASSWORD)=", rest):
                yield "%s: secret in %s" % (where, word)


def check_compose(document):
    """The compose file."""
    for name, service in document["services"].items():
        image = service["image"].split(":")[0]
        if image not in IMAGES:
            yield "%s: image '%s'" % (name, image)
        if service.get("read_only") is not True:
            yield "%s: the root file system can be written" % name
        if service.get("cap_drop") != ["ALL"]:
            yield "%s: not all capabilities are dropped" % name
        if "no-new-privileges:true" not in service.get("security_opt", []):
            yield "%s: new privileges" % name
        for port in service.get("ports", []):
            if not port.startswith("127.0.0.1:"):
                yield "%s: port %s is open beyond loopback" % (name, port)
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                if not volume.endswith(":ro"):
                    yield "%s: %s can be written" % (name, volume)
            elif source not in document["volumes"]:
                yield "%s: no volume '%s'" % (name, source)
