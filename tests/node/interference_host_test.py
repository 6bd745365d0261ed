#!/usr/bin/env python3
"""What pods lose to others, as the agent tells it on this kernel: a service alone on its CPU, the same with best-effort work
beside it, and one that sleeps; with --long, an hour of sleep.

On a machine whose CPUs others want it is skipped where a service cannot be alone; on one that is quiet it fails then."""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host_tree  # noqa: E402
from agent import wait_for  # noqa: E402
from host_stage import stage  # noqa: E402
from host_tree import Group  # noqa: E402
from janitor import skip  # noqa: E402

CONFIG = """nodeSLO: {{}}
groups:
- {{name: web, cgroupPath: {web}, qos: LS}}
- {{name: idle, cgroupPath: {idle}, qos: LS}}
- {{name: batch, cgroupPath: {batch}, qos: BE, priority: koord-batch}}
"""
# Below this nobody sees it, and above it somebody does, whatever else the machine does.
LITTLE, MUCH = 0.05, 0.2
BUSY = 5  # percent of the last minute in which somebody waited for a CPU
HOUR = 3600


def lost(agent):
    """By pod: what /apis/v1/pods says; {} where nothing is known yet."""
    return {pod["name"]: pod["interference"] for pod in json.loads(agent.get("/apis/v1/pods"))["pods"] if "interference" in pod}


def of(agent, name):
    return lost(agent).get(name, {}).get("all")


def metric(agent, name, *labels):
    for line in agent.get("/metrics").splitlines():
        if line.startswith(name + "{") and all(label in line for label in labels):
            return float(line.rsplit(" ", 1)[1])
    return None


def weigh_most(group):
    """So that the rest of the machine takes next to nothing from it."""
    Group(group).write("cpu", "cpu.weight" if host_tree.is_v2() else "cpu.shares", 10000 if host_tree.is_v2() else 262144)


def is_busy():
    """Whether tasks of this machine wait for its CPUs: the kernel's word, or that of its load."""
    try:
        with open("/proc/pressure/cpu", encoding="utf-8") as file:
            return float(re.search(r"some avg10=\S+ avg60=(\S+)", file.read()).group(1)) > BUSY
    except (OSError, AttributeError):
        return os.getloadavg()[0] > (os.cpu_count() or 1) / 2


def quiet(agent):
    """What the service and the sleeper lose once both lose little: beginning costs them something, too."""
    best = {}

    def little():
        now = {name: of(agent, name) for name in ("web", "idle")}
        best.update({name: min(value, best.get(name, value)) for name, value in now.items() if value is not None})
        return now if all(value is not None and value < LITTLE for value in now.values()) else None
    try:
        return wait_for("a service that is alone", little, 120)
    except AssertionError:
        if best and is_busy():
            skip(f"others want this machine's CPUs (load {os.getloadavg()[0]:.1f}): at best {best}")
        raise


def sleep_an_hour(agent):
    most, ends = 0, time.monotonic() + HOUR
    while time.monotonic() < ends:
        time.sleep(5)
        now = of(agent, "idle")
        assert now is not None and now < LITTLE, f"who sleeps loses nothing, not even {now}"
        most = max(most, now)
    print(f"an idle hour: {most:.4f} at most, load {os.getloadavg()[2]:.1f}", flush=True)


def main():
    with stage("web", "idle", "batch") as host:
        web, idle, batch = host.groups
        for group in (web, batch):
            weigh_most(group)
        agent = host.agent("agent", CONFIG.format(web=web, idle=idle, batch=batch), "--feature-gates=PodInterference=true")
        agent.start_and_wait()
        collectors = {one["name"]: one for one in json.loads(agent.get("/apis/v1/node"))["collectors"]}
        for name in ("run_queue_latency", "pod_interference"):
            if not collectors[name]["works"]:
                skip(f"{name}: {collectors[name].get('reason')}")
        cpu = min(os.sched_getaffinity(0))
        service, = host.tree.burn(web, 1)
        os.sched_setaffinity(service.pid, {cpu})
        sleeper = subprocess.Popen(["sleep", "100000"])
        host.janitor.process(sleeper.pid)
        for controller in ("cpuset",) if host_tree.is_v2() else host_tree.WANTED:
            Group(idle).write(controller, "cgroup.procs", sleeper.pid)

        before = quiet(agent)
        print(f"alone: {before['web']:.4f}, asleep: {before['idle']:.4f}", flush=True)

        spinner, = host.tree.burn(batch, 1)
        os.sched_setaffinity(spinner.pid, {cpu})
        began = time.monotonic()
        after = wait_for("a noisy neighbour", lambda: (of(agent, "web") or 0) > max(MUCH, 5 * before["web"]) and lost(agent), 120)
        print(f"with a neighbour, after {time.monotonic() - began:.0f} s:", after, flush=True)
        assert after["web"]["runQueue"] > 0.5 * after["web"]["all"], "what it loses it loses in the queue for its CPU"
        assert after["batch"]["all"] > MUCH, "its neighbour waits for it, too"
        assert after["idle"]["all"] < max(LITTLE, 5 * before["idle"]), "who sleeps loses nothing"
        node = {one["name"]: one for one in json.loads(agent.get("/apis/v1/node"))["interference"]}
        assert node["LS"]["all"] > LITTLE and node["BE"]["all"] > MUCH, node
        assert metric(agent, "koordlet_pod_interference", 'pod_name="web"', 'qos="LS"') > MUCH
        assert metric(agent, "koordlet_pod_interference_part", 'pod_name="web"', 'part="run_queue"') > MUCH
        assert metric(agent, "koordlet_tier_interference", 'qos="BE"') > MUCH
        if "--long" in sys.argv[1:]:
            for process in (spinner, service):
                process.kill()
            sleep_an_hour(agent)
        assert agent.stop() == 0, agent.log_tail()
    print("interference on this host: passed")


if __name__ == "__main__":
    main()
