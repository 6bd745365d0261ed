#!/usr/bin/env python3
"""The original runtime proxy swapped for koord's and back under a real kubelet, at one socket, with one folder of hook servers: pods go
on as they are, each proxy asks the hook server for what starts under it, and koord's asks for what the original started, too. Needs
the originals; no part of CI. 2 minutes.

KOORDINATOR_BIN names the folder with `koord-runtime-proxy`.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import skip_without_role, wait_for  # noqa: E402
from cri.hook_server import HookServer, echo  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from real_node import PODS, RealNode, missing  # noqa: E402
from runtime_proxy import OriginalProxy, RuntimeProxy  # noqa: E402

import originals  # noqa: E402

BIRTH = {"PreRunPodSandbox", "PreCreateContainer", "PreStartContainer", "PostStartContainer"}
END = {"PostStopContainer", "PostStopPodSandbox"}


class SwappedNode(RealNode):
    """Its kubelet asks one socket, at which the one proxy or the other serves."""

    def start_containerd(self):
        super().start_containerd()
        self.theirs = OriginalProxy(self, self.containerd.socket)
        self.ours = RuntimeProxy(self, self.containerd.socket)
        self.ours.command = [word.replace(self.ours.socket, self.theirs.socket).replace(self.ours.hooks, self.theirs.hooks)
                             for word in self.ours.command]
        self.asked = collections.defaultdict(set)  # by pod, the stages
        self.hooks = HookServer(os.path.join(self.dir, "hooks.sock"), self.answer)
        self.hooks.start()
        self.hooks.register(self.theirs.hooks)
        self.theirs.start()
        self.kubelet_flags = (f"--container-runtime-endpoint=unix://{self.theirs.socket}",)

    def answer(self, stage, request):
        self.asked[request.pod_meta.name].add(stage)
        return echo(stage, request)

    def delete_all(self):
        super().delete_all()
        self.hooks.stop()

    def running(self):
        """What a swap must not change: the containers, since when they run, and how often they were started."""
        found = {}
        for pod in self.get(PODS)["items"]:
            for status in pod["status"].get("containerStatuses", []):
                found[pod["metadata"]["name"]] = (status["containerID"], status["restartCount"], status["state"].get("running"))
        return found


def make(node, *names):
    """Pods whose probe goes through the proxy, too, and would have them started again."""
    pods = [node.pod(name, "exec sleep 100000") for name in names]
    for pod in pods:
        pod["spec"]["containers"][0]["livenessProbe"] = {"exec": {"command": ["/bin/busybox", "true"]}, "periodSeconds": 1,
                                                         "timeoutSeconds": 5}
    node.apply(*pods)
    node.wait_running(*names)
    for name in names:
        assert BIRTH <= node.asked[name], f"{name}: asked for {node.asked[name]}"


def swap(node, old, new, what, of_before):
    """`of_before`: a pod that the old one started; it ends under the new one."""
    before = node.running()
    old.kill()
    new.start()
    make(node, f"{what}-stays", f"{what}-goes")
    now = node.running()
    assert {name: now[name] for name in before} == before, f"{what}: {before} became {now}"
    node.asked[of_before].clear()
    node.delete(of_before)
    try:
        wait_for(f"the end of {of_before} was hooked", lambda: END <= node.asked[of_before], 20)
    except AssertionError:
        pass  # the caller judges
    print(f"{what}: {len(before)} pods went on, two came; for one that the other had started it asked "
          f"{sorted(node.asked[of_before]) or 'nobody'}", flush=True)
    return node.asked[of_before]


def main():
    if reason := missing() or originals.missing("koord-runtime-proxy"):
        skip(reason)
    skip_without_role()
    with Unchanged(), SwappedNode() as node:
        try:
            make(node, "first-stays", "first-goes")
            assert END <= swap(node, node.theirs, node.ours, "koord", "first-goes"), "koord lost what the original knew of a pod"
            swap(node, node.ours, node.theirs, "original", "koord-goes")  # what it forgets is its own affair
        except AssertionError as error:
            raise AssertionError(f"{error}\nkoord:\n{node.log_tail('proxy') if 'proxy' in node.processes else 'not begun'}\n"
                                 f"original:\n{node.log_tail(node.theirs.name)}") from None
    print("swap of proxies: passed")


if __name__ == "__main__":
    main()
