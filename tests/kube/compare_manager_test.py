#!/usr/bin/env python3
"""The original koord-manager and ours, each on a real kube-apiserver of its own: the same objects, step by step, and after
each step the same NodeSLOs, NodeMetrics, nodes and events. Needs the original's program; no part of CI.

usage: compare_manager_test.py [STEPS [SEED]]       KOORDINATOR_BIN names the folder with `koord-manager` and `crds/`
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import kube_api  # noqa: E402
import manager_cases  # noqa: E402
import original_manager  # noqa: E402
from manager_cases import NS, SLO  # noqa: E402
from sandbox import KOORD, Kubectl, wait_for  # noqa: E402

CLUSTER = os.path.join(HERE, "cluster")
PACKAGING = os.path.join(HERE, "..", "..", "packaging")
REST_SECONDS, PATIENCE_SECONDS = 1.5, 15
NODE = re.compile(r"node-\d+")
DEVICES = re.compile(r"/(koordinator\.sh/(gpu.*|rdma)|node\.koordinator\.sh/gpu-\w+)$")


def lends(path, state):
    return f"{'/'.join(path.split('/')[:2])}/allocatable/kubernetes.io/batch-cpu" in state


# What differs and why; all of it is in packaging/COMPATIBILITY.md. (path, the original's, koord's, all of koord's): whether
# that is it.
LISTED = [
    ("a node that never lent anything gets no originExtendedAllocatable",
     lambda path, theirs, ours, _: path.endswith("/originExtendedAllocatable") and ours is None
     and set(theirs["resources"].values()) == {"0"}),
    ("a node that lends nothing has zones that lend 0; the original leaves their last figures",
     lambda path, theirs, ours, _: path.startswith("topology/") and "/kubernetes.io/batch-" in path and ours["allocatable"] == "0"),
    ("GPU and RDMA resources follow the Device without colocation, too",
     lambda path, theirs, ours, state: DEVICES.search(path) and not lends(path, state)),
    ("a configuration that is out of bounds, or a selector that cannot be read, is an event",
     lambda path, theirs, ours, _: path.startswith(("events/ColocationCfgInvalid", "events/NodeSelectorInvalid")) and theirs is None),
]


class Side:
    """A manager and the cluster that it manages."""

    def __init__(self, name, folder, command):
        self.name, self.folder = name, os.path.join(folder, name)
        os.mkdir(self.folder)
        self.cluster = os.path.join(self.folder, "cluster")
        subprocess.run([CLUSTER, "up", self.cluster], check=True, stdout=subprocess.DEVNULL)
        self.kubeconfig = os.path.join(self.cluster, "kubeconfig")
        self.api, self.child = kube_api.Api(self.kubeconfig), None
        kubectl = Kubectl(self.kubeconfig)
        # The original's definitions for both, so that the API servers complete the same.
        kubectl.run("apply", "--server-side", "-f", original_manager.CRDS)
        kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        for file in ("00-namespace.yaml", "10-priority-classes.yaml"):
            kubectl.run("apply", "-f", os.path.join(PACKAGING, "manifests", file))
        self.command, self.connection = command(self.kubeconfig), self.api.connect()

    def start(self):
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.child = subprocess.Popen(self.command, stdout=log, stderr=log)

    def close(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        subprocess.run([CLUSTER, "down", self.cluster], check=True)

    def log_tail(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:]

    def request(self, method, path, body):
        def done():
            try:
                self.connection.request(method, path, body, "application/merge-patch+json" if method == "PATCH" else "application/json")
            except kube_api.ApiError as error:
                if error.status in (404, 429):  # what the manager makes is not there yet, or storage begins
                    return False
                raise
            return True
        wait_for(f"{self.name}: {method} {path}", done, 30)

    def state(self):
        """{path: value} of what a manager writes, and the newest version of it all."""
        assert self.child.poll() is None, f"{self.name} ended:\n{self.log_tail()}"
        found, versions = {}, set()
        for kind, path in (("node", "/api/v1/nodes"), ("slo", f"{SLO}/nodeslos"), ("metric", f"{SLO}/nodemetrics"),
                           ("topology", manager_cases.TOPOLOGIES)):
            for item in self.connection.request("GET", path)["items"]:
                name = f"{kind}/{item['metadata']['name']}"
                versions.add((name, item["metadata"]["resourceVersion"]))
                if kind == "node":
                    for field in ("annotations", "labels"):
                        found.update((f"{name}/{key}", parsed(value)) for key, value in item["metadata"].get(field, {}).items())
                    for part in ("capacity", "allocatable"):
                        found.update((f"{name}/{part}/{key}", value) for key, value in item["status"].get(part, {}).items())
                elif kind == "topology":
                    found.update((f"{name}/{zone['name']}/{row['name']}", {**row}) for zone in item["zones"] for row in zone["resources"])
                else:
                    found.update(leaves(item["spec"], name))
        for event in self.connection.request("GET", "/api/v1/events")["items"]:
            about = event["involvedObject"]
            found[f"events/{event['reason']}/{event['type']}/{about['kind']}/{about['name']}"] = True
        return found, versions


def parsed(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def leaves(value, path):
    """Of lists each element by its place; what is empty is a leaf."""
    if isinstance(value, (dict, list)) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{path}/{key}")
    else:
        yield path, value


def at_rest(sides):
    """The states once nobody has written anything for a while."""
    before, since = None, time.monotonic()
    while True:
        states = [side.state() for side in sides]
        versions = [versions for _, versions in states]
        if versions != before:
            before, since = versions, time.monotonic()
        elif time.monotonic() - since > REST_SECONDS:
            return [found for found, _ in states]
        time.sleep(0.2)


def differences(theirs, ours):
    return {path: (theirs.get(path), ours.get(path)) for path in sorted(set(theirs) | set(ours))
            if theirs.get(path) != ours.get(path)}


def listed(path, values, state):
    return next((why for why, is_it in LISTED if is_it(path, *values, state)), None)


def compare(sides, steps, seed):
    """What differs: {path without the node's name: (step, the original's, koord's, how often)}."""
    wrong, known, count = {}, {}, 0
    for name, requests in manager_cases.Cluster(seed).steps(steps):
        for request in requests:
            for side in sides:
                side.request(*request)
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            theirs, ours = at_rest(sides)
            found = differences(theirs, ours)
            new = {path: values for path, values in found.items() if not listed(path, values, ours)}
            if not {NODE.sub("NODE", path) for path in new} - set(wrong) or time.monotonic() > end:
                break
            time.sleep(0.5)
        count += 1
        known.update((listed(path, values, ours), path) for path, values in found.items() if path not in new)
        for path, values in new.items():
            key = NODE.sub("NODE", path)
            first = wrong.setdefault(key, [name, path, *values, 0])
            first[-1] += 1
        print(f"{name[:150]}: {'the same' if not new else f'{len(new)} DIFFER'}", flush=True)
        for path, values in sorted(new.items())[:6]:
            print(f"    {path}: {values[0]} and {values[1]}", flush=True)
    print(f"{count} steps; listed differences that occurred: {sorted(known) or 'none'}")
    return wrong


def main():
    if original_manager.missing():
        print(f"skipped: {original_manager.missing()}")
        return 77
    steps, seed = (int(word) for word in (sys.argv[1:] + ["40", str(int(time.time()))][len(sys.argv) - 1:])[:2])
    print(f"{steps} steps of seed {seed}")

    def original(kubeconfig):
        return original_manager.command(kubeconfig)

    def koord(kubeconfig):
        return [KOORD, "--role=manager", f"--kubeconfig={kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0",
                "--feature-gates=WebhookFramework=false", "--health-probe-addr=0", "--rest-config-qps=0"]

    sides = []
    with tempfile.TemporaryDirectory(prefix="koord-compare.") as folder:
        try:
            for name, command in (("original", original), ("koord", koord)):
                sides.append(Side(name, folder, command))
                sides[-1].start()
            wrong = compare(sides, steps, seed)
        finally:
            for side in sides:
                side.close()
    for key, (step, path, theirs, ours, times) in sorted(wrong.items()):
        print(f"DIFFERS {times} times: {key}\n    first after {step}\n    {path}: the original {theirs}, koord {ours}")
    print("comparison with the original manager: " + ("passed" if not wrong else f"{len(wrong)} differences that are not listed"))
    return 1 if wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its clusters end with it
    sys.exit(main())
