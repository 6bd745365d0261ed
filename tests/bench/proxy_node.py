#!/usr/bin/env python3
"""What koord's proxy adds to the calls of a kubelet, beside a bare gRPC hop and, where KOORDINATOR_BIN has it, the original's
proxy: all in turns within one run. What gRPC itself takes is beside them: a plain gRPC server that passes every call on with a
plain gRPC client, which is a hop more and nothing else; a call with a hook has the hop to the hook server besides. The answers are containerd's own, taken down once (100 containers) and said by a plain
gRPC server, so that only what lies between is measured; everything else goes on to containerd."""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("node", "support"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))
import cri_stage  # noqa: E402
import originals  # noqa: E402
from agent import Agent  # noqa: E402
from cri.client import Cri, definition, methods  # noqa: E402
from cri import hook_server  # noqa: E402
from cri.hook_server import SERVICE, STAGES, HookServer  # noqa: E402
from cri.specs import World  # noqa: E402
from janitor import skip  # noqa: E402
from runtime_proxy import OriginalProxy, RuntimeProxy  # noqa: E402
from sandbox import Sandbox, free_port, wait_for  # noqa: E402

BENCH = os.path.join(HERE, "..", "..", "build", "tests", "bench", "proxy_bench")
PODS, EACH, CALLS = 10, 10, 2000
BULK = "/runtime.v1.RuntimeService/OfAMebibyte"
UPDATE, CREATE = "UpdateContainerResources", "CreateContainer"


def cpu_seconds(pid):
    """Of all its threads, to the nanosecond."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        found = dict(line.split(":", 1) for line in file)
    return [int(found[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")]


class Bench:
    def __init__(self, stage):
        self.stage, self.folder = stage, os.path.join(stage.dir, "bench")
        os.mkdir(self.folder)
        self.back_end = os.path.join(self.folder, "backend.sock")
        self.hooks = HookServer(os.path.join(self.folder, "hooks.sock"))
        self.relay = os.path.join(self.folder, "relay.sock")
        self.requests, self.proxies = {}, {}

    def file(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def serve(self, name, socket, backend, answers):
        self.stage.spawn(name, BENCH, "serve", socket, backend, *(f"{method}={path}" for method, path in answers.items()))
        wait_for(f"{name} serves", lambda: os.path.exists(socket), 30)

    def take_down(self):
        """100 containers, and what containerd says of them."""
        cri, api = Cri(self.stage.socket), definition()
        world = World(cri, self.stage.place)
        host = {"security_context": {"namespace_options": {"network": 2}}}
        envs = [{"key": f"SERVICE_{number}", "value": f"10.0.0.{number}"} for number in range(20)]
        config = {"resources": {"cpu_period": 100000, "cpu_quota": 50000, "cpu_shares": 512, "memory_limit_in_bytes": 1 << 30}}
        for number in range(PODS):
            pod = world.sandbox(labels={"app": f"app-{number}"}, annotations={"a": "b" * 200}, linux={**host})
            made = [pod.create(linux=config, envs=envs, labels={"io.kubernetes.container.name": f"main-{at}"})
                    for at in range(EACH)]
        # A row begins as the kubelet's own call does; the container is there, so that the proxy knows it.
        requests = {
            "Version": api.VersionRequest(version="0.1.0"), "ListContainers": api.ListContainersRequest(),
            UPDATE: api.UpdateContainerResourcesRequest(container_id=made[0], linux={"cpu_quota": 60000, "cpu_shares": 256}),
            CREATE: api.CreateContainerRequest(pod_sandbox_id=pod.id, sandbox_config=pod.config, config={
                "metadata": {"name": "measured"}, "image": {"image": world.image}, "envs": envs, "linux": config,
                "labels": {"io.kubernetes.container.name": "measured"}})}
        answers = {}
        for name, request in requests.items():
            data = request.SerializeToString()
            self.requests[name] = self.file(f"{name}.request", data)
            if name == CREATE:
                reply = api.CreateContainerResponse(container_id=made[0]).SerializeToString()
            else:
                reply = cri.raw(methods()[name][0], data)[0]
            answers[methods()[name][0]] = self.file(f"{name}.reply", reply)
        answers[BULK] = self.file("bulk.reply", b"x" * (1 << 20))
        self.requests["bulk"] = self.file("bulk.request", b"")
        self.serve("backend", self.back_end, self.stage.socket, answers)
        self.serve("relay", self.relay, self.back_end, {})
        cri.close()

    def start(self):
        # Nothing said is the fastest answer: what is measured is the way to it.
        nothing = self.file("nothing", b"")
        self.serve("hooks", self.hooks.socket, self.back_end, {f"/{SERVICE}/{stage}Hook": nothing for stage in STAGES})
        self.proxies["koord"] = RuntimeProxy(self.stage, self.back_end)
        if originals.missing("koord-runtime-proxy") is None:
            self.proxies["original"] = OriginalProxy(self.stage, self.back_end)
        for proxy in self.proxies.values():
            # The kubelet waits for these; the others may.
            self.hooks.register(proxy.hooks, stages=("PreCreateContainer", "PreUpdateContainerResources"))
            proxy.start()

    def measure(self, name, method, count=CALLS, peers=None):
        """Name to (p50, p99) in us: of the bare hop to the back end, of two, and of each proxy."""
        peers = peers or {"direct": self.back_end, "relay": self.relay, **{who: proxy.socket for who, proxy in self.proxies.items()}}
        done = subprocess.run([BENCH, "call", method, self.requests[name], str(count),
                               *(f"{who}={socket}" for who, socket in peers.items())], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return {line.split()[0]: tuple(map(float, line.split()[1:])) for line in done.stdout.splitlines()}


def rows(bench):
    names = ["Version", "ListContainers", UPDATE, CREATE]
    seen = {name: bench.measure(name, methods()[name][0]) for name in names}
    whos = list(bench.proxies)
    print(f"\n{PODS * EACH} containers, {CALLS} calls each, us at p50 (p99):\n")
    print("| | bare gRPC hop | gRPC's own, of as many hops, adds |" + "".join(f" {who} adds |" for who in whos) + " koord's, of a hop |"
          + (" of the original's |" if "original" in whos else ""))
    print("|---" * (4 + len(whos) + ("original" in whos)) + "|")
    for name, found in seen.items():
        (hop, hop99), added = found["direct"], {who: found[who][0] - found["direct"][0] for who in whos}
        hooked = name in (UPDATE, CREATE)
        floor = found["relay"][0] - hop + hooked * hop
        print(f"| {name}{' with a hook' if hooked else ''} | {hop:.0f} ({hop99:.0f}) | {floor:.0f} |"
              + "".join(f" {added[who]:.0f} ({found[who][1] - hop99:.0f}) |" for who in whos) + f" {added['koord'] / hop:.2f} |"
              + (f" {added['koord'] / added['original']:.2f} |" if "original" in whos else ""))


def bulk(bench):
    """CPU of a relayed MiB, and memory after all of it."""
    count = 300
    before = {who: cpu_seconds(proxy.pid) for who, proxy in bench.proxies.items()}
    bench.measure("bulk", BULK, count)
    calls = count + count // 10 + 1
    print("\n| | us CPU a relayed MiB | RSS MiB | of it anonymous |\n|---|---|---|---|")
    for who, proxy in bench.proxies.items():
        rss, anonymous = memory(proxy.pid)
        print(f"| {who} | {(cpu_seconds(proxy.pid) - before[who]) * 1e6 / calls:.0f} | {rss:.1f} | {anonymous:.1f} |")


def hooks_of_the_agent(bench):
    """What koord's agent takes for a PreCreateContainer of a pod with CPUs of its own and 20 variables."""
    count, rest = 5000, 3
    request = hook_server.definition().ContainerResourceHookRequest(
        pod_meta={"name": "a", "uid": "b", "namespace": "c"}, container_meta={"name": "main"},
        pod_labels={"koordinator.sh/qosClass": "LSR", "app": "measured"},
        pod_annotations={"scheduling.koordinator.sh/resource-status": '{"cpuset":"0"}'}, pod_cgroup_parent="/kubepods/podb",
        container_resources={"cpu_period": 100000, "cpu_quota": 50000, "cpu_shares": 512, "memory_limit_in_bytes": 1 << 30},
        container_envs={f"SERVICE_{number}": f"10.0.0.{number}" for number in range(20)})
    bench.requests["hook"] = bench.file("hook.request", request.SerializeToString())
    with Sandbox() as sandbox:
        folder = os.path.join(bench.stage.dir, "agent")
        socket = os.path.join(folder, "hooks.sock")
        agent = Agent(bench.stage.janitor, folder, free_port(), f"--kubeconfig={sandbox.kubeconfig}",
                      f"--runtime-hooks-addr={socket}", env={"NODE_NAME": "measured"})
        agent.start_and_wait()
        wait_for("it serves", lambda: os.path.exists(socket), 60)
        pid, method = agent.process.pid, f"/{SERVICE}/PreCreateContainerHook"
        bench.measure("hook", method, 100, {"agent": socket})
        before = cpu_seconds(pid)
        time.sleep(rest)
        idle = (cpu_seconds(pid) - before) / rest
        before, began = cpu_seconds(pid), time.monotonic()
        p50, p99 = bench.measure("hook", method, count, {"agent": socket})["agent"]
        used = cpu_seconds(pid) - before - idle * (time.monotonic() - began)
        agent.kill()
    print(f"\nThe agent's hook server: {used * 1e6 / (count + count // 10 + 1):.0f} us of CPU a call with all of gRPC, "
          f"answered after {p50:.0f} us (p99 {p99:.0f})")


def main():
    if reason := cri_stage.missing():
        skip(reason)
    cri_stage.enter_own_network()
    with cri_stage.CriStage() as stage:
        bench = Bench(stage)
        bench.take_down()
        bench.start()
        resting = {who: memory(proxy.pid) for who, proxy in bench.proxies.items()}
        rows(bench)
        for who, (rss, anonymous) in resting.items():
            print(f"{who} at the start: {rss:.1f} MiB, {anonymous:.1f} of it anonymous")
        bulk(bench)
        hooks_of_the_agent(bench)
    if "original" not in bench.proxies:
        print("The original is not beside it: KOORDINATOR_BIN is not set.")


if __name__ == "__main__":
    main()
