#!/usr/bin/env python3
"""The loop for real: manager, scheduler and node agent, each a process with its own service account, on a real API server,
kubelet and containerd. What is not used is lent, plain pods are made best-effort ones by a profile, placed on it and run;
they are slowed when latency-sensitive work burns and less is lent; each role dies at random moments and comes back. Never is
more bound than was lent, nor best-effort work let loose.

usage: loop_node_test.py [SEED]
"""
import os
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protection  # noqa: E402
from agent import KOORD, Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group, is_v2  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import lent_cpus  # noqa: E402
from real_node import PODS, RealNode, free_port, missing  # noqa: E402

import kube_api  # noqa: E402 (node_slo has put support/ on the path)
from installed import Installed  # noqa: E402

BURN = "while :; do :; done"
ONE = 150 * os.cpu_count()  # milli-CPUs that a best-effort pod asks for
BE_PODS = 8                 # more than the machine has
MID, MID_MEMORY = 200, 64   # milli-CPUs and MiB that a mid pod asks for
MID_REQUESTS = {"kubernetes.io/mid-cpu": str(MID), "kubernetes.io/mid-memory": f"{MID_MEMORY}Mi"}
SEEN_LATE = 5               # seconds: a scheduler's view of the node, and the record's of a binding, are so old at most
KILL_SECONDS = 25
COLOCATION = ('{"enable": true, "metricAggregateDurationSeconds": 60, "metricReportIntervalSeconds": 2, '
              '"cpuReclaimThresholdPercent": 100, "metricAggregatePolicy": {"durations": ["1m"]}, '
              '"midReclaimMode": "static", "midStaticCPUReservedPercent": 20, "midStaticMemoryReservedPercent": 20}')
THRESHOLD = ('{"clusterStrategy": {"enable": true, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 60}}')

PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"

def profile(tier, qos, priority):
    return {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": tier},
            "spec": {"selector": {"matchLabels": {"tier": tier}}, "qosClass": qos, "priorityClassName": priority,
                     "schedulerName": "koord-scheduler"}}


class Process:
    """A role that leads at once, since nobody else wants the lease."""

    def __init__(self, node, role, *flags, **variables):
        self.node, self.log, self.env = node, os.path.join(node.dir, f"{role}.log"), {**os.environ, **variables}
        self.command = [KOORD, f"--role={role}", *flags]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        self.node.janitor.process(self.process.pid)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def log_tail(self, lines=25):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])


class Record(threading.Thread):
    """What the node lends, who is bound to it, and what the best-effort tier may use, five times a second."""

    def __init__(self, node, be):
        super().__init__(daemon=True)
        self.node, self.be, self.points, self.ended = node, be, [], threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.2):
            bound = {pod["metadata"]["uid"] for pod in self.node.get(PODS)["items"]
                     if pod["spec"].get("nodeName") and pod["metadata"]["name"].startswith("be-")
                     and pod["status"]["phase"] not in ("Succeeded", "Failed")}
            self.points.append((time.monotonic(), lent_cpus(self.node) or 0.0, bound, self.be.quota_cpus()))

    def stop(self):
        self.ended.set()
        self.join()

    def judge(self):
        """Every binding was within what was lent when it was made; from the first limit on there always was one."""
        self.stop()
        assert self.points[-1][0] > time.monotonic() - 15, "the record broke off"
        before, bindings, limited = set(), 0, False
        for when, _, bound, quota in self.points:
            if bound - before:
                bindings += len(bound - before)
                lent = max(point[1] for point in self.points if when - SEEN_LATE <= point[0] <= when)
                assert len(bound) * ONE / 1000 <= lent + 0.001, f"{len(bound)} pods of {ONE}m are bound, lent were {lent:.2f} CPUs"
            before = bound
            assert not limited or quota is not None, "best-effort work was let loose"
            limited |= quota is not None
        most = max(lent for _, lent, _, _ in self.points)
        assert most <= os.cpu_count(), "more was lent than there is"
        print(f"{bindings} bindings, never more than was lent (at most {most:.2f} CPUs)", flush=True)


def create(node, pod):
    """As soon as a manager answers the API server's question: without one no pod is made."""
    def done():
        try:
            node.apply(pod)
        except kube_api.ApiError as error:
            assert error.status == 500 and "failed calling webhook" in str(error), error
            return False
        return True
    wait_for(f"the pod {pod['metadata']['name']} is admitted", done, 30)


def plain(node, name, tier="be", command=BURN, milli_cpu=ONE):
    """A pod whose owner knows nothing of Koordinator but the label that the profile asks for."""
    pod = node.pod(name, command, "LS", milli_cpu, labels={"tier": tier})
    del pod["spec"]["nodeName"], pod["metadata"]["labels"]["koordinator.sh/qosClass"]
    return pod


def start_roles(node):
    installed = Installed(node.kubeconfig, node.dir)
    os.makedirs(os.path.join(node.dir, "var-run"))
    roles = [
        # API servers here know no services, so that they are told an address.
        Process(node, "manager", f"--kubeconfig={installed.account('koord-manager')}", "--enable-leader-election=false",
                "--metrics-addr=0", "--health-probe-addr=0", f"--webhook-port={free_port()}", WEBHOOK_HOST="127.0.0.1",
                WEBHOOK_CERT_WRITER="secret", WEBHOOK_CERT_DIR=os.path.join(node.dir, "certificates")),
        Process(node, "scheduler", f"--kubeconfig={installed.account('koord-scheduler')}",
                f"--config={installed.scheduler_config()}", "--leader-elect=false", "--port=0", "--secure-port=0", "--v=2"),
        Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={installed.account('koordlet')}",
              f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run",
              "--kubelet-sync-interval=2s", env={"NODE_NAME": node.name}),
    ]
    for role in roles:
        role.start()
    for one in (profile("be", "BE", "koord-batch"), profile("mid", "LS", "koord-mid")):
        node.api.connect().request("POST", PROFILES, one)
    wait_for("a manager that answers the API server", lambda: configured(installed), 30)
    return roles


def configured(installed):
    try:
        installed.configure(colocation_config=COLOCATION, resource_threshold_config=THRESHOLD)
    except kube_api.ApiError as error:
        assert error.status == 500, error
        return False
    return True


def held(group):
    """Its weight as shares of cgroup v1, and whether it has a quota."""
    if is_v2():
        weight = int(group.read("cpu", "cpu.weight"))
        return 2 + (weight - 1) * 262142 // 9999, group.quota_cpus()
    return int(group.read("cpu", "cpu.shares")), group.quota_cpus()


def prove_limits(node, names, milli_cpu, requests):
    """Each asks for `requests`, and has the weight for it; no quota of its own, since the tier has one as a whole."""
    asked = max(2, milli_cpu * 1024 // 1000)
    for name in names:
        pod = node.get(f"{PODS}/{name}")
        resources = pod["spec"]["containers"][0]["resources"]
        assert resources["requests"] == requests, f"{name} asks for {resources}"
        group = Group(f"kubepods/besteffort/pod{pod['metadata']['uid']}")
        container = Group(os.path.join(group.relative, pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]))
        for one in (group, container):
            shares, quota = wait_for(f"{name}: what it asked for",
                                     lambda one=one: (lambda now: abs(now[0] - asked) < 30 and now)(held(one)), 10)
            assert quota is None, f"{name} has {shares} shares and {quota} CPUs"
            if "kubernetes.io/mid-memory" in requests:
                limit = one.read("memory", "memory.max" if is_v2() else "memory.limit_in_bytes")
                assert limit == str(MID_MEMORY << 20), f"{name} may use {limit} bytes of memory"


def prove_mid(node):
    """A fixed share of the node is lent to mid pods; one lives in it, with what it asked for as its limits."""
    wait_for("the node lends mid CPUs", lambda: (lent_cpus(node, "mid") or 0) >= MID / 1000, 30)
    pod = plain(node, "mid", "mid", "sleep 1000", MID)
    resources = pod["spec"]["containers"][0]["resources"]
    resources["requests"]["memory"] = f"{MID_MEMORY}Mi"
    resources["limits"] = resources["requests"]
    create(node, pod)
    node.wait_running("mid")
    prove_limits(node, ["mid"], MID, MID_REQUESTS)


def bound(node):
    return [pod["metadata"]["name"] for pod in node.get(PODS)["items"]
            if pod["spec"].get("nodeName") and pod["metadata"]["name"].startswith("be-")]


def kill_at_random(node, roles, dice):
    """And while they die pods come and go."""
    end, kills = time.monotonic() + KILL_SECONDS, 0
    create(node, node.pod("ls", BURN, "LS", 500))
    while time.monotonic() < end:
        role = dice.choice(roles)
        role.kill()
        time.sleep(dice.uniform(0.05, 1))
        if dice.random() < 0.3 and (names := bound(node)):
            node.delete(dice.choice(names))
        role.start()
        if dice.random() < 0.3:
            create(node, plain(node, f"be-late-{kills}"))
        time.sleep(dice.uniform(0.2, 2))
        kills += 1
    return kills


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else int(time.time())
    reason = missing()
    if reason:
        skip(reason)
    skip_without_role()
    print(f"seed {seed}", flush=True)
    with Unchanged(), RealNode() as node:
        protection.wait_quiet([Group("kubepods")], allowed=0.5)  # kubelet, API server, etcd and containerd are at work
        roles = start_roles(node)

        def told():
            return "".join(role.log_tail() for role in roles)

        be = Group("kubepods/besteffort")
        record = Record(node, be)
        try:
            wait_for("the node lends CPUs", lambda: (lent_cpus(node) or 0) >= 0.8, 60)
            free = lent_cpus(node)
            for i in range(BE_PODS):
                create(node, plain(node, f"be-{i}"))
            names = wait_for("pods are placed on what is lent", lambda: len(bound(node)) >= 2 and bound(node), 30)
            node.wait_running(*names)
            prove_limits(node, names, ONE, {"kubernetes.io/batch-cpu": str(ONE)})
            prove_mid(node)
            wait_for("best-effort work is limited", lambda: be.quota_cpus() is not None, 30)
            time.sleep(3)
            idle = protection.Watch(be, None, 4)
            print(f"{free:.2f} CPUs were lent; {len(bound(node))} of {BE_PODS} pods run on them: {idle}", flush=True)
            assert len(bound(node)) < BE_PODS, "more pods were placed than fit"
            assert idle.be > 0.5 * idle.quota, "best-effort work does not use what it is given"

            kills = kill_at_random(node, roles, random.Random(seed))
            wait_for("it lends less", lambda: (lent_cpus(node) or 0) <= free - 0.4, 60)
            wait_for("best-effort work may use less", lambda: be.quota_cpus() <= max(protection.SMALLEST_QUOTA, idle.quota - 0.5) + 0.001, 30)
            low, busy = lent_cpus(node) or 0, protection.Watch(be, None, 4)
            print(f"with LS load and after {kills} deaths {low:.2f} are lent: {busy}", flush=True)
            assert busy.be < 0.75 * idle.be, "best-effort work was not slowed"
            node.delete("ls")
            wait_for("it lends more again", lambda: (lent_cpus(node) or 0) >= low + 0.3, 90)
            wait_for("best-effort work gets its CPUs back", lambda: be.quota_cpus() >= idle.quota - 0.4, 60)
            prove_limits(node, ["mid"], MID, MID_REQUESTS)
            record.judge()
            assert "forbidden" not in told(), "a role was refused something"
            for role in roles:
                assert role.process.poll() is None, "a role ended by itself"
        except AssertionError as error:
            raise AssertionError(f"{error}\n{told()}") from None
        finally:
            record.stop()
            for role in roles:
                role.kill()
            roles[-1].cleanup()  # what is throttled would take long to end
    print("the loop on a real node: passed")


if __name__ == "__main__":
    main()
