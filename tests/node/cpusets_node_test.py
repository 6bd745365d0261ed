#!/usr/bin/env python3
"""Best-effort work on a real node never runs on a CPU that is exclusively somebody's, an LSE pod's or one that the kubelet's
static policy gave out, whatever happens to the agent: killed, restarted with suppression enabled, not enabled, with its gate
off and without a NodeSLO, with a kubelet that answers 403, cleaned up with and without the kubelet's answer. Looked at every
10 ms."""
import os
import subprocess
import sys
import threading
import time
import urllib.error

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import Agent, skip_without_role, wait_for  # noqa: E402
from host_tree import Group, is_v2  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import SLO, THRESHOLD, make_objects  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

EVERY, SETTLED = 0.01, 1.5  # seconds; SETTLED: longer than a tick
STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "200m"}}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
# All that the agent wants but the kubelet's answers.
RULES = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
         {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
         {"apiGroups": ["slo.koordinator.sh", "topology.node.k8s.io"], "resources": ["*"], "verbs": ["*"]}]


def cpus_of(text):
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


class Watch:
    """Every 10 ms: which CPUs the container of a best-effort pod may run on, and on which its process last ran."""

    def __init__(self, pod, exclusive):
        uid = pod["metadata"]["uid"]
        container = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
        self.group, self.exclusive = Group(f"kubepods/besteffort/pod{uid}/{container}"), exclusive
        self.pid = self.group.read("cpuset", "cgroup.procs").split()[0]
        self.samples, self.longest, self.wrong, self.what = 0, 0.0, [], ""
        self.stopping, self.thread = threading.Event(), threading.Thread(target=self.run, daemon=True)

    def cpus(self):
        return cpus_of(self.group.read("cpuset", "cpuset.cpus.effective" if is_v2() else "cpuset.cpus"))

    def run(self):
        before = time.monotonic()
        while not self.stopping.wait(EVERY):
            with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
                last = int(file.read().rsplit(")", 1)[1].split()[36])
            may = self.cpus()
            if self.exclusive in may or last == self.exclusive:
                self.wrong.append(f"{self.what}: may run on {sorted(may)}, ran on {last}")
            now = time.monotonic()
            self.samples, self.longest, before = self.samples + 1, max(self.longest, now - before), now

    def stage(self, what):
        """Says what was wrong so far, at once."""
        assert self.thread.is_alive() and not self.wrong, f"on CPU {self.exclusive}: {self.wrong[:3]}"
        self.what = what
        print(f"{what} ({self.samples} samples so far)", flush=True)

    def close(self):
        self.stopping.set()
        self.thread.join()


def powerless(node):
    """A kubeconfig of an account that the API server answers, and the kubelet does not."""
    connection = node.api.connect()
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    connection.request("POST", accounts, {"metadata": {"name": "powerless"}})
    connection.request("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "powerless"}, "rules": RULES})
    connection.request("POST", f"{RBAC}/clusterrolebindings", {
        "metadata": {"name": "powerless"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "powerless"},
        "subjects": [{"kind": "ServiceAccount", "name": "powerless", "namespace": "default"}]})
    token = connection.request("POST", f"{accounts}/powerless/token", {"spec": {}})["status"]["token"]
    path = os.path.join(node.dir, "powerless.kubeconfig")
    with open(node.kubeconfig, encoding="utf-8") as file:
        text = file.read().replace(f"token: {node.api.token}", f"token: {token}")
    with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
    return path


def not_ready(agent):
    try:
        agent.get("/readyz?verbose")
    except urllib.error.HTTPError as error:
        return error.read().decode()
    return ""


def is_ready(agent):
    assert agent.process.poll() is None, agent.log_tail()
    try:
        return bool(agent.get("/readyz"))
    except OSError:
        return False


def clean_up(agent, *flags):
    return subprocess.run([*agent.command, *flags], env=agent.env, capture_output=True, text=True, timeout=60)


def prove(node, static):
    exclusive = max(os.sched_getaffinity(0))
    make_objects(node)
    exact = node.pod("exact", "sleep 100000", "LSE", annotations={
        "scheduling.koordinator.sh/resource-status": f'{{"cpuset":"{exclusive}"}}'})
    if static:
        exact = node.pod("exact", "sleep 100000")
        del exact["metadata"]["labels"]
        amounts = {"cpu": "1", "memory": "64Mi"}
        exact["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    node.apply(exact)
    exact = node.wait_running("exact")["exact"]
    if static:
        container = exact["status"]["containerStatuses"][0]["containerID"].split("//")[1]
        given = cpus_of(Group(f"kubepods/pod{exact['metadata']['uid']}/{container}").read("cpuset", "cpuset.cpus"))
        assert len(given) == 1, f"the kubelet gave out {given}"
        exclusive, = given
    node.apply(node.pod("be", "while :; do :; done", "BE"))
    watch = Watch(node.wait_running("be")["be"], exclusive)

    def agent(kubeconfig, *flags):
        return Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={kubeconfig}",
                     f"--var-lib-kubelet-dir={node.kubelet_root}/", *flags, env={"NODE_NAME": node.name})

    def works(what, one):
        watch.stage(what)
        one.start_and_wait()
        wait_for(f"{what}: it knows the pods", lambda: is_ready(one), 30)
        time.sleep(SETTLED)

    first = agent(node.kubeconfig)
    first.start_and_wait()
    wait_for("best-effort work leaves the exclusive CPU", lambda: exclusive not in watch.cpus(), 30)
    time.sleep(SETTLED)
    watch.thread.start()
    try:
        watch.stage("the agent is killed")
        first.kill()
        time.sleep(SETTLED)
        works("it is restarted", first)
        first.kill()
        node.patch(f"{SLO}/nodeslos/{node.name}", {"spec": {"resourceUsedThresholdWithBE": {**THRESHOLD, "enable": False}}})

        refused = agent(powerless(node))
        watch.stage("the kubelet answers 403, and nothing is to be suppressed")
        refused.start_and_wait()
        wait_for("it says so", lambda: refused.said("status 403"), 30)
        time.sleep(2 * SETTLED)
        watch.stage("the node and its agent say so")
        assert "[-]kubelet" in not_ready(refused), not_ready(refused)
        wait_for("an event of the node", lambda: any(
            event["reason"] == "KubeletDoesNotAnswer" and event["regarding"]["name"] == node.name and "403" in event["note"]
            for event in node.api.list("/apis/events.k8s.io/v1/events")), 20)
        refused.kill()
        watch.stage("cleanup without the kubelet's answer")
        done = clean_up(refused, "--cleanup")
        assert done.returncode != 0 and "kubepods/besteffort" in done.stderr and "--cleanup=force" in done.stderr, \
            f"--cleanup: {done.returncode}: {done.stderr}"

        off = agent(node.kubeconfig, "--feature-gates=BECPUSuppress=false")
        works("its gate is off", off)
        off.kill()
        works("nothing is to be suppressed", first)
        first.kill()
        node.api.connect().request("DELETE", f"{SLO}/nodeslos/{node.name}")
        works("there is no NodeSLO", first)
        first.kill()
        watch.stage("cleanup")
        done = clean_up(first, "--cleanup")
        assert done.returncode == 0, f"--cleanup: {done.returncode}: {done.stderr}"
        time.sleep(SETTLED)
        watch.stage("done")
    finally:
        watch.close()
    assert watch.samples > 500, f"{watch.samples} samples"
    print(f"{'the static policy' if static else 'an LSE pod'}: {watch.samples} samples, {watch.longest * 1000:.0f} ms apart at most",
          flush=True)


def main():
    reason = missing()
    if reason:
        skip(reason)
    if len(os.sched_getaffinity(0)) < 2:
        skip("a machine of one CPU has none to give away")
    skip_without_role()
    with Unchanged():
        for static in (False, True):
            with RealNode(**(STATIC if static else {})) as node:
                prove(node, static)
    print("exclusive CPUs on a real node: passed")


if __name__ == "__main__":
    main()
