#!/usr/bin/env python3
"""Without Kubernetes: the example file of packaging/, for two plain cgroups on this kernel; and CPU blame on them."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host_tree  # noqa: E402
import protection  # noqa: E402
from agent import TREE, wait_for  # noqa: E402
from host_stage import stage  # noqa: E402
from host_tree import Group  # noqa: E402

BLAME = """
nodeSLO: {{extensions: {{cpuBlame: {{enable: true, targetMicroseconds: 50, quota: true}}}}}}
groups:
- {{name: web, cgroupPath: {web}, qos: LS}}
- {{name: batch, cgroupPath: {batch}, qos: BE}}
"""
EXAMPLE = os.path.join(TREE, "packaging", "standalone.example.yaml")


def blame_status(agent):
    """Whether the kernel tells who makes others wait, and what CPU blame says of itself."""
    node = json.loads(agent.get("/apis/v1/node"))
    known = [one.get("works", False) for one in node["collectors"] if one["name"] == "wait_blame"]
    return known and known[0], next(one for one in node["strategies"] if one["name"] == "CPUBlame")


def prove_blame(agent, be):
    """CPU blame on its own: the group gives way, over a crash, until --cleanup; its quota is never below the minimum."""
    def values():
        return be.read("cpu", "cpu.weight" if host_tree.is_v2() else "cpu.shares"), be.read("cpu", "cpu.idle")

    before = values()
    agent.start_and_wait()
    known, status = blame_status(agent)
    if not known:
        assert "CPU suppression alone" in status["summary"], status
        print(f"CPU blame: {status['summary']}")
        agent.kill()
        return
    wait_for("best-effort work gives way", lambda: values()[1] == "1", 15)
    wait_for("it judges", lambda: "it causes a p99 of" in blame_status(agent)[1]["summary"], 15)
    print(f"CPU blame: {blame_status(agent)[1]['summary']}", flush=True)
    agent.kill()
    assert values()[1] == "1", "a crash let BE loose"
    agent.start_and_wait()
    quotas = protection.Watch(be, None, 3).quotas
    least = os.cpu_count() * 0.05 - 0.001
    assert all(quota is None or quota >= least for quota in quotas), f"below the minimum: {quotas}"
    assert values()[1] == "1", "the next agent let BE loose"
    agent.kill()
    agent.cleanup()
    assert values() == before and be.quota_cpus() is None, f"--cleanup left {values()}, before {before}"


def main():
    with open(EXAMPLE, encoding="utf-8") as file:
        text = file.read()
    assert "web.slice" in text and "batch.slice" in text
    with stage("web", "batch") as host:
        web, batch = host.groups
        be, ls = Group(batch), Group(web)
        protection.wait_quiet([be, ls])
        host.tree.burn(batch, os.cpu_count())
        # The example's groups by names of our own: a machine may have its own web.slice.
        agent = host.agent("agent", text.replace("cgroupPath: web.slice", f"cgroupPath: {web}")
                           .replace("cgroupPath: batch.slice", f"cgroupPath: {batch}"))
        burners = []

        def stop_ls():
            for process in burners:
                process.kill()
                process.wait()

        protection.prove(agent, be, ls.cpu_seconds, lambda: burners.extend(host.tree.burn(web, 1)), stop_ls)
        has_idle = os.path.exists(be.file("cpu", "cpu.idle"))
        assert not has_idle or be.read("cpu", "cpu.idle") == "1", "BE does not give way"
        protection.prove_cleanup(agent, be)
        assert not has_idle or be.read("cpu", "cpu.idle") == "0", "--cleanup left BE idle"
        stop_ls()
        if has_idle:
            prove_blame(host.agent("blame", BLAME.format(web=web, batch=batch), "--feature-gates=BECPUBlame=true"), be)
    print("standalone: passed")


if __name__ == "__main__":
    main()
