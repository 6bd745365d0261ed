#!/usr/bin/env python3
"""A kubelet behind koord's proxy with the agent as a hook server that must answer; for a minute pods come and go, while proxy,
containerd and agent are killed at any moment, alone or together, and come back in either order. No first instruction sees
other values; what the kubelet was told that worked has worked; and in the end the proxy knows of nothing that is not there.
No part of CI."""
import collections
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import containerd  # noqa: E402
from agent import skip_without_role, wait_for  # noqa: E402
from births import CLASSES, FILES, birth, first_seen, wait_right, wave, wrong_births  # noqa: E402
from cri.client import Cri, grpc  # noqa: E402
from cri_tap import CHANGING, Tap, name_of  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import define  # noqa: E402
from proxied_node_test import ProxiedNode, agent_of  # noqa: E402
from real_node import PODS, missing  # noqa: E402

CHURN_SECONDS, AT_ONCE, CALM_SECONDS = 60, 8, 240


class Killer(threading.Thread):
    """What it kills is away for up to two seconds; nothing that depends on time alone is asked of anybody meanwhile."""

    def __init__(self, node, agent, seed):
        super().__init__()
        self.parts = {"proxy": (node.proxy.kill, lambda: node.proxy.stage.spawn(node.proxy.name, *node.proxy.command)),
                      "containerd": (node.containerd.kill, node.containerd.start), "agent": (agent.kill, agent.start)}
        self.random, self.over, self.kills, self.failed = random.Random(seed), threading.Event(), collections.Counter(), None

    def run(self):
        try:
            while not self.over.wait(self.random.uniform(1, 5)):
                chosen = self.random.choice((["proxy"], ["containerd"], ["agent"], ["proxy", "containerd"], ["containerd", "proxy"],
                                             ["proxy", "agent"], ["containerd", "proxy", "agent"]))
                for name in chosen:
                    self.parts[name][0]()
                    self.kills[name] += 1
                    self.over.wait(self.random.uniform(0, 0.2))
                for name in self.random.sample(chosen, len(chosen)):
                    self.over.wait(self.random.uniform(0, 1))
                    self.parts[name][1]()
        except BaseException as error:  # pylint: disable=broad-except; it is the test's failure
            self.failed = error


class Churn:
    """Pods of all classes come and go; what each container saw first is kept before its pod goes."""

    def __init__(self, node):
        self.node, self.made, self.seen, self.wrong = node, 0, 0, {}

    def pods(self):
        return {pod["metadata"]["name"]: pod for pod in self.node.get(PODS)["items"]}

    def look(self, names):
        """Those whose logs are whole: what a container says while containerd is away nobody writes down."""
        pods = self.pods()
        whole = [name for name in names if name in pods and len(first_seen(self.node, pods[name])) == len(FILES)]
        self.wrong.update(wrong_births(self.node, whole))
        self.seen += len(whole)

    def step(self):
        pods = {name: pod for name, pod in self.pods().items() if name.startswith("churn-")}
        run = [name for name, pod in pods.items() if "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] == "Running"]
        self.look(run[:AT_ONCE // 2])
        connection = self.node.api.connect()
        for name in run[:AT_ONCE // 2]:
            connection.request("DELETE", f"{PODS}/{name}")
        for _ in range(AT_ONCE - len(pods)):
            kind = CLASSES[self.made % len(CLASSES)]
            self.node.apply(birth(self.node, f"churn-{kind}-{self.made}", kind))
            self.made += 1


def outcome(call):
    """What of a call stays the same where hooks change its request: who came of it, or whom it was about."""
    made = name_of(call) in ("RunPodSandbox", "CreateContainer")
    return (name_of(call), call.replies) if made else (name_of(call), () if name_of(call) == "UpdateContainerResources" else call.requests)


def unfounded(before, behind):
    """What the kubelet was told has worked, and no runtime has said so."""
    told, done = (collections.Counter(outcome(call) for call in list(tap.calls) if call.code == grpc.StatusCode.OK and name_of(call) in CHANGING)
                  for tap in (before, behind))
    return sum(told.values()), list((told - done).elements())


def known_of(proxy):
    return proxy.metric("koord_runtimeproxy_known")


def there(node):
    cri = Cri(node.containerd.socket)
    try:
        return len(cri.ListPodSandbox().items) + len(cri.ListContainers().containers)
    finally:
        cri.close()


def prove(node, agent, seed):
    behind = Tap(os.path.join(node.dir, "behind.sock"), node.containerd.socket)
    node.proxy.kill()
    node.proxy.lead_to(behind.socket)
    node.proxy.start()
    inside = f"/proc/{node.processes['namespace'].pid}/root{node.proxy.socket.replace('/var/run/', '/run/')}"
    before = Tap(os.path.join(node.dir, "before.sock"), inside)
    node.point_kubelet_at(before.socket)
    node.wait_ready()
    agent.start_and_wait()
    wait_for("the proxy knows of it", lambda: node.proxy.metric("koord_runtimeproxy_hook_files") == 1, 60)
    kept = wave(node, "first", len(CLASSES))  # the pods that decide who shares which CPU
    node.wait_running(*kept)
    wait_right(node, kept, 60)
    killer, churn = Killer(node, agent, seed), Churn(node)
    killer.start()
    end = time.monotonic() + CHURN_SECONDS
    try:
        while time.monotonic() < end and killer.is_alive():
            churn.step()
            time.sleep(1)
    finally:
        killer.over.set()
        killer.join()
    if killer.failed:
        raise killer.failed
    wait_for("the proxy is back", node.proxy.ready, 60)
    left = [name for name, pod in churn.pods().items() if name.startswith("churn-") and "deletionTimestamp" not in pod["metadata"]]
    node.wait_running(*left, seconds=CALM_SECONDS)
    churn.look(left)
    node.delete_all()
    told, wrong = unfounded(before, behind)
    print(f"killed {dict(killer.kills)}, seed {seed}: {churn.made} pods, {churn.seen} looked at, {len(churn.wrong)} first instructions saw "
          f"other values; {told} changes that the kubelet was told of, {len(wrong)} of them unfounded", flush=True)
    assert not churn.wrong, churn.wrong
    assert not wrong, wrong[:5]
    assert churn.seen > 10 and told > 50, "the churn stood still"
    # What is left of pods the kubelet clears away itself, once a minute.
    wait_for("the proxy knows of what is there", lambda: known_of(node.proxy) == there(node), CALM_SECONDS)
    print(f"the proxy knows of {known_of(node.proxy):.0f}, which is what is there", flush=True)
    node.kill_kubelet()
    before.stop()
    behind.stop()
    node.kubelet_flags = ()
    node.start_kubelet()
    node.wait_ready()


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else random.randrange(1 << 31)
    if reason := missing(containerd.CURRENT):
        skip(reason)
    if (os.cpu_count() or 1) < 2:
        skip("two CPUs are wanted")
    skip_without_role()
    with Unchanged(), ProxiedNode(version=containerd.CURRENT, maxPods=250) as node:
        define(node)
        agent = agent_of(node, "Fail")
        try:
            prove(node, agent, seed)
        except AssertionError as error:
            raise AssertionError(f"{error}\nproxy:\n{node.log_tail('proxy')}\nseed {seed}") from None
        agent.stop()
    print("pods come and go while everything is killed: passed")


if __name__ == "__main__":
    main()
