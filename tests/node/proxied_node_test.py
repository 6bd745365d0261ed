#!/usr/bin/env python3
"""A real kubelet, koord's proxy as its unit runs it, containerd 2, and koord's agent as the hook server: no container's first
instruction sees other values than its pod shall have. With Fail nothing starts while the agent is away, and all does when it is
back; with Ignore what started meanwhile is mended. Proxy, agent and containerd are killed; going back to containerd alone is a
restart of the kubelet, and pods go on. At last the kubelet's own calls, seen before the proxy and behind it with a hook server that
echoes, are the same to the byte. --long: 200 pods, containerd 2.2.1."""
import configparser
import os
import shlex
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import containerd  # noqa: E402
from agent import KOORD, TREE, Agent, skip_without_role, wait_for  # noqa: E402
from births import wait_right, wave, wrong_births, wrong_now  # noqa: E402
from cri_tap import Tap, differences, name_of  # noqa: E402
from cri.hook_server import HookServer  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import define  # noqa: E402
from real_node import PODS, RealNode, free_port, missing  # noqa: E402
from runtime_proxy import RuntimeProxy  # noqa: E402

UNIT, DROP_IN = (os.path.join(TREE, "packaging", name) for name in ("koord-runtime-proxy.service", "kubelet-through-proxy.conf"))
AWAY_SECONDS = 6   # in which the kubelet would have started a pod more than once
MENDED_SECONDS = 10  # after the agent's return; what it took is printed


def setting(path, name):
    """A unit's, with lines that go on joined."""
    with open(path, encoding="utf-8") as file:
        unit = configparser.RawConfigParser(strict=False, delimiters="=")
        unit.optionxform = str
        unit.read_string("\n".join(line for line in file.read().replace("\\\n", " ").splitlines() if not line.startswith("#")))
    return shlex.split(unit["Service"][name])


class UnitProxy(RuntimeProxy):
    """ExecStart as it is, at the unit's own paths within the stage; where hooks are named and how it is seen is the test's."""

    def __init__(self, stage):
        super().__init__(stage, stage.containerd.socket)
        program, *words = setting(UNIT, "ExecStart")
        assert program == "/usr/bin/koord"
        self.socket = next(word.split("=")[1] for word in words if word.startswith("--koord-runtimeproxy-endpoint="))
        self.backend = next(word.split("=")[1] for word in words if word.startswith("--remote-runtime-service-endpoint="))
        self.lead_to(stage.containerd.socket)
        self.command = [KOORD, *words, f"--hook-config-dir={self.hooks}", f"--addr=127.0.0.1:{self.port}"]


    def lead_to(self, socket):
        """What the unit names as its back end is this one."""
        done = self.stage.run("sh", "-c", f"mkdir -p $(dirname {self.backend}) && ln -sfn {socket} {self.backend}")
        assert done.returncode == 0, done.stderr


class ProxiedNode(RealNode):
    """Its kubelet asks the proxy, by the drop-in's flag."""

    def start_containerd(self):
        super().start_containerd()
        self.proxy = UnitProxy(self)
        self.proxy.start()
        arguments, = setting(DROP_IN, "Environment")
        self.kubelet_flags = shlex.split(arguments.removeprefix("KUBELET_EXTRA_ARGS="))
        assert self.kubelet_flags == [f"--container-runtime-endpoint=unix://{self.proxy.socket}"], arguments

    def go_back(self):
        self.point_kubelet_at()

    def point_kubelet_at(self, socket=None):
        self.kill_kubelet()
        self.kubelet_flags = (f"--container-runtime-endpoint=unix://{socket}",) if socket else ()
        self.start_kubelet()


def agent_of(node, policy):
    folder = os.path.join(node.dir, "agent")
    socket = os.path.join(folder, "hooks.sock")
    return Agent(node.janitor, folder, free_port(), f"--kubeconfig={node.kubeconfig}",
                 f"--var-lib-kubelet-dir={node.kubelet_root}", f"--runtime-hooks-addr={socket}",
                 f"--containerd-endpoint={node.containerd.socket}",
                 f"--runtime-hooks-host-endpoint={socket}", f"--runtime-hooks-config-path={node.proxy.hooks}",
                 f"--runtime-hooks-failure-policy={policy}", "--runtime-hooks-plugin-failure-policy=" + policy,
                 env={"NODE_NAME": node.name})


def born_right(node, what, names):
    node.wait_running(*names, seconds=300)
    wrong = wrong_births(node, names)
    print(f"{what}: {len(names)} pods, {len(wrong)} first instructions saw other values", flush=True)
    assert not wrong, wrong
    wrong = wrong_now(node, names)
    assert not wrong, f"later: {wrong}"


def prove_fail(node, count):
    agent = agent_of(node, "Fail")
    agent.start_and_wait()
    wait_for("the proxy knows of it", lambda: node.proxy.metric("koord_runtimeproxy_hook_files") == 1, 30)
    kept = wave(node, "first", 4)  # the pods that decide who shares which CPU
    node.wait_running(*kept)
    wait_right(node, kept, MENDED_SECONDS)
    born_right(node, "with Fail", wave(node, "fail", count))
    agent.kill()
    waiting = wave(node, "away", 4)
    time.sleep(AWAY_SECONDS)
    states = [pod["status"]["phase"] for pod in node.get(PODS)["items"] if pod["metadata"]["name"] in waiting]
    assert states == ["Pending"] * 4, f"while the agent is away: {states}"
    assert node.proxy.metric("koord_runtimeproxy_refused_total") > 0
    node.proxy.kill()  # it knows nothing of that any more, but who has to be asked
    node.proxy.start()
    agent.start_and_wait()
    born_right(node, "refused while the agent was away, tried again", waiting)
    agent.stop()
    return kept


def prove_ignore(node):
    agent = agent_of(node, "Ignore")
    agent.start_and_wait()
    born_right(node, "with Ignore", wave(node, "ignore", 4))
    agent.kill()
    unpinned = wave(node, "unpinned", 4)
    node.wait_running(*unpinned)
    wrong, counted = wrong_births(node, unpinned), node.proxy.metric("koord_runtimeproxy_unhooked_total")
    assert wrong and counted >= 4, f"without the agent: {wrong}, counted {counted}"
    agent.start_and_wait()
    began = time.monotonic()
    wait_right(node, unpinned, MENDED_SECONDS)
    print(f"{len(wrong)} of 4 started with other values: mended {time.monotonic() - began:.2f} s after the agent's return", flush=True)
    return agent


def prove_going_back(node, names):
    def running():
        return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["containerID"] for pod in node.get(PODS)["items"]
                if pod["metadata"]["name"] in names}

    before = running()
    node.containerd.kill()
    node.containerd.start()
    wait_for("the proxy has containerd back", node.proxy.ready, 60)
    born_right(node, "after containerd was killed", wave(node, "again", 4))
    node.go_back()
    node.proxy.kill()
    node.wait_ready()
    later = wave(node, "later", 4)
    node.wait_running(*later)
    ran, wrong = time.monotonic(), wrong_now(node, later)
    wait_right(node, later, 60)  # by the reconciler, whom the runtime tells of what starts
    print(f"without the proxy: {len(wrong)} of 4 had other values when the kubelet said that they run, "
          f"right {time.monotonic() - ran:.2f} s later", flush=True)
    assert running() == before, "going back has cost containers"
    print("the kubelet speaks to containerd again: all containers go on, new ones start", flush=True)


def prove_bytes(node):
    for name in os.listdir(node.proxy.hooks):
        os.unlink(os.path.join(node.proxy.hooks, name))
    echo = HookServer(os.path.join(node.dir, "echo.sock"))
    echo.start()
    echo.register(node.proxy.hooks)
    behind = Tap(os.path.join(node.dir, "behind.sock"), node.containerd.socket)
    node.proxy.lead_to(behind.socket)
    node.proxy.start()
    # The unit's path within the stage's namespace, seen from outside, where /var/run is a link.
    inside = f"/proc/{node.processes['namespace'].pid}/root{node.proxy.socket.replace('/var/run/', '/run/')}"
    before = Tap(os.path.join(node.dir, "before.sock"), inside)
    try:
        node.point_kubelet_at(before.socket)
        node.wait_ready()
        pods = [node.pod(f"bytes-{at}", "exec sleep 100000") for at in range(3)]
        pods[0]["spec"]["containers"][0]["livenessProbe"] = {"exec": {"command": ["/bin/busybox", "true"]}, "periodSeconds": 1}
        pods[1]["spec"]["containers"][0]["args"] = ["exit 1"]  # begun again and again
        node.apply(*pods)
        node.wait_running("bytes-0", "bytes-2")
        seen = set()

        def all_seen():
            seen.update(name_of(call) for call in list(before.calls))
            return {"RunPodSandbox", "CreateContainer", "StartContainer", "ExecSync", "ContainerStatus", "PodSandboxStatus"} <= seen

        wait_for("the kubelet's calls", all_seen, 60)
        node.delete("bytes-2")
        wait_for("its end", lambda: any(name_of(call) == "StopPodSandbox" for call in list(before.calls)), 60)
        node.kill_kubelet()
        wait_for("the calls' ends", lambda: before.quiet() and behind.quiet(), 60)
        wrong = differences(before, behind)
        asked = sum(echo.counts.values())
        print(f"the kubelet's calls: {len(before.calls)} of {len({name_of(call) for call in before.calls})} methods, "
              f"{sum(len(part) for call in before.calls for part in call.requests + call.replies)} bytes, the echo asked {asked} times, "
              f"{len(wrong)} differences", flush=True)
        assert asked > 0, "nothing was hooked"
        assert not wrong, [(name_of(call), call.code, call.details) for call in wrong[:5]]
        node.kubelet_flags = ()
        node.start_kubelet()
        node.wait_ready()
    finally:
        before.stop()
        behind.stop()
        echo.stop()


def main():
    long = "--long" in sys.argv
    version = containerd.NEWEST if long else containerd.CURRENT
    if reason := missing(version):
        skip(reason)
    if (os.cpu_count() or 1) < 2:
        skip("two CPUs are wanted")
    skip_without_role()
    with Unchanged(), ProxiedNode(version=version, maxPods=250) as node:
        define(node)
        try:
            kept = prove_fail(node, 200 if long else 30)
            agent = prove_ignore(node)
            prove_going_back(node, kept)
            agent.stop()
            prove_bytes(node)
        except AssertionError as error:
            agent_log = os.path.join(node.dir, "agent", "agent.log")
            with open(agent_log, encoding="utf-8", errors="replace") as file:
                tail = "".join(file.readlines()[-15:])
            raise AssertionError(f"{error}\nproxy:\n{node.log_tail('proxy')}\nagent:\n{tail}") from None
    print("a kubelet behind the proxy: passed")


if __name__ == "__main__":
    main()
