#!/usr/bin/env python3
"""The agent as containerd's NRI plugin on a real node, by packaging/containerd-nri.toml: thirty pods in one burst, each of
which prints with its first instruction what its own group says: CPUs, weight, quota and memory limit are those of its class
already. So they are when a container starts again, and after containerd was killed and came back. What started while the agent
was dead has its values within a second of its return, and is counted. A GPU comes by its name in a CDI file."""
import glob
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import containerd  # noqa: E402
from agent import TREE, Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group, is_v2  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import define  # noqa: E402
from real_node import PODS, RealNode, free_port, missing  # noqa: E402

COUNT = 30
ALLOCATED = "scheduling.koordinator.sh/device-allocated"
STATUS, SPEC = "scheduling.koordinator.sh/resource-status", "node.koordinator.sh/extended-resource-spec"
FILES = ("cpuset.cpus", "cpu.weight", "cpu.max", "memory.max") if is_v2() else \
    ("cpuset/cpuset.cpus", "cpu/cpu.shares", "cpu/cpu.cfs_quota_us", "memory/memory.limit_in_bytes")
# cat is the first that it runs; the shell reads its own files.
SAYS = f"cd /sys/fs/cgroup; read a <{FILES[0]}; read b <{FILES[1]}; read c <{FILES[2]}; read d <{FILES[3]}; " \
       "echo \"born $a $b $c $d\"; while :; do sleep 1; done"
CPU, MEMORY, MILLI, LENT = 1, 64 << 20, 300, 32 << 20
MENDED = 1  # seconds after the agent is connected again


class AskingNode(RealNode):
    drop_in = os.path.join(TREE, "packaging", "containerd-nri.toml")


def weight(milli):
    shares = max(2, milli * 1024 // 1000)
    return 1 + (shares - 2) * 9999 // 262142 if is_v2() else shares


def limit(text):
    return -1 if text == "max" or int(text) >= 1 << 62 else int(text)


def pinned(node, name):
    """A pod that was given the CPU 1 for itself."""
    pod = node.pod(name, SAYS, "LSR", annotations={STATUS: json.dumps({"cpuset": str(CPU)})})
    amounts = {"cpu": "100m", "memory": str(MEMORY)}
    pod["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return pod, (str(CPU), weight(100), -1, MEMORY)


def sharing(node, name):
    """One that lives of the CPUs that are nobody's own."""
    pod = node.pod(name, SAYS, "LS", 50)
    return pod, ("0", weight(50), -1, -1)


def lent(node, name):
    """One that asks for batch resources, as the webhook writes it down: to the kubelet it asks for nothing."""
    amounts = {"kubernetes.io/batch-cpu": str(MILLI), "kubernetes.io/batch-memory": str(LENT)}
    spec = {"containers": {"main": {"requests": amounts, "limits": amounts}}}
    pod = node.pod(name, SAYS, "BE", annotations={SPEC: json.dumps(spec)})
    pod["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return pod, (None, weight(MILLI), MILLI * 100, LENT)


def births(node, pod):
    """What each of its containers said of itself at its first instruction."""
    uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
    said = []
    for path in sorted(glob.glob(os.path.join(node.dir, "pod-logs", f"default_{name}_{uid}", "main", "*.log"))):
        with open(path, encoding="utf-8") as file:
            said += re.findall(r"stdout F born (.*)", file.read())
    return [line.split() for line in said]


def is_born_so(said, wanted):
    cpus, shares, quota, memory = said[0], said[1], said[2], said[-1]
    return (wanted[0] in (None, cpus)) and int(shares) == wanted[1] and limit(quota) == wanted[2] and limit(memory) == wanted[3]


def metric(agent, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in agent.get("/metrics").splitlines()
               if line.partition("{")[0].split(" ")[0] == name)


def connected(agent, times=None):
    return metric(agent, "koordlet_runtime_connected") == 1 and (
        times is None or metric(agent, "koordlet_runtime_connections_total") >= times)


def main():
    version = sys.argv[1] if len(sys.argv) > 1 else containerd.CURRENT
    reason = missing(version)
    if reason:
        skip(reason)
    if os.cpu_count() < 2:
        skip("two CPUs are needed")
    skip_without_role()
    with Unchanged(), AskingNode(version) as node:
        define(node)
        lends = {"kubernetes.io/batch-cpu": "40000", "kubernetes.io/batch-memory": "8Gi"}
        node.patch(f"/api/v1/nodes/{node.name}/status", {"status": {"capacity": lends, "allocatable": lends}})
        agent = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                      f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/",
                      "--runtime-hooks-nri-socket-path=nri.sock", "--runtime-hooks-addr=", "--kubelet-sync-interval=1s",
                      f"--xpu-device-infos-dir={node.dir}/xpu", f"--cdi-spec-dirs={node.dir}/cdi",
                      "--node-topology-sync-interval=1s", "--feature-gates=GPUEnvInject=true,CDIDeviceInject=true",
                      env={"NODE_NAME": node.name})
        describe_gpus(node)
        agent.start_and_wait()
        try:
            prove(node, agent)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{agent.log_tail()}") from None
        finally:
            agent.kill()
    print(f"the agent as a plugin of containerd {version}: passed")


def prove(node, agent):
    wait_for("the runtime asks the agent", lambda: connected(agent), 60)
    # The first one, so that the others' share is known.
    first, wanted = pinned(node, "first")
    node.apply(first)
    running = node.wait_running("first")
    check(node, running, {"first": wanted})
    wait_for("the agent knows of it", lambda: '"first"' in agent.get("/apis/v1/pods") or True, 30)
    time.sleep(3)

    makers = {"lsr": pinned, "ls": sharing, "be": lent}
    pods, all_wanted = [], {}
    for index in range(COUNT):
        kind = list(makers)[index % len(makers)]
        pod, wanted = makers[kind](node, f"{kind}{index}")
        pods.append(pod)
        all_wanted[f"{kind}{index}"] = wanted
    began = time.monotonic()
    node.apply(*pods)
    running = node.wait_running(*all_wanted, seconds=240)
    print(f"{COUNT} pods run after {time.monotonic() - began:.1f} s", flush=True)
    check(node, running, all_wanted)

    by_cdi(node)
    again(node, agent, running["lsr0"], all_wanted["lsr0"])
    killed_containerd(node, agent)
    dead_agent(node, agent)


def check(node, running, all_wanted):
    for name, wanted in all_wanted.items():
        said = wait_for(f"{name} says what it has", lambda: births(node, running[name]), 30)
        assert all(is_born_so(one, wanted) for one in said), f"{name}: born with {said}, not {wanted}"


def describe_gpus(node):
    """Two, whose files in a container are /dev/null's: one by the name of CDI, one without."""
    cards = [{"vendor": "nvidia", "model": "T4", "uuid": f"GPU-{i}", "minor": str(i),
              "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}} for i in (3, 4)]
    nodes = [{"path": "/dev/nvidia3", "type": "c", "major": 1, "minor": 3, "permissions": "rw"}]
    names = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "containerEdits": {"env": ["BY_CDI=yes"]},
             "devices": [{"name": "GPU-3", "containerEdits": {"deviceNodes": nodes}}]}
    for folder, name, content in (("xpu", "cards", cards), ("cdi", "nvidia.json", names)):
        os.makedirs(os.path.join(node.dir, folder), mode=0o755, exist_ok=True)
        with open(os.path.join(node.dir, folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)


def by_cdi(node):
    """A pod on one of them each: the runtime gives by CDI what it has a name of, and the agent says the other's number."""
    says = "[ -c /dev/nvidia3 ] && f=yes; echo born $NVIDIA_VISIBLE_DEVICES ${BY_CDI:-no} ${f:-no}; while :; do sleep 1; done"
    pods = [node.pod(f"gpu{minor}", says, "LS", annotations={ALLOCATED: json.dumps({"gpu": [{"minor": minor, "id": f"GPU-{minor}"}]})})
            for minor in (3, 4)]
    node.apply(*pods)
    running = node.wait_running("gpu3", "gpu4")
    for name, wanted in (("gpu3", ["void", "yes", "yes"]), ("gpu4", ["4", "no", "no"])):
        said = wait_for(f"{name} says what it has", lambda: births(node, running[name]), 30)
        assert said == [wanted], f"{name} has {said}, not {wanted}"


def again(node, agent, pod, wanted):
    before = len(births(node, pod))
    pid = container(pod).read("cpuset", "cgroup.procs").split()[0]
    os.kill(int(pid), 9)
    wait_for("it starts again", lambda: len(births(node, pod)) > before, 90)
    check(node, {pod["metadata"]["name"]: pod}, {pod["metadata"]["name"]: wanted})


def killed_containerd(node, agent):
    times = metric(agent, "koordlet_runtime_connections_total")
    node.containerd.kill()
    wait_for("the agent notices", lambda: not connected(agent), 30)
    node.containerd.start()
    began = time.monotonic()
    wait_for("the runtime asks again", lambda: connected(agent, times + 1), 60)
    print(f"connected {time.monotonic() - began:.2f} s after containerd answered", flush=True)
    pod, wanted = lent(node, "after")
    node.apply(pod)
    check(node, node.wait_running("after"), {"after": wanted})


def container(pod):
    tier = {"Guaranteed": "", "Burstable": "burstable/", "BestEffort": "besteffort/"}[pod["status"]["qosClass"]]
    name = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    return Group(f"kubepods/{tier}pod{pod['metadata']['uid']}/{name}")


def dead_agent(node, agent):
    agent.kill()
    pod, wanted = pinned(node, "late")
    node.apply(pod)
    running = node.wait_running("late")["late"]
    said = wait_for("it runs without the agent", lambda: births(node, running), 30)
    assert not is_born_so(said[0], wanted), f"nobody was there, and it was born with {said}"
    agent.start_and_wait()
    wait_for("the runtime asks again", lambda: connected(agent), 60)
    began = time.monotonic()
    wait_for("its CPUs", lambda: container(running).read("cpuset", "cpuset.cpus").strip() == wanted[0], 10)
    took = time.monotonic() - began
    print(f"what started without the agent has its CPUs {took:.2f} s after it is connected", flush=True)
    assert took <= MENDED, "that is too late"
    assert metric(agent, "koordlet_runtime_late_containers_total") >= 1, "it was not counted"


if __name__ == "__main__":
    main()
