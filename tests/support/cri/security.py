"""Rows: namespaces, users, capabilities and what else a security context says."""
from cri.client import grpc
from cri.specs import spec, wait_for

POD, CONTAINER, NODE, TARGET = range(4)
DEFAULT, UNCONFINED = 0, 1


def with_namespaces(world, **options):
    return world.sandbox(linux={"security_context": {"namespace_options": options}})


def context(**fields):
    return {"security_context": fields}


def refused(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except grpc.RpcError:
        return
    raise AssertionError("it was taken")


@spec("NamespaceOption: runtime should support HostPID")
def host_pid(world):
    pod = with_namespaces(world, pid=NODE)
    inside = world.run(pod.start(linux=context(namespace_options={"pid": NODE})), "ps")
    assert "containerd" in inside, inside


@spec("NamespaceOption: runtime should support HostIpc is true")
def host_ipc(world):
    shared = world.run(with_namespaces(world, ipc=NODE).start(linux=context(namespace_options={"ipc": NODE})),
                       "readlink", "/proc/self/ns/ipc")
    assert shared == world.run(with_namespaces(world, ipc=NODE).start(linux=context(namespace_options={"ipc": NODE})),
                               "readlink", "/proc/self/ns/ipc")


@spec("NamespaceOption: runtime should support HostIpc is false")
def own_ipc(world):
    assert world.run(world.sandbox().start(), "readlink", "/proc/self/ns/ipc") != world.run(
        world.sandbox().start(), "readlink", "/proc/self/ns/ipc")


@spec("NamespaceOption: runtime should support PodPID")
def pod_pid(world):
    pod = with_namespaces(world, pid=POD)
    pod.start("sleep", "1234")
    container = pod.start(linux=context(namespace_options={"pid": POD}))
    wait_for("the neighbour's process", lambda: "sleep 1234" in world.run(container, "ps"))


@spec("NamespaceOption: runtime should support ContainerPID")
def container_pid(world):
    pod = with_namespaces(world, pid=CONTAINER)
    pod.start("sleep", "1234", linux=context(namespace_options={"pid": CONTAINER}))
    container = pod.start("sleep", "4321", linux=context(namespace_options={"pid": CONTAINER}))
    assert world.run(container, "cat", "/proc/1/cmdline") == "sleep\x004321\x00"


@spec("NamespaceOption: runtime should support HostNetwork is true")
def host_network(world):
    container = with_namespaces(world, network=NODE).start()
    other = with_namespaces(world, network=NODE).start()
    assert world.run(container, "readlink", "/proc/self/ns/net") == world.run(other, "readlink", "/proc/self/ns/net")


@spec("NamespaceOption: runtime should support HostNetwork is false")
def own_network(world):
    assert world.run(world.sandbox().start(), "readlink", "/proc/self/ns/net") != world.run(
        with_namespaces(world, network=NODE).start(), "readlink", "/proc/self/ns/net")


@spec("bucket: runtime should support SupplementalGroups")
def groups(world):
    container = world.sandbox().start(linux=context(supplemental_groups=[1234, 5678]))
    assert {"1234", "5678"} <= set(world.run(container, "id", "-G").split())


@spec("bucket: runtime should support RunAsUser")
def user(world):
    assert world.run(world.sandbox().start(linux=context(run_as_user={"value": 1001})), "id", "-u") == "1001\n"


@spec("bucket: runtime should support RunAsUserName")
def user_name(world):
    assert world.run(world.sandbox().start(linux=context(run_as_username="app")), "id", "-un") == "app\n"


@spec("bucket: runtime should support RunAsGroup")
def group(world):
    container = world.sandbox().start(linux=context(run_as_user={"value": 1001}, run_as_group={"value": 1002}))
    assert world.run(container, "id", "-g") == "1002\n"


@spec("bucket: runtime should return error if RunAsGroup is set without RunAsUser")
def group_without_user(world):
    pod = world.sandbox()
    refused(pod.create, linux=context(run_as_group={"value": 1002}))


@spec("bucket: runtime should support that ReadOnlyRootfs is false")
def writable(world):
    world.run(world.sandbox().start(linux=context(readonly_rootfs=False)), "touch", "/file")


@spec("bucket: runtime should support that ReadOnlyRootfs is true")
def readonly(world):
    world.fails(world.sandbox().start(linux=context(readonly_rootfs=True)), "touch", "/file")


def capabilities(world, container):
    for line in world.run(container, "cat", "/proc/self/status").splitlines():
        if line.startswith("CapBnd"):
            return int(line.split()[1], 16)
    raise AssertionError("no CapBnd")


NET_RAW, NET_ADMIN = 1 << 13, 1 << 12


@spec("bucket: runtime should support adding capability")
def add_capability(world):
    assert not capabilities(world, world.sandbox().start()) & NET_ADMIN
    assert capabilities(world, world.sandbox().start(
        linux=context(capabilities={"add_capabilities": ["NET_ADMIN"]}))) & NET_ADMIN


@spec("bucket: runtime should support dropping capability")
def drop_capability(world):
    assert not capabilities(world, world.sandbox().start(
        linux=context(capabilities={"drop_capabilities": ["NET_RAW"]}))) & NET_RAW


@spec("bucket: runtime should support adding ALL capabilities")
def add_all(world):
    assert capabilities(world, world.sandbox().start(linux=context(capabilities={"add_capabilities": ["ALL"]}))) & NET_ADMIN


@spec("bucket: runtime should support dropping ALL capabilities")
def drop_all(world):
    assert capabilities(world, world.sandbox().start(linux=context(capabilities={"drop_capabilities": ["ALL"]}))) == 0


@spec("bucket: runtime should support Privileged is true")
def privileged(world):
    pod = world.sandbox(linux={"security_context": {"privileged": True}})
    assert capabilities(world, pod.start(linux=context(privileged=True))) & NET_ADMIN


@spec("bucket: runtime should support Privileged is false")
def not_privileged(world):
    pod = world.sandbox()
    world.fails(pod.start(linux=context(privileged=False)), "mount", "-t", "tmpfs", "tmpfs", "/tmp")
    refused(pod.create, linux=context(privileged=True))


@spec("bucket: runtime should support MaskedPaths")
def masked(world):
    container = world.sandbox().start(linux=context(masked_paths=["/etc/passwd"]))
    assert world.run(container, "cat", "/etc/passwd") == ""


@spec("bucket: runtime should support ReadonlyPaths")
def readonly_paths(world):
    world.fails(world.sandbox().start(linux=context(readonly_paths=["/tmp"])), "touch", "/tmp/file")


def extra_groups(world, policy):
    """Those of a user whom the image's /etc/group has in group 50000."""
    container = world.sandbox().start(linux=context(run_as_user={"value": 1000}, supplemental_groups=[60000],
                                                    supplemental_groups_policy=policy))
    return set(world.run(container, "id", "-G").split())


@spec("SupplementalGroupsPolicy: Merge adds the groups of the image")
def merged_groups(world):
    assert extra_groups(world, 0) == {"1000", "50000", "60000"}


@spec("SupplementalGroupsPolicy: Strict leaves the groups of the image")
def strict_groups(world):
    assert extra_groups(world, 1) == {"1000", "60000"}


def seccomp(world, **fields):
    container = world.sandbox().start(linux=context(**fields))
    for line in world.run(container, "cat", "/proc/1/status", "/proc/self/status").splitlines():
        if line.startswith("Seccomp:"):
            found = line.split()[1]
    return found


@spec("SeccompProfilePath: should support seccomp unconfined on the container")
def seccomp_unconfined(world):
    assert seccomp(world, seccomp={"profile_type": UNCONFINED}) == "0"


@spec("SeccompProfilePath: should support seccomp default on the container")
def seccomp_default(world):
    assert seccomp(world, seccomp={"profile_type": DEFAULT}) == "2"


@spec("SeccompProfilePath: should support nil profile, which is unconfined")
def seccomp_nothing(world):
    assert seccomp(world) == "0"


def no_new_privileges(world, value):
    container = world.sandbox().start(linux=context(no_new_privs=value, run_as_user={"value": 1000}))
    return f"NoNewPrivs:\t{int(value)}" in world.run(container, "cat", "/proc/self/status")


@spec("NoNewPrivs: should not allow privilege escalation when true")
def escalation_refused(world):
    assert no_new_privileges(world, True)


@spec("NoNewPrivs: should allow privilege escalation when false")
def escalation_allowed(world):
    assert no_new_privileges(world, False)


def user_namespace(world, **options):
    refused(world.sandbox, linux={"security_context": {"namespace_options": {"userns_options": options}}})


ONE = {"host_id": 100000, "container_id": 0, "length": 65536}


@spec("UserNamespaces: runtime should fail if more than one mapping provided")
def two_mappings(world):
    user_namespace(world, mode=POD, uids=[ONE, {**ONE, "container_id": 70000}], gids=[ONE, {**ONE, "container_id": 70000}])


@spec("UserNamespaces: runtime should fail if container ID 0 is not mapped")
def root_not_mapped(world):
    user_namespace(world, mode=POD, uids=[{**ONE, "container_id": 1}], gids=[{**ONE, "container_id": 1}])


@spec("UserNamespaces: runtime should fail with NamespaceMode_CONTAINER")
def userns_of_container(world):
    user_namespace(world, mode=CONTAINER, uids=[ONE], gids=[ONE])


@spec("UserNamespaces: runtime should fail with NamespaceMode_TARGET")
def userns_of_target(world):
    user_namespace(world, mode=TARGET, uids=[ONE], gids=[ONE])
