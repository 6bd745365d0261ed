"""Pods that print what their own cgroup holds with their first instruction, and what they have to see: for whatever carries the
agent's hooks into a container's creation (the proxy, NRI)."""
import json
import os

from host_tree import Group, is_v2
from real_node import PODS
from sandbox import wait_for

FILES = ("cpuset/cpuset.cpus", "cpu/cpu.shares", "cpu/cpu.cfs_quota_us", "memory/memory.limit_in_bytes")
FILES_V2 = ("cpuset.cpus", "cpu.weight", "cpu.max", "memory.max")
FIRST = "cat " + " ".join("/sys/fs/cgroup/" + name for name in (FILES_V2 if is_v2() else FILES)) + "; exec sleep 100000"
OWN_CPU, SHARED_CPU = "1", "0"  # of two
MILLI, MEMORY = 500, 64 << 20
TIERS = {"lsr": "", "ls": "burstable/", "be": "besteffort/", "batch": "besteffort/"}
CLASSES = tuple(TIERS)


def birth(node, name, kind):
    """A pod of a class: lsr has a CPU of its own, ls shares the others, batch has what it asked for, be nothing."""
    pod = node.pod(name, FIRST, {"lsr": "LSR", "ls": "LS"}.get(kind, "BE"), 10 if kind == "ls" else 0)
    annotations = pod["metadata"].setdefault("annotations", {})
    if kind == "lsr":
        amounts = {"cpu": "10m", "memory": "32Mi"}
        pod["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
        annotations["scheduling.koordinator.sh/resource-status"] = json.dumps({"cpuset": OWN_CPU})
    if kind == "batch":
        amounts = {"kubernetes.io/batch-cpu": str(MILLI), "kubernetes.io/batch-memory": str(MEMORY)}
        annotations["node.koordinator.sh/extended-resource-spec"] = json.dumps(
            {"containers": {"main": {"requests": amounts, "limits": amounts}}})
    return pod


def right(kind, seen):
    """Whether (cpus, shares, quota, memory) are what the class must have from the first instruction on."""
    cpus, shares, quota, memory = seen
    unlimited = quota in ("-1", "max 100000")
    if kind == "lsr":
        return cpus == OWN_CPU and unlimited
    if kind == "ls":
        return cpus == SHARED_CPU
    if kind == "batch":
        weight = str(1 + (MILLI * 1024 // 1000 - 2) * 9999 // 262142) if is_v2() else str(MILLI * 1024 // 1000)
        return (shares, quota.split()[0], memory) == (weight, str(MILLI * 100), str(MEMORY))
    return unlimited  # best-effort pods that ask for nothing: their CPUs are suppression's


def first_seen(node, pod):
    """What it printed at its birth; its log is the kubelet's."""
    meta = pod["metadata"]
    folder = os.path.join(node.dir, "pod-logs", f"default_{meta['name']}_{meta['uid']}", "main")
    with open(os.path.join(folder, min(os.listdir(folder))), encoding="utf-8") as file:
        return [line.split(" ", 3)[3].strip() for line in file][:len(FILES)]


def now_seen(pod, kind):
    """The same of its container now, as the kernel has it."""
    container = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    group = Group(f"kubepods/{TIERS[kind]}pod{pod['metadata']['uid']}/{container}")
    names = [("cpuset", "cpuset.cpus"), ("cpu", "cpu.weight"), ("cpu", "cpu.max"), ("memory", "memory.max")] if is_v2() else \
        [tuple(name.split("/")) for name in FILES]
    return [group.read(controller, name).strip() for controller, name in names]


def kind_of(name):
    return name.split("-")[1]


def wave(node, prefix, count):
    """Names of pods of all classes in turn, which are on their way."""
    names = [f"{prefix}-{CLASSES[at % len(CLASSES)]}-{at}" for at in range(count)]
    node.apply(*(birth(node, name, kind_of(name)) for name in names))
    return names


def wrong_births(node, names):
    """Of pods that run: those whose first instruction saw something else, with what it saw."""
    pods = {pod["metadata"]["name"]: pod for pod in node.get(PODS)["items"]}
    seen = {name: first_seen(node, pods[name]) for name in names}
    return {name: values for name, values in seen.items() if not right(kind_of(name), values)}


def wrong_now(node, names):
    pods = {pod["metadata"]["name"]: pod for pod in node.get(PODS)["items"]}
    seen = {name: now_seen(pods[name], kind_of(name)) for name in names}
    return {name: values for name, values in seen.items() if not right(kind_of(name), values)}


def wait_right(node, names, seconds):
    wait_for("all have what they shall have", lambda: not wrong_now(node, names), seconds)
