#!/usr/bin/env python3
"""In the virtual machine, on cgroup v2: why the containers of best-effort pods are not idle where the kubelet's static CPU policy
has the runtime update them. runc writes a container's weight before its CPUs, an idle group takes none, and the CPUs that were given
to somebody else stay the container's."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_node  # noqa: E402
from janitor import skip  # noqa: E402

RUNC = "/usr/sbin/runc"
# As the kubelet's CPU manager asks through containerd: what the container has, with other CPUs.
UPDATE = {"cpu": {"shares": 2, "cpus": "0-1"}}

SCRIPT = """
cg=/sys/fs/cgroup
echo "+cpu +cpuset +memory +pids" >$cg/cgroup.subtree_control || exit 1
mount -t tmpfs tmpfs /run
mkdir -p /box/rootfs/bin /box/rootfs/proc /box/rootfs/dev
cp /bin/busybox /box/rootfs/bin/busybox
cp /config.json /box/config.json
cd /box
runc run --no-pivot -d box </dev/null >/run/box.log 2>&1 || { cat /run/box.log; exit 1; }
group=$(find $cg -name box -type d)
for idle in 0 1; do
  echo 0-7 >$group/cpuset.cpus
  echo $idle >$group/cpu.idle || exit 1
  runc update -r /update.json box 2>&1
  echo "see status$idle=$? cpus$idle=$(cat $group/cpuset.cpus)"
done
runc delete -f box
"""


def config():
    """runc's own example, without what the machine lacks."""
    with tempfile.TemporaryDirectory(prefix="koord-runc.") as folder:
        subprocess.run([RUNC, "spec"], cwd=folder, check=True)
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            spec = json.load(file)
    spec["process"].update(terminal=False, args=["/bin/busybox", "sleep", "100000"])
    spec["mounts"] = [mount for mount in spec["mounts"] if mount["destination"] in ("/proc", "/dev")]
    spec["linux"].update(cgroupsPath="/pods/box", resources={"cpu": {"shares": 2, "cpus": "0-7"}}, maskedPaths=[], readonlyPaths=[])
    spec["linux"].pop("seccomp", None)
    return spec


def main():
    reason = vm.missing() or (None if os.path.exists(RUNC) else f"{RUNC} is missing: run packaging/dev deps")
    if reason:
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="koord-idle-vm.") as folder:
        files = vm_node.write(folder, {"config.json": config(), "update.json": UPDATE})
        del files["koord"]
        status, lines = vm.run(SCRIPT, files | vm_node.closure(RUNC, "/bin/runc"), seconds=120)
    assert status == 0, f"the machine's test ended with {status}"
    said = vm_node.said(lines)
    assert (said["status0"], said["cpus0"]) == ("0", "0-1"), said
    assert said["status1"] != "0" and said["cpus1"] == "0-7", f"runc can: then such nodes need not be left out: {said}"
    print("idle in the virtual machine: passed")


if __name__ == "__main__":
    main()
