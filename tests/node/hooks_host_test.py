#!/usr/bin/env python3
"""Sets of CPUs on this kernel, three groups deep: cgroup v1 takes none that is wider than the one above or narrower than one
below, so that they shrink from the leaves up and grow from the roots down. Nothing is ever refused."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host_tree  # noqa: E402
from agent import wait_for  # noqa: E402
from host_stage import stage  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import CGROUPS, skip  # noqa: E402

CONFIG = """nodeSLO: {{}}
reservedCPUs: "{reserved}"
hostApplications:
- {{name: outer, qos: LS, cgroupPath: {{base: CgroupRoot, relativePath: {0}}}}}
- {{name: inner, qos: LS, cgroupPath: {{base: CgroupRoot, relativePath: {1}}}}}
- {{name: most, qos: LS, cgroupPath: {{base: CgroupRoot, relativePath: {2}}}}}
"""


def cpus_of(text):
    """Of "0-2,7"."""
    ends = [part.split("-") for part in text.split(",") if part]
    return {cpu for end in ends for cpu in range(int(end[0]), int(end[-1]) + 1)}


def machine():
    path = (CGROUPS, "cpuset.cpus.effective") if host_tree.is_v2() else (CGROUPS, "cpuset", "cpuset.cpus")
    with open(os.path.join(*path), encoding="utf-8") as file:
        return cpus_of(file.read().strip())


def end(agent):
    """By SIGKILL, after a look at what the kernel refused it."""
    counts = [line for line in agent.get("/metrics").splitlines()
              if line.startswith("koordlet_resource_update_duration_milliseconds_count")]
    refused = [line for line in counts if 'status="failed"' in line and not line.endswith(" 0")]
    assert counts and not refused, refused
    agent.kill()


def main():
    with stage("apps", "apps/inner", "apps/inner/most") as host:
        groups, online = [Group(path) for path in host.groups], machine()
        if len(online) < 2:
            skip("one CPU cannot be shared out")
        first, last = min(online), max(online)

        def reserve(*cpus):
            host.file("agent.yaml", CONFIG.format(*host.groups, reserved=",".join(map(str, cpus))))

        def sets():
            return [group.read("cpuset", "cpuset.cpus") for group in groups]

        def wait_set(wanted, what):
            wait_for(what, lambda: all(cpus_of(held) == wanted for held in sets()), 10)

        before = sets()
        agent = host.agent("agent", "nodeSLO: {}\n")
        reserve(last)
        agent.start_and_wait()
        wait_set(online - {last}, "they have less")
        reserve(first)
        wait_set(online - {first}, "they have others")
        end(agent)
        agent.start_and_wait()
        reserve(last)
        wait_set(online - {last}, "others again, by another agent")
        reserve()
        wait_for("they have what they had", lambda: sets() == before, 10)
        reserve(first)
        wait_set(online - {first}, "they have less again")
        end(agent)
        agent.cleanup()
        assert sets() == before, f"--cleanup left {sets()}, before {before}"
    print("hooks on this host: passed")


if __name__ == "__main__":
    main()
