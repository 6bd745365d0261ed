#!/usr/bin/env python3
"""Memory eviction without Kubernetes: the best-effort group of this test is emptied, its latency-sensitive one and the
rest of the machine are not touched; an agent that is killed meanwhile does not evict again. Then the same by an agent in a cgroup
namespace of its own, where /proc does not name the others' groups."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host_tree  # noqa: E402
from agent import wait_for  # noqa: E402
from host_stage import stage  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import CGROUPS  # noqa: E402

# Holds 32 MiB and forks all the time: whoever kills one by one without looking again misses some.
HOLD = "import os,time\nheld = bytearray(b'x') * (32 << 20)\nwhile True:\n" \
       "    if os.fork() == 0:\n        time.sleep(0.05)\n        os._exit(0)\n" \
       "    time.sleep(0.01)\n    while True:\n        try:\n            if os.waitpid(-1, os.WNOHANG)[0] == 0: break\n" \
       "        except ChildProcessError: break\n"


CONFIG = """nodeSLO:
  resourceUsedThresholdWithBE: {{enable: true, memoryEvictThresholdPercent: {threshold}}}
groups:
- {{name: batch, cgroupPath: {be}, qos: BE}}
- {{name: web, cgroupPath: {ls}, qos: LS}}
"""
# Of all memory: so much has to be in use that a threshold of whole percents lies well below it.
USED_PERCENT = 8


def memory():
    """All of it and what is in use, in KiB."""
    with open("/proc/meminfo", encoding="utf-8") as file:
        fields = {line.split(":")[0]: int(line.split()[1]) for line in file}
    return fields["MemTotal"], fields["MemTotal"] - fields["MemAvailable"]


def hold_memory(janitor, kib):
    """By a process in no group, until the end of the test."""
    code = f"import time\nheld = bytearray(b'x') * ({kib} << 10)\nprint(len(held), flush=True)\ntime.sleep(600)\n"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    janitor.process(process.pid)
    assert int(process.stdout.readline()) == kib << 10
    return process


def hold(janitor, name):
    process = subprocess.Popen(["sh", "-c", f'read go; exec {sys.executable} -c "$0"', HOLD], stdin=subprocess.PIPE, text=True)
    janitor.process(process.pid)
    for controller in ("cpuset",) if host_tree.is_v2() else (*host_tree.WANTED, "freezer"):
        if os.path.isdir(os.path.join(CGROUPS, controller, name)) or host_tree.is_v2():
            Group(name).write(controller, "cgroup.procs", process.pid)
    process.stdin.write("go\n")
    process.stdin.flush()
    return process


def prove(host, name, private):
    top, be, ls, own = host.groups
    total, used = memory()
    missing = total * USED_PERCENT // 100 - used
    ballast = hold_memory(host.janitor, missing) if missing > 0 else None
    total, used = memory()
    threshold = used * 50 // total
    victims, spared = [hold(host.janitor, be), hold(host.janitor, be)], hold(host.janitor, ls)
    agent = host.agent(name, CONFIG.format(threshold=threshold, be=be, ls=ls),
                       "--feature-gates=BECPUSuppress=false,BEMemoryEvict=true", "--memory-evict-cool-time-seconds=60")
    if private:
        agent.in_namespace(own)
    agent.start_and_wait()
    if private:
        assert top not in agent.sees(spared.pid), "the agent's namespace shows the groups' names"
    for process in victims:
        assert process.wait(timeout=20) == -9, "killed, not ended by itself"
    wait_for("whoever was forked meanwhile is gone", lambda: not Group(be).read("cpu", "cgroup.procs"), 5)
    assert spared.poll() is None
    wait_for("the eviction is counted",
             lambda: 'koordlet_pod_eviction{node="' in agent.get("/metrics"), 10)
    assert "trigger by koordlet feature BEMemoryEvict, kill pod: batch" in agent.log_tail(100)
    # The cool-down goes on, also for the agent that comes after a crash.
    again = hold(host.janitor, be)
    agent.kill()
    agent.start_and_wait()
    time.sleep(6)
    assert again.poll() is None and spared.poll() is None, agent.log_tail()
    agent.kill()
    for process in filter(None, (again, spared, ballast)):
        process.kill()
        process.wait()
    print(f"evict, {name}: passed", flush=True)


def main():
    with stage("pods", "pods/batch", "pods/web", "pods/agent") as host:
        freezer = os.path.join(CGROUPS, "freezer")
        if os.path.isdir(freezer) and not host_tree.is_v2():
            for group in host.groups:
                os.makedirs(os.path.join(freezer, group))
        for name, private in (("agent", False), ("private", True)):
            prove(host, name, private)
    print("evict: passed")


if __name__ == "__main__":
    main()
