"""Rows: what the runtime says of itself, and sandboxes."""
import os
import uuid

from cri.client import grpc
from cri.specs import Skip, spec, wait_for

READY, NOT_READY = 0, 1


@spec("Runtime info: runtime should return version info")
def version(world):
    told = world.cri.Version(version="0.1.0")
    assert told.version and told.runtime_name == "containerd" and told.runtime_version and told.runtime_api_version == "v1"


@spec("Runtime info: runtime should return runtime conditions")
def conditions(world):
    told = world.cri.Status(verbose=True)
    found = {one.type: one.status for one in told.status.conditions}
    assert found["RuntimeReady"] and found["NetworkReady"], found
    assert told.info, "nothing verbose"
    assert world.cri.RuntimeConfig().linux.cgroup_driver in (0, 1)


@spec("PodSandbox: runtime should support running PodSandbox")
def running(world):
    pod = world.sandbox()
    assert pod.status().state == READY
    assert [one.id for one in world.cri.ListPodSandbox(filter={"id": pod.id}).items] == [pod.id]


@spec("PodSandbox: runtime should support stopping PodSandbox")
def stopping(world):
    pod = world.sandbox()
    world.cri.StopPodSandbox(pod_sandbox_id=pod.id)
    assert pod.status().state == NOT_READY


@spec("PodSandbox: runtime should support removing PodSandbox")
def removing(world):
    pod = world.sandbox()
    world.cri.StopPodSandbox(pod_sandbox_id=pod.id)
    world.cri.RemovePodSandbox(pod_sandbox_id=pod.id)
    assert not world.cri.ListPodSandbox(filter={"id": pod.id}).items


@spec("PodSandbox: runtime should support preserving PodSandbox attributes")
def attributes(world):
    labels, annotations = {"foo": "bar", "io.kubernetes.pod.name": "a"}, {"abc": "def"}
    pod = world.sandbox(labels=labels, annotations=annotations)
    for told in (pod.status(), *world.cri.ListPodSandbox(filter={"id": pod.id}).items):
        assert told.metadata.name == pod.config["metadata"]["name"] and told.metadata.attempt == 2
        assert told.metadata.uid == pod.config["metadata"]["uid"] and told.metadata.namespace == "koord-test"
        assert labels.items() <= dict(told.labels).items() and annotations.items() <= dict(told.annotations).items()


@spec("PodSandbox: runtime should support listing by state and labels")
def filters(world):
    label = uuid.uuid4().hex
    first, second = (world.sandbox(labels={"which": label, "number": str(number)}) for number in (1, 2))
    world.cri.StopPodSandbox(pod_sandbox_id=second.id)
    for wanted, condition in (({first.id, second.id}, {"label_selector": {"which": label}}),
                              ({first.id}, {"label_selector": {"which": label}, "state": {"state": READY}}),
                              ({second.id}, {"label_selector": {"which": label, "number": "2"}}),
                              (set(), {"label_selector": {"which": "nobody"}})):
        assert {one.id for one in world.cri.ListPodSandbox(filter=condition).items} == wanted, condition


@spec("PodSandbox: runtime should support pod sandbox stats")
def pod_stats(world):
    pod = world.sandbox(labels={"stats": "yes"})
    pod.start()
    told = world.cri.PodSandboxStats(pod_sandbox_id=pod.id).stats
    assert told.attributes.id == pod.id and told.linux.cpu.timestamp > 0
    assert pod.id in {one.attributes.id for one in world.cri.ListPodSandboxStats(filter={"id": pod.id}).stats}


@spec("PodSandbox: runtime should support returning metrics descriptors")
def descriptors(world):
    try:
        world.cri.ListMetricDescriptors()
        world.cri.ListPodSandboxMetrics()
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNIMPLEMENTED:
            raise Skip("this version has none") from error
        raise


@spec("sysctls: should support safe sysctls")
def safe_sysctls(world):
    pod = world.sandbox(linux={"sysctls": {"kernel.shm_rmid_forced": "1"}})
    assert world.run(pod.start(), "cat", "/proc/sys/kernel/shm_rmid_forced").strip() == "1"


@spec("sysctls: should support unsafe sysctls")
def unsafe_sysctls(world):
    pod = world.sandbox(linux={"sysctls": {"fs.mqueue.msg_max": "100"}})
    assert world.run(pod.start(), "cat", "/proc/sys/fs/mqueue/msg_max").strip() == "100"


@spec("idempotence: StopPodSandbox should not return an error if not found")
def stop_nobody(world):
    world.cri.StopPodSandbox(pod_sandbox_id=str(uuid.uuid4()))


@spec("idempotence: StopPodSandbox should not return an error if already stopped")
def stop_twice(world):
    pod = world.sandbox()
    for _ in range(2):
        world.cri.StopPodSandbox(pod_sandbox_id=pod.id)
        assert pod.status().state == NOT_READY


@spec("idempotence: RemovePodSandbox should not return an error if not found")
def remove_nobody(world):
    world.cri.RemovePodSandbox(pod_sandbox_id=str(uuid.uuid4()))


@spec("networking: runtime should support DNS config")
def dns(world):
    pod = world.sandbox(dns_config={"servers": ["10.10.10.10"], "searches": ["google.com"], "options": ["ndots:8"]})
    assert world.run(pod.start(), "cat", "/etc/resolv.conf").split() == [
        "search", "google.com", "nameserver", "10.10.10.10", "options", "ndots:8"]


@spec("networking: runtime should support set hostname")
def hostname(world):
    assert world.run(world.sandbox(hostname="test-hostname").start(), "hostname").strip() == "test-hostname"


@spec("networking: runtime should support port mapping with only container port")
def ports(world):
    pod = world.sandbox(port_mappings=[{"container_port": 80}])
    assert pod.status().network.ip.startswith("10.231.")


@spec("RunPodSandbox: an unknown runtime handler is refused")
def unknown_handler(world):
    try:
        world.cri.RunPodSandbox(config={"metadata": {"name": "a", "uid": str(uuid.uuid4()), "namespace": "b"}},
                                runtime_handler="nobody")
    except grpc.RpcError as error:
        assert "nobody" in error.details(), error
        return
    raise AssertionError("it was taken")


@spec("runtime should support events of containers")
def events(world):
    stream = world.cri.GetContainerEvents(seconds=60)
    first = world.sandbox()  # until the stream is there nothing is told
    seen = []

    def told(kinds):
        for event in stream:
            if event.pod_sandbox_status.id == pod.id or event.container_id == pod.id:
                seen.append(event.container_event_type)
                if all(seen.count(kind) >= count for kind, count in kinds.items()):
                    return
        raise AssertionError(f"the stream ended after {seen}")

    wait_for("the first", lambda: first.status().state == READY)
    pod = world.sandbox()
    container = pod.start()
    told({0: 2, 1: 2})  # created and started: the sandbox and the container
    world.cri.StopContainer(container_id=container, timeout=10)
    told({2: 1})  # stopped
    world.cri.RemoveContainer(container_id=container)
    told({3: 1})  # deleted
    stream.cancel()
    assert os.path.isdir(world.folder)
