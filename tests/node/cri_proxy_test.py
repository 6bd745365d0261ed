#!/usr/bin/env python3
"""koord's proxy before a real containerd: what the runtime passes of critest's table alone it passes through the proxy, byte
for byte where nothing is hooked. --long: also with a hook server that answers what it was asked, with koord's agent, and with the proxy killed and
started again all the while: then rows fail by the broken connection only, and afterwards all is as before. Where
KOORDINATOR_BIN has the original it takes the first two as well, and what it fails is printed; where CRITEST names critest's
executable all its specs run beside the table's rows each time."""
import os
import re
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import containerd  # noqa: E402
import cri_stage  # noqa: E402
import critest  # noqa: E402
import originals  # noqa: E402
from agent import Agent  # noqa: E402
from cri import table  # noqa: E402
from cri.client import Cri, definition, grpc, methods  # noqa: E402
from cri.hook_server import HookServer  # noqa: E402
from cri.specs import World  # noqa: E402
from cri_stage import CriStage  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from runtime_proxy import OriginalProxy, RuntimeProxy  # noqa: E402
from sandbox import Sandbox, free_port, wait_for  # noqa: E402

BROKEN = re.compile(r"\b(UNAVAILABLE|CANCELLED|code = Unavailable|code = Canceled|connection refused)\b|proxy\.sock")
KILLED_EVERY, CRITEST_KILLED_EVERY, AWAY = 4.0, 8.0, 0.3  # seconds


def failures(outcomes):
    return {name: said for name, said in outcomes.items() if said.startswith("failed")}


def worse_than_alone(stage, through):
    """What failed through a proxy and does not fail without one."""
    failed = failures(through)
    alone = table.run(stage.socket, stage.place, names=failed) if failed else {}
    return {name: said for name, said in failed.items() if name not in failures(alone)}


def prove(what, stage, socket):
    through = table.run(socket, stage.place)
    worse = worse_than_alone(stage, through)
    passed = sum(said == "passed" for said in through.values())
    print(f"{what}: {passed} of {len(through)} rows", *(f"  {name}: {said}" for name, said in worse.items()), sep="\n", flush=True)
    if stage.critest:
        bad, said = stage.critest.worse(socket)
        print(f"  critest: {critest.count(said)}", *(f"  {name}: {why}" for name, why in bad.items()), sep="\n", flush=True)
        worse.update(bad)
    return worse


def answer(cri, name, data):
    """All that a caller sees of a call."""
    try:
        reply, call = cri.raw(methods()[name][0], data)
        code, details = call.code(), call.details()
    except grpc.RpcError as error:
        reply, call, code, details = b"", error, error.code(), error.details()
    # What gRPC itself says of the peer is of the peer.
    return reply, code, details, sorted(call.initial_metadata() or ()), sorted(call.trailing_metadata() or ())


def prove_same_bytes(stage, socket):
    """With a pod of two containers there, direct and through the proxy."""
    direct, proxied = Cri(stage.socket), Cri(socket)
    world = World(direct, stage.place)
    pod = world.sandbox(labels={"a": "b"}, annotations={"big": "x" * 100_000})
    running, created = pod.start(), pod.create(envs=[{"key": "B", "value": "1"}, {"key": "A", "value": "2"}])
    api = definition()
    asked = [("Version", api.VersionRequest(version="0.1.0")), ("RuntimeConfig", api.RuntimeConfigRequest()),
             ("ListPodSandbox", api.ListPodSandboxRequest(filter={"id": pod.id})),
             ("PodSandboxStatus", api.PodSandboxStatusRequest(pod_sandbox_id="nobody")),
             ("ListContainers", api.ListContainersRequest(filter={"id": created})),  # of several it changes their order
             ("ImageStatus", api.ImageStatusRequest(image={"image": stage.place["image"]}, verbose=True)),
             ("StartContainer", api.StartContainerRequest(container_id="nobody")),
             ("StartContainer", api.StartContainerRequest(container_id=running)),
             ("ContainerStatus", api.ContainerStatusRequest(container_id=created)),
             ("ContainerStatus", api.ContainerStatusRequest(container_id="nobody")),
             ("StopContainer", api.StopContainerRequest(container_id="nobody")),
             ("RunPodSandbox", api.RunPodSandboxRequest(config=pod.config)),  # its name is reserved
             ("RunPodSandbox", api.RunPodSandboxRequest()), ("CreateContainer", api.CreateContainerRequest()),
             ("UpdateContainerResources", api.UpdateContainerResourcesRequest(container_id="nobody")),
             ("ExecSync", api.ExecSyncRequest(container_id=created, cmd=["true"])),
             ("RemoveContainer", api.RemoveContainerRequest(container_id="nobody")),
             ("CheckpointContainer", api.CheckpointContainerRequest(container_id="nobody"))]
    for name, request in asked:
        data = request.SerializeToString()
        one, other = answer(direct, name, data), answer(proxied, name, data)
        assert one == other, f"{name}: alone {one[1:]} {one[0][:200]}, through the proxy {other[1:]} {other[0][:200]}"
    world.close()
    direct.close()
    proxied.close()


def prove_without_hooks(stage):
    proxy = RuntimeProxy(stage, stage.socket)
    proxy.start()
    prove_same_bytes(stage, proxy.socket)
    worse = prove("through the proxy", stage, proxy.socket)
    proxy.kill()
    assert not worse, "the proxy fails what containerd alone passes"


def prove_with_hooks(stage):
    server = HookServer(os.path.join(stage.dir, "hooks.sock"))
    server.start()
    proxy = RuntimeProxy(stage, stage.socket, "hooked")
    server.register(proxy.hooks)
    proxy.start()
    worse = prove("with a hook server", stage, proxy.socket)
    print(f"  it was asked: {server.counts}")
    proxy.kill()
    server.stop()
    assert not worse, "with a hook server the proxy fails what containerd alone passes"
    assert all(server.counts.values()), f"a stage was never asked: {server.counts}"


def prove_with_agent(stage):
    """koord's own agent, which knows no pod of these: requests are answered by what they say themselves."""
    with Sandbox() as sandbox:
        folder = os.path.join(stage.dir, "agent")
        socket = os.path.join(folder, "hooks.sock")
        proxy = RuntimeProxy(stage, stage.socket, "agents")
        agent = Agent(stage.janitor, folder, free_port(), f"--kubeconfig={sandbox.kubeconfig}",
                      f"--runtime-hooks-addr={socket}", f"--runtime-hooks-host-endpoint={socket}",
                      f"--runtime-hooks-config-path={proxy.hooks}", "--runtime-hooks-failure-policy=Fail",
                      env={"NODE_NAME": "koord-cri"})
        agent.start_and_wait()
        wait_for("it has registered", lambda: os.listdir(proxy.hooks), 60)
        proxy.start()
        worse = prove("with koord's agent", stage, proxy.socket)
        cri = Cri(proxy.socket)
        world = World(cri, stage.place)
        pod = world.sandbox(labels={"koordinator.sh/qosClass": "LSR"},
                            annotations={"scheduling.koordinator.sh/resource-status": '{"cpuset":"0"}'})
        told = world.status(pod.start(linux={"resources": {"cpu_period": 100000, "cpu_quota": 50000}})).resources.linux
        world.close()
        proxy.kill()
        agent.kill()
    assert not worse, "with koord's agent the proxy fails what containerd alone passes"
    assert (told.cpuset_cpus, told.cpu_quota) == ("0", -1), f"the agent had no say: {told}"


def prove_kills(stage):
    """Twice the table while the proxy dies every few seconds, then once in peace. A row begins when it is there."""
    server = HookServer(os.path.join(stage.dir, "kills.sock"))
    server.start()
    proxy = RuntimeProxy(stage, stage.socket, "killed")
    server.register(proxy.hooks)
    proxy.start()
    cri = Cri(stage.socket)
    kept = World(cri, stage.place)  # of before
    container = kept.sandbox().start()
    over, there, kills, failed, every = threading.Event(), threading.Event(), [0], [], [KILLED_EVERY]
    there.set()

    def killer():
        try:
            while not over.wait(every[0]):
                there.clear()
                proxy.kill()
                over.wait(AWAY)
                proxy.start()
                there.set()
                kills[0] += 1
        except BaseException as error:  # pylint: disable=broad-except; it is the test's failure
            failed.append(error)
            there.set()

    thread = threading.Thread(target=killer)
    thread.start()
    through = [table.run(proxy.socket, {**stage.place, "before": there.wait}) for _ in range(2)]
    if stage.critest:
        show_critest_killed(stage, proxy.socket, every, there.wait)
    over.set()
    thread.join()
    assert not failed, failed
    wrong = {name: said for outcomes in through for name, said in failures(outcomes).items() if not BROKEN.search(said)}
    worse = worse_than_alone(stage, wrong)
    broken = sum(len(failures(outcomes)) for outcomes in through)
    print(f"killed {kills[0]} times: {broken} rows of {2 * len(through[0])} ended by it", *worse.items(), sep="\n  ")
    assert kills[0] >= 3 and not worse, "a killed proxy leads to something else than a broken connection"
    after = Cri(proxy.socket)
    assert after.ContainerStatus(container_id=container).status.state == 1, "a container of before is gone"
    after.StopContainer(container_id=container, timeout=10)
    after.RemoveContainer(container_id=container)
    worse = prove("after the kills", stage, proxy.socket)
    kept.close()
    proxy.kill()
    server.stop()
    assert not worse, "the proxy does not recover"


def show_critest_killed(stage, socket, every, before):
    """Its specs go on after what was broken, and say then what they miss: whether all is well is asked afterwards."""
    every[0] = CRITEST_KILLED_EVERY
    kept = stage.critest.pods()
    failed = {name: one.why for name, one in stage.critest.run_each(socket, before).items() if one.state not in ("passed", "skipped")}
    others = {name: why for name, why in failed.items() if not BROKEN.search(why) and stage.critest.alone[name].state == "passed"}
    print(f"critest meanwhile: {len(failed)} specs ended by it", *(f"{name}: {why[:300]}" for name, why in others.items()), sep="\n  ", flush=True)
    stage.critest.sweep(kept)
    every[0] = KILLED_EVERY


def show_original(stage):
    if reason := originals.missing("koord-runtime-proxy"):
        print(reason)
        return
    proxy = OriginalProxy(stage, stage.socket)
    proxy.start()
    prove("through the original", stage, proxy.socket)
    server = HookServer(os.path.join(stage.dir, "original-hooks.sock"))
    server.start()
    server.register(proxy.hooks)
    prove("the original with a hook server", stage, proxy.socket)
    if proxy.ended():
        print(f"  it died: {stage.log_tail(proxy.name, 3)}")
    server.stop()


def prove_all(stage, long):
    prove_without_hooks(stage)
    if long:
        prove_with_hooks(stage)
        prove_with_agent(stage)
        prove_kills(stage)
        show_original(stage)


def main():
    long = "--long" in sys.argv
    versions = [containerd.CURRENT, containerd.NEWEST] if long else [containerd.CURRENT]
    for version in versions:
        if reason := cri_stage.missing(version):
            skip(reason)
    cri_stage.enter_own_network()
    for version in versions:
        print(f"containerd {version}", flush=True)
        program = critest.program() if long else None
        with Unchanged(), CriStage(version, [containerd.PORT_MAP] if program else ()) as stage:
            try:
                stage.critest = critest.Critest(stage, program) if program else None
                prove_all(stage, long)
            except AssertionError as error:
                raise AssertionError(f"{error}\ncontainerd:\n{stage.log_tail('containerd')}") from None
    if long and not program:
        print("critest itself does not run: CRITEST names its executable")
    print("the proxy before containerd: passed")


if __name__ == "__main__":
    main()
