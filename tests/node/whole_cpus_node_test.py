#!/usr/bin/env python3
"""Whole CPUs for real: a pod of class LSR, and then one of class LSE, admitted by koord's manager, placed by koord's scheduler
and run by a real kubelet, has exactly the CPUs that it was given in the cpuset of its container. Looked at every 10 ms, no
latency-sensitive neighbour has one of them from then on, nor has anybody one of the LSE pod's, while each role is killed and
comes back."""
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import loop_node_test  # noqa: E402
from agent import skip_without_role, wait_for  # noqa: E402
from cpusets_node_test import EVERY, cpus_of  # noqa: E402
from host_tree import Group, is_v2  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from loop_node_test import BURN, create  # noqa: E402
from real_node import PODS, RealNode, missing  # noqa: E402

STATUS = "scheduling.koordinator.sh/resource-status"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
APPLIED = 20   # seconds: a container that has started has its cpuset after so long
SETTLED = 3    # seconds in which a role that is back would have done what it must not


def whole(node, name, qos):
    """A pod of one CPU that names no node and no CPU."""
    pod = node.pod(name, BURN, qos)
    del pod["spec"]["nodeName"]
    amounts = {"cpu": "1", "memory": "32Mi"}
    pod["spec"].update(schedulerName="koord-scheduler", priorityClassName="koord-prod")
    pod["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return pod


def given(node, name):
    """The CPUs that the scheduler wrote into it."""
    return cpus_of(json.loads(node.get(f"{PODS}/{name}")["metadata"]["annotations"][STATUS])["cpuset"])


class Container:
    """Of a pod that runs: which CPUs it may use, and where its process ran last."""

    def __init__(self, pod):
        tier = {"Guaranteed": "", "Burstable": "burstable/", "BestEffort": "besteffort/"}[pod["status"]["qosClass"]]
        container = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
        self.name, self.group = pod["metadata"]["name"], Group(f"kubepods/{tier}pod{pod['metadata']['uid']}/{container}")
        self.pid = self.group.read("cpuset", "cgroup.procs").split()[0]

    def told(self):
        return cpus_of(self.group.read("cpuset", "cpuset.cpus"))

    def may(self):
        return cpus_of(self.group.read("cpuset", "cpuset.cpus.effective" if is_v2() else "cpuset.cpus"))

    def ran(self):
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            return int(file.read().rsplit(")", 1)[1].split()[36])


class Watch(threading.Thread):
    """Every 10 ms: its owner has exactly these CPUs, and no neighbour has one of them."""

    def __init__(self, owner, cpus, neighbours):
        super().__init__(daemon=True)
        self.owner, self.cpus, self.neighbours = owner, cpus, neighbours
        self.samples, self.wrong, self.stopping = 0, [], threading.Event()
        self.start()

    def run(self):
        while not self.stopping.wait(EVERY):
            try:
                if (now := self.owner.told()) != self.cpus:
                    self.wrong.append(f"{self.owner.name} has {sorted(now)} instead of {sorted(self.cpus)}")
                for one in self.neighbours:
                    may, ran = one.may(), one.ran()
                    if may & self.cpus or ran in self.cpus:
                        self.wrong.append(f"{one.name} may run on {sorted(may)}, ran on {ran}")
            except OSError as error:
                self.wrong.append(f"nobody can be looked at: {error}")
            self.samples += 1

    def stage(self, what):
        assert self.is_alive() and not self.wrong, f"{what}: {self.wrong[:3]} ({len(self.wrong)} of {self.samples} looks)"
        print(f"{what} ({self.samples} looks so far)", flush=True)

    def close(self):
        self.stopping.set()
        self.join()


def prove(node, roles, qos, neighbours):
    """`neighbours` must stay off the pod's CPUs."""
    create(node, whole(node, "whole", qos))
    owner = Container(node.wait_running("whole")["whole"])
    cpus = given(node, "whole")
    assert len(cpus) == 1, f"{qos}: {sorted(cpus)} were given for one CPU"
    wait_for(f"{qos}: its CPUs in its container", lambda: owner.told() == cpus, APPLIED)
    for one in neighbours:
        try:
            wait_for(f"{qos}: {one.name} has none of them", lambda one=one: not one.may() & cpus and one.ran() not in cpus, APPLIED)
        except AssertionError as error:
            raise AssertionError(f"{error}: {sorted(cpus)} are the pod's, {sorted(one.may())} its own, it ran on {one.ran()}") from None
    watch = Watch(owner, cpus, neighbours)
    try:
        for role, name in zip(roles, ("manager", "scheduler", "agent")):
            role.kill()
            time.sleep(0.5)
            watch.stage(f"{qos}: the {name} is dead")
            role.start()
            time.sleep(SETTLED)
            assert role.process.poll() is None, role.log_tail()
            watch.stage(f"{qos}: the {name} is back")
    finally:
        watch.close()
    assert not watch.wrong and watch.samples, watch.wrong[:3]
    assert given(node, "whole") == cpus
    # A scheduler that started anew knows whose they are. (On two CPUs this leaves the neighbours none.)
    create(node, whole(node, "second", qos))
    wait_for("a second one has others", lambda: node.get(f"{PODS}/second")["spec"].get("nodeName"), 30)
    assert not given(node, "second") & cpus, f"{sorted(given(node, 'second'))} are the first one's"
    assert owner.told() == cpus
    node.delete("second")
    node.delete("whole")
    for one in neighbours:
        wait_for(f"{qos}: {one.name} has them back", lambda one=one: cpus <= one.may(), APPLIED)


def main():
    reason = missing()
    if reason:
        skip(reason)
    if len(os.sched_getaffinity(0)) < 2:
        skip("whoever has a CPU of a machine that has one leaves nobody any")
    skip_without_role()
    with Unchanged(), RealNode() as node:
        roles = loop_node_test.start_roles(node)
        try:
            wait_for("the machine's report", lambda: any(
                "node.koordinator.sh/cpu-topology" in one["metadata"].get("annotations", {}) for one in node.get(TOPOLOGIES)["items"]), 60)
            for qos, priority in (("LS", "koord-prod"), ("BE", "koord-batch")):
                pod = node.pod(qos.lower(), BURN, qos)
                pod["spec"]["priorityClassName"] = priority
                if qos == "LS":
                    pod["spec"]["containers"][0]["resources"] = {"requests": {"memory": "16Mi"}}  # Burstable, with no CPU set aside
                create(node, pod)
            pods = node.wait_running("ls", "be")
            ls, be = Container(pods["ls"]), Container(pods["be"])
            prove(node, roles, "LSR", [ls])
            prove(node, roles, "LSE", [ls, be])
            told = "".join(role.log_tail(1000) for role in roles)
            assert "forbidden" not in told, "a role was refused something"
        except AssertionError as error:
            raise AssertionError(f"{error}\n{''.join(role.log_tail() for role in roles)}") from None
        finally:
            for role in roles:
                role.kill()
            roles[-1].cleanup()
    print("whole CPUs on a real node: passed")


if __name__ == "__main__":
    main()
