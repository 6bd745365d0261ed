"""Rows: the life of containers, their logs, statistics, volumes and resources."""
import os
import time
import uuid

from cri.client import grpc
from cri.specs import spec, wait_for

CREATED, RUNNING, EXITED = 0, 1, 2


def listed(world, container):
    return [one.id for one in world.cri.ListContainers(filter={"id": container}).containers]


@spec("Container: runtime should support creating container")
def creating(world):
    container = world.sandbox().create()
    assert listed(world, container) == [container] and world.status(container).state == CREATED


@spec("Container: runtime should support preserving container attributes")
def attributes(world):
    labels, annotations = {"foo": "bar", "io.kubernetes.container.name": "x"}, {"abc": "def"}
    container = world.sandbox().create(labels=labels, annotations=annotations, metadata={"name": "attributes", "attempt": 2})
    for told in (world.status(container), *world.cri.ListContainers(filter={"id": container}).containers):
        assert told.metadata.name == "attributes" and told.metadata.attempt == 2
        assert labels.items() <= dict(told.labels).items() and annotations.items() <= dict(told.annotations).items()


@spec("Container: runtime should support starting container")
def starting(world):
    assert world.status(world.sandbox().start()).state == RUNNING


@spec("Container: runtime should support stopping container")
def stopping(world):
    container = world.sandbox().start()
    world.cri.StopContainer(container_id=container, timeout=30)
    assert world.status(container).state == EXITED


def remove(world, container):
    world.cri.RemoveContainer(container_id=container)
    assert not listed(world, container)


@spec("Container: runtime should support removing created container")
def removing_created(world):
    remove(world, world.sandbox().create())


@spec("Container: runtime should support removing running container")
def removing_running(world):
    remove(world, world.sandbox().start())


@spec("Container: runtime should support removing stopped container")
def removing_stopped(world):
    container = world.sandbox().start()
    world.cri.StopContainer(container_id=container, timeout=30)
    remove(world, container)


@spec("Container: runtime should support execSync")
def exec_sync(world):
    assert world.run(world.sandbox().start(), "echo", "-n", "hello") == "hello"


@spec("Container: runtime should support execSync with timeout")
def exec_sync_timeout(world):
    container = world.sandbox().start()
    try:
        world.cri.ExecSync(container_id=container, cmd=["sleep", "4321"], timeout=1)
        raise AssertionError("it should time out")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
    assert "4321" not in world.run(container, "ps")


@spec("Container: a caller that gives up is answered at once")
def caller_gives_up(world):
    container, began = world.sandbox().start(), time.monotonic()
    try:
        world.cri.ExecSync(container_id=container, cmd=["sleep", "4321"], timeout=50, seconds=1)
        raise AssertionError("it should time out")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() - began < 20, f"{error.code().name}: {error.details()}"
    # Who ran for it is gone: the runtime was told.
    wait_for("the command's end", lambda: "4321" not in world.run(container, "ps"), 20)


def stats_of(world, **condition):
    return {one.attributes.id: one for one in world.cri.ListContainerStats(**condition).stats}


@spec("Container: runtime should support listing container stats")
def stats(world):
    container = world.sandbox().start(name="stats")
    told = world.cri.ContainerStats(container_id=container).stats
    assert told.attributes.id == container and told.attributes.metadata.name.startswith("stats")
    assert told.cpu.timestamp and told.memory.timestamp and told.memory.working_set_bytes.value


@spec("Container: runtime should support listing stats for started containers")
def stats_of_one(world):
    container = world.sandbox().start()
    assert set(stats_of(world, filter={"id": container})) == {container}


@spec("Container: runtime should support listing stats for three created containers when filter is nil")
def stats_of_all(world):
    pod = world.sandbox()
    assert {pod.start() for _ in range(3)} <= set(stats_of(world))


@spec("Container: runtime should support listing stats for containers filtered by labels")
def stats_by_label(world):
    label = uuid.uuid4().hex
    container = world.sandbox().start(labels={"which": label})
    assert set(stats_of(world, filter={"label_selector": {"which": label}})) == {container}
    assert not stats_of(world, filter={"label_selector": {"which": "nobody"}})


@spec("Container: runtime should support listing by pod, state and labels")
def filters(world):
    pod, other = world.sandbox(), world.sandbox()
    created, running, elsewhere = pod.create(labels={"a": "1"}), pod.start(labels={"a": "2"}), other.create(labels={"a": "1"})
    for wanted, condition in (({created, running}, {"pod_sandbox_id": pod.id}), ({elsewhere}, {"pod_sandbox_id": other.id}),
                              ({running}, {"pod_sandbox_id": pod.id, "state": {"state": RUNNING}}),
                              ({created}, {"pod_sandbox_id": pod.id, "label_selector": {"a": "1"}}),
                              (set(), {"pod_sandbox_id": pod.id, "id": elsewhere})):
        assert {one.id for one in world.cri.ListContainers(filter=condition).containers} == wanted, condition


def volume(world, host):
    os.mkdir(os.path.join(world.folder, "volume"))
    with open(os.path.join(world.folder, "volume", "flag"), "w", encoding="utf-8") as file:
        file.write("here")
    container = world.sandbox().start(mounts=[{"container_path": "/mnt/a", "host_path": os.path.join(world.folder, host)}])
    assert world.run(container, "cat", "/mnt/a/flag") == "here"
    return container


@spec("Container: runtime should support starting container with volume")
def with_volume(world):
    volume(world, "volume")


@spec("Container: runtime should support starting container with volume when host path is a symlink")
def with_symlink(world):
    os.symlink("volume", os.path.join(world.folder, "link"))
    volume(world, "link")


def mount(world, **how):
    os.makedirs(os.path.join(world.folder, "mounted"), exist_ok=True)
    return {"container_path": "/mnt/a", "host_path": os.path.join(world.folder, "mounted"), **how}


@spec("readonly mounts: should support non-recursive readonly mounts")
def readonly_mount(world):
    world.fails(world.sandbox().start(mounts=[mount(world, readonly=True)]), "touch", "/mnt/a/file")


@spec("readonly mounts: should reject a recursive readonly mount with ReadOnly: false")
def half_readonly_mount(world):
    pod = world.sandbox()
    try:
        pod.create(mounts=[mount(world, recursive_read_only=True)])
    except grpc.RpcError:
        return
    raise AssertionError("it was taken")


@spec("Container: runtime should support starting container with log")
def log(world):
    assert world.output("echo", "hello World") == ("hello World\n", 0)


@spec("Container: runtime should support reopening container log")
def reopened_log(world):
    container = world.sandbox().start("sh", "-c", "while :; do echo hello; sleep 0.05; done", log_path="a.log")
    path = os.path.join(world.folder, "a.log")
    wait_for("a first line", lambda: os.path.getsize(path) > 0)
    os.rename(path, path + ".1")
    world.cri.ReopenContainerLog(container_id=container)
    wait_for("a line of the second", lambda: os.path.exists(path) and os.path.getsize(path) > 0)


@spec("Container: should terminate with exitCode 137 and reason OOMKilled")
def out_of_memory(world):
    container = world.sandbox().start("sh", "-c", "sleep 0.2; dd if=/dev/zero of=/dev/null bs=64M count=1000",
                                      linux={"resources": {"memory_limit_in_bytes": 15 << 20}})
    told = wait_for("its end", lambda: (lambda s: s if s.state == EXITED else None)(world.status(container)))
    assert (told.exit_code, told.reason) == (137, "OOMKilled"), told


@spec("Container: what it is given at its creation is in force, and what an update says")
def resources(world):
    given = {"cpu_period": 100000, "cpu_quota": 50000, "cpu_shares": 512, "memory_limit_in_bytes": 64 << 20,
             "cpuset_cpus": "0"}
    container = world.sandbox().start(linux={"resources": given})
    told = world.status(container).resources.linux
    assert all(getattr(told, name) == value for name, value in given.items()), told
    world.cri.UpdateContainerResources(container_id=container, linux={"cpu_quota": 30000, "cpu_shares": 256},
                                       annotations={"a": "b"})
    told = world.status(container).resources.linux
    assert (told.cpu_quota, told.cpu_shares, told.memory_limit_in_bytes, told.cpuset_cpus) == (30000, 256, 64 << 20, "0"), told


@spec("Container: the order of the environment is kept, and what is in it twice")
def environment(world):
    envs = [{"key": f"KEY{number}", "value": str(number)} for number in range(40, 0, -1)]
    printed, code = world.output("env", envs=envs)
    found = [line for line in printed.splitlines() if line.startswith("KEY")]
    assert code == 0 and found == [f"KEY{number}={number}" for number in range(40, 0, -1)], found


@spec("idempotence: StopContainer should not return an error if not found")
def stop_nobody(world):
    world.cri.StopContainer(container_id=str(uuid.uuid4()), timeout=0)


@spec("idempotence: StopContainer and RemoveContainer should not return an error if done already")
def twice(world):
    container = world.sandbox().start()
    for _ in range(2):
        world.cri.StopContainer(container_id=container, timeout=30)
        assert world.status(container).state == EXITED
    for _ in range(2):
        world.cri.RemoveContainer(container_id=container)


@spec("idempotence: RemoveContainer should not return an error if not found")
def remove_nobody(world):
    world.cri.RemoveContainer(container_id=str(uuid.uuid4()))


@spec("Container: what nobody knows is refused")
def unknown(world):
    name = str(uuid.uuid4())
    for call, fields in ((world.cri.StartContainer, {"container_id": name}), (world.cri.ContainerStatus, {"container_id": name}),
                         (world.cri.UpdateContainerResources, {"container_id": name, "linux": {"cpu_shares": 10}}),
                         (world.cri.CreateContainer, {"pod_sandbox_id": name, "config": {"metadata": {"name": "a"}},
                                                      "sandbox_config": {"metadata": {"name": "a"}}})):
        try:
            call(**fields)
        except grpc.RpcError as error:
            assert error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNKNOWN) and "not found" in error.details(), error
            continue
        raise AssertionError(f"{fields} was taken")


@spec("Multiple containers: should support network, log and exec")
def several(world):
    pod = world.sandbox()
    containers = [pod.start("sh", "-c", f"echo I am {number}; sleep 100000", log_path=f"{number}.log") for number in (1, 2)]
    for number, container in enumerate(containers, 1):
        path = os.path.join(world.folder, f"{number}.log")
        wait_for("a line", lambda p=path: os.path.exists(p) and os.path.getsize(p) > 0)
        with open(path, encoding="utf-8") as file:
            assert file.read().endswith(f"I am {number}\n")
        assert world.run(container, "echo", str(number)) == f"{number}\n"
    server = pod.start("httpd", "-f", "-p", "127.0.0.1:8080", "-h", "/etc")
    wait_for("an answer of the neighbour", lambda: world.cri.ExecSync(
        container_id=containers[0], cmd=["wget", "-q", "-O", "-", "http://127.0.0.1:8080/passwd"], timeout=10).stdout)
    assert server
