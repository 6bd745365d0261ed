#!/usr/bin/env python3
"""The runtime hooks on a real node: what a best-effort pod asked for and the quotas of normalized CPUs are in force three
seconds after a container has started, also after it started again, three seconds after the kubelet has resized it in place,
and when the agent died; so is cpu.idle where the kernel has no group identity, and the oom_score_adj that a pod says. A
resize that the kubelet refuses changes nothing. --cleanup puts back what the kubelet wrote."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group, is_v2  # noqa: E402
from janitor import CGROUPS, Unchanged, skip  # noqa: E402
from node_slo import SLO, define  # noqa: E402
from real_node import PODS, RealNode, free_port, missing  # noqa: E402

IN_FORCE = 3  # seconds
SLEEP = "while :; do sleep 1; done"
MILLI, MEMORY = 500, 64 << 20
SCORE, BEST_EFFORT_SCORE = 300, 1000  # of the annotation, and the kubelet's


def number(text):
    return -1 if text == "max" or int(text) >= 1 << 62 else int(text)


def held(group):
    """Its weight, quota and memory limit."""
    if is_v2():
        return int(group.read("cpu", "cpu.weight")), number(group.read("cpu", "cpu.max").split()[0]), \
            number(group.read("memory", "memory.max"))
    return int(group.read("cpu", "cpu.shares")), int(group.read("cpu", "cpu.cfs_quota_us")), \
        number(group.read("memory", "memory.limit_in_bytes"))


def score(group):
    """The oom_score_adj of the youngest container's first process."""
    with open(f"/proc/{containers(group)[-1][1]}/oom_score_adj", encoding="utf-8") as file:
        return int(file.read())


def weight(milli):
    shares = max(2, milli * 1024 // 1000)
    return 1 + (shares - 2) * 9999 // 262142 if is_v2() else shares


def pod_group(pod, folder):
    return Group(f"kubepods/{folder}/pod{pod['metadata']['uid']}")


def containers(group):
    """Those of the pod that hold a process of its command, not the sandbox: the youngest of them last."""
    path = os.path.join(CGROUPS, *([] if is_v2() else ["cpu"]), group.relative)
    found = []
    for name in os.listdir(path) if os.path.isdir(path) else []:  # the kubelet makes it soon
        try:
            with open(os.path.join(path, name, "cgroup.procs"), encoding="utf-8") as file:
                pids = file.read().split()
            with open(f"/proc/{pids[0]}/cmdline", encoding="utf-8") as file:
                if SLEEP in file.read():
                    found.append((os.stat(f"/proc/{pids[0]}").st_mtime, Group(os.path.join(group.relative, name)), int(pids[0])))
        except (OSError, IndexError):
            continue  # it comes or goes, or is no folder
    return [one[1:] for one in sorted(found, key=lambda one: one[0])]


def in_force(what, group, wanted):
    """How long after the container's first process its group and its pod's hold it."""
    found = wait_for(f"{what}: its container", lambda: containers(group), 60)
    container, began = found[-1][0], time.monotonic()
    wait_for(f"{what}: {wanted}", lambda: held(container) == wanted, 30)
    took = time.monotonic() - began
    print(f"{what}: in force after {took:.2f} s", flush=True)
    assert took <= IN_FORCE, f"{what}: that is too late"
    return container


def patch(node, path, body):
    node.api.connect().request("PATCH", path, body, content_type="application/merge-patch+json")


def annotate(node, annotations):
    patch(node, f"/api/v1/nodes/{node.name}", {"metadata": {"annotations": annotations}})


def identity(enable):
    return {"resourceQOSStrategy": {"policies": {"cpuPolicy": "groupIdentity"},
                                    "beClass": {"cpuQOS": {"enable": enable, "groupIdentity": -1}}}}


def goes_idle(group):
    """Whether it does where the NodeSLO asks for an identity below 0 of best-effort pods."""
    return os.path.exists(group.file("cpu", "cpu.idle")) and not os.path.exists(group.file("cpu", "cpu.bvt_warp_ns"))


def burst(group):
    """Microseconds of the kernel's burst; None: the kernel has none."""
    try:
        return int(group.read("cpu", "cpu.max.burst" if is_v2() else "cpu.cfs_burst_us"))
    except OSError:
        return None


def resize(node, name, requests, limits):
    node.patch(f"{PODS}/{name}/resize", {"spec": {"containers": [
        {"name": "main", "resources": {"requests": requests, "limits": limits}}]}}, "application/strategic-merge-patch+json")


def follows(what, container, before, wanted):
    """How long after the kubelet's own write of a quota, which was `before`, the container has what it shall have."""
    wait_for(f"{what}: the kubelet's write", lambda: held(container)[1] != before, 30)
    began = time.monotonic()
    wait_for(f"{what}: {wanted}", lambda: held(container) == wanted, 30)
    took = time.monotonic() - began
    print(f"{what}: in force {took:.2f} s after the kubelet's write", flush=True)
    assert took <= IN_FORCE, f"{what}: that is too late"


def prove_resizes(node, agent, group, container):
    """In-place resizes of a pod on CPUs that are faster by a quarter, which may burst, too."""
    mib = 1 << 20
    node.api.connect().request("POST", f"{SLO}/nodeslos", {
        "apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": node.name},
        "spec": {"cpuBurstStrategy": {"policy": "auto", "cpuBurstPercent": 100, "sharePoolThresholdPercent": 1000}}})
    if burst(container) is not None:
        wait_for("the kernel's burst, no more than the quota", lambda: burst(container) in (40000, 50000), 15)
    resize(node, "ls", {"cpu": "300m", "memory": "64Mi"}, {"cpu": "1", "memory": "96Mi"})
    follows("a resize to more", container, 40000, (weight(300), 80000, 96 * mib))
    assert held(group)[::2] == (weight(300), 96 * mib), f"what is the kubelet's own is not any more: {held(group)}"
    if burst(container) is not None:
        wait_for("the burst grows, too", lambda: burst(container) in (80000, 100000), IN_FORCE)

    resize(node, "ls", {"cpu": "100m", "memory": "64Mi"}, {"cpu": "250m", "memory": "96Mi"})
    # The kernel takes no quota below the burst, which has to go first: the kubelet tries again.
    wait_for("a resize to less is on its way", lambda: held(container)[1] != 80000, 30)
    agent.kill()
    agent.start_and_wait()

    def resized():
        return node.get(f"{PODS}/ls")["status"]["containerStatuses"][0]["resources"]["limits"]["cpu"] == "250m"

    began = time.monotonic()
    wait_for("a resize to less is done", resized, 60)
    print(f"a resize to less: done after {time.monotonic() - began:.2f} s", flush=True)
    wait_for("the next agent follows", lambda: held(container) == (weight(100), 20000, 96 * mib), IN_FORCE)

    # More than the node has: the kubelet refuses it, and what is in force stays.
    resize(node, "ls", {"cpu": "900"}, {"cpu": "1000"})
    wait_for("the kubelet refuses", lambda: any(c["type"] == "PodResizePending" for c in node.get(f"{PODS}/ls")["status"]["conditions"]), 30)
    resize_seen = time.monotonic() + 11  # the kubelet is asked at the latest by then
    while time.monotonic() < resize_seen:
        assert held(container) == (weight(100), 20000, 96 * mib), f"a refused resize came to {held(container)}"
        time.sleep(0.2)


def main():
    reason = missing()
    if reason:
        skip(reason)
    skip_without_role()
    with Unchanged(), RealNode() as node:
        define(node)  # and there is no NodeSLO: what a pod asked for needs none
        lent = {"kubernetes.io/batch-cpu": "4000", "kubernetes.io/batch-memory": "1Gi"}
        node.patch(f"/api/v1/nodes/{node.name}/status", {"status": {"capacity": lent, "allocatable": lent}})
        agent = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                      f"--var-lib-kubelet-dir={node.kubelet_root}", f"--containerd-endpoint={node.containerd.socket}",
                      "--feature-gates=CPUNormalization=true,OOMScoreAdj=true",
                      env={"NODE_NAME": node.name})
        agent.start_and_wait()
        try:
            prove(node, agent)
            asked = re.search(r'koordlet_container_runtime_calls_total\{.*method="ListContainers",.*status="OK"\} (\d+)', agent.shown)
            assert asked, "the container runtime was never asked what runs"
            print(f"the container runtime was asked {asked.group(1)} times what runs")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{agent.log_tail()}") from None
        finally:
            agent.kill()
    print("the runtime hooks on a real node: passed")


def prove(node, agent):
    be = node.pod("be", SLEEP, "BE", MILLI)
    for amounts in be["spec"]["containers"][0]["resources"].values():
        amounts["kubernetes.io/batch-memory"] = str(MEMORY)
    be["metadata"].setdefault("annotations", {})["koordinator.sh/oom-score-adj"] = str(SCORE)
    node.apply(be)
    uid = node.get(f"{PODS}/be")["metadata"]["uid"]
    group, wanted = Group(f"kubepods/besteffort/pod{uid}"), (weight(MILLI), MILLI * 100, MEMORY)
    container = in_force("a best-effort pod", group, wanted)
    wait_for("its oom_score_adj", lambda: score(group) == SCORE, IN_FORCE)
    wait_for("the pod, too", lambda: held(group) == wanted, IN_FORCE)
    before = container.relative

    node.wait_running("be")
    os.kill(containers(group)[-1][1], 9)  # the kubelet starts it again
    wait_for("another container", lambda: [one for one, _ in containers(group) if one.relative != before], 60)
    in_force("a container that started again", group, wanted)
    agent.shown = agent.get("/metrics")
    wait_for("its oom_score_adj", lambda: score(group) == SCORE, IN_FORCE)

    annotate(node, {"node.koordinator.sh/cpu-normalization-ratio": "1.25"})
    wait_for("batch quotas are normalized", lambda: held(group)[1] == MILLI * 80, 15)
    ls = node.pod("ls", SLEEP, "LS", 200)
    ls["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "500m", "memory": "64Mi"}
    node.apply(ls)
    uid = node.get(f"{PODS}/ls")["metadata"]["uid"]
    ls_group = Group(f"kubepods/burstable/pod{uid}")
    one = in_force("a pod on faster CPUs", ls_group, (weight(200), 40000, 64 << 20))
    node.wait_running("ls")

    os.kill(containers(ls_group)[-1][1], 9)  # complaint 2047: with v1's rule it starts again, too
    wait_for("it starts again", lambda: [c for c, _ in containers(ls_group) if c.relative != one.relative], 60)
    one = in_force("a pod on faster CPUs that started again", ls_group, (weight(200), 40000, 64 << 20))

    prove_resizes(node, agent, ls_group, one)
    agent.kill()
    agent.start_and_wait()
    assert held(one)[1] == 20000 and held(group)[2] == MEMORY and score(group) == SCORE, "an agent that died let go"
    if goes_idle(group):
        prove_idle(node, agent, group)
    agent.stop()
    agent.cleanup()
    assert not goes_idle(group) or containers(group)[-1][0].read("cpu", "cpu.idle") == "0", "after --cleanup a container is idle"
    assert score(group) == BEST_EFFORT_SCORE, f"after --cleanup a best-effort process has the score {score(group)}"
    assert held(one)[1] == 25000, f"after --cleanup a container has {held(one)}"
    assert held(group) == (weight(0), -1, -1), f"after --cleanup a best-effort pod has {held(group)}"


def prove_idle(node, agent, group):
    asked = held(group)

    def is_idle():
        return containers(group)[-1][0].read("cpu", "cpu.idle") == "1"

    patch(node, f"{SLO}/nodeslos/{node.name}", {"spec": identity(True)})
    wait_for("the best-effort pod's container is idle", is_idle, 15)
    for other in (Group(os.path.dirname(group.relative)), group):
        assert other.read("cpu", "cpu.idle") == "0", f"{other.relative} is idle"
    assert held(group) == asked, "beside other pods the pod has its weight"
    before = containers(group)[-1][0].relative
    os.kill(containers(group)[-1][1], 9)
    wait_for("another container", lambda: [c for c, _ in containers(group) if c.relative != before], 60)
    wait_for("it is idle, too", is_idle, IN_FORCE)
    agent.kill()
    agent.start_and_wait()
    assert is_idle(), "an agent that died let go"
    container = containers(group)[-1][0]
    patch(node, f"{SLO}/nodeslos/{node.name}", {"spec": identity(False)})
    wait_for("it has its weight back", lambda: not is_idle() and held(container)[0] == weight(MILLI), 15)
    patch(node, f"{SLO}/nodeslos/{node.name}", {"spec": identity(True)})
    wait_for("it is idle again", is_idle, 15)


if __name__ == "__main__":
    main()
