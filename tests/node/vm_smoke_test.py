#!/usr/bin/env python3
"""The virtual machine of the node tier itself: its topology, cgroup v2, PSI, BTF; and the eBPF collectors in it, whose
groups are those of cgroup v2 there."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from janitor import skip  # noqa: E402
import vm  # noqa: E402

SCRIPT = """
say() { echo "$1=$2"; }
say cpus "$(grep -c ^processor /proc/cpuinfo)"
say sockets "$(cat /sys/devices/system/cpu/cpu*/topology/physical_package_id | sort -u | wc -l)"
say cores "$(cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list | sort -u | tr '\\n' ' ')"
say nodes "$(cat /sys/devices/system/node/online)"
say node1 "$(cat /sys/devices/system/node/node1/cpulist)"
say controllers "$(cat /sys/fs/cgroup/cgroup.controllers)"
say pressure "$(ls /proc/pressure | sort | tr '\\n' ' ')"
say btf "$(test -s /sys/kernel/btf/vmlinux && echo yes)"
echo "+cpu +cpuset +memory" >/sys/fs/cgroup/cgroup.subtree_control || exit 1
mkdir /sys/fs/cgroup/probe
say probe "$(ls /sys/fs/cgroup/probe | grep -E '^(cpu.max|cpuset.cpus|memory.current|cpu.pressure)$' | tr '\\n' ' ')"
rmdir /sys/fs/cgroup/probe
say koord "$(/koord --version)"
/run_queue_latency_test --tries=4 && /wait_blame_test --brief && /blame_changes_test --unplug
"""
EXPECTED = {"cpus": "8", "sockets": "2", "cores": "0-1 2-3 4-5 6-7 ", "nodes": "0-1", "node1": "4-7", "btf": "yes",
            "pressure": "cpu io memory ", "probe": "cpu.max cpu.pressure cpuset.cpus memory.current "}


def main():
    reason = vm.missing()
    if reason:
        skip(reason)
    began = time.monotonic()
    status, lines = vm.run(SCRIPT, {"koord": os.environ["KOORD"],
                                    "run_queue_latency_test": os.environ["RUN_QUEUE_LATENCY_TEST"],
                                    "wait_blame_test": os.environ["WAIT_BLAME_TEST"],
                                    "blame_changes_test": os.environ["BLAME_CHANGES_TEST"]})
    said = dict(line.split("=", 1) for line in lines if "=" in line)
    for name, value in EXPECTED.items():
        assert said.get(name) == value, f"{name}: {said.get(name)!r}, expected {value!r}"
    for controller in ("cpu", "cpuset", "memory", "io"):
        assert controller in said["controllers"].split(), f"no {controller} controller"
    assert said["koord"].startswith("koord "), said["koord"]
    assert status == 0, f"the machine's test ended with {status}"
    print(f"virtual machine: passed in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
