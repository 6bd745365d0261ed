#!/usr/bin/env python3
"""What tracing waits for a CPU may cost, on this kernel: a flood of context switches beyond the limit makes the agent
sample, then pause; who made others wait is unknown meanwhile; once the flood is over it is whole again."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import wait_for  # noqa: E402
from host_stage import stage  # noqa: E402
from janitor import skip  # noqa: E402

CONFIG = """nodeSLO: {{}}
groups:
- {{name: web, cgroupPath: {web}, qos: LS}}
- {{name: batch, cgroupPath: {batch}, qos: BE, priority: koord-batch}}
"""
# A flood that is cheap for the machine is beyond this; what else runs here is below half of it.
LIMIT = 0.3  # percent
PAIR = """
import os, sys
os.sched_setaffinity(0, {{{cpu}}})
os.nice(-10)
ping, pong = os.pipe(), os.pipe()
if os.fork():
    os.close(pong[1])
    while os.read(pong[0], 1):
        os.write(ping[1], b"x")
else:
    os.close(ping[1])
    os.write(pong[1], b"x")
    while os.read(ping[0], 1):
        os.write(pong[1], b"x")
"""


def metric(agent, name):
    for line in agent.get("/metrics").splitlines():
        if line.startswith(name) and line[len(name)] in "{ ":
            yield line


def state(agent):
    return next((line.split('state="')[1].split('"')[0] for line in metric(agent, "koordlet_run_queue_tracer_state")
                 if line.rsplit(" ", 1)[1] == "1"), None)


def cost(agent):
    return float(next(metric(agent, "koordlet_run_queue_tracer_cost_ratio")).rsplit(" ", 1)[1])


def blame(agent):
    return json.loads(agent.get("/apis/v1/node")).get("blame") or {}


def main():
    with stage("web", "batch") as host:
        web, batch = host.groups
        agent = host.agent("agent", CONFIG.format(web=web, batch=batch), "--feature-gates=BECPUBlame=true",
                           f"--run-queue-latency-limit={LIMIT}")
        agent.start_and_wait()
        collectors = {one["name"]: one for one in json.loads(agent.get("/apis/v1/node"))["collectors"]}
        if not collectors["wait_blame"]["works"]:
            skip(f"no eBPF: {collectors['wait_blame'].get('reason')}")
        host.tree.burn(web, 1)
        wait_for("blame while all is traced", lambda: state(agent) == "full" and blame(agent).get("fit"), 20)
        print(f"tracing all: {cost(agent) * 100:.3f}% of the machine", flush=True)

        cpu = min(os.sched_getaffinity(0))
        flood = subprocess.Popen([sys.executable, "-c", PAIR.format(cpu=cpu)], start_new_session=True)
        host.janitor.process(flood.pid)
        seen, began = [], time.monotonic()

        def look():
            now = state(agent)
            if not seen or seen[-1] != now:
                seen.append(now)
                print(f"{time.monotonic() - began:5.1f} s: {now}, {cost(agent) * 100:.2f}%", flush=True)
            if now != "full" and state(agent) == now:
                said = blame(agent)
                assert not said.get("fit"), said
            return now

        wait_for("it samples", lambda: look() == "sampled", 20)
        wait_for("what is not traced is unknown", lambda: "costs too much" in blame(agent).get("whyUnfit", ""), 5)
        wait_for("it pauses", lambda: look() == "paused", 30)
        os.killpg(flood.pid, signal.SIGKILL)
        flood.wait()
        wait_for("it samples again", lambda: look() == "sampled", 50)
        wait_for("it traces all again", lambda: look() == "full", 120)
        wait_for("somebody may be blamed again", lambda: blame(agent).get("fit"), 20)
        # full, sampled, paused, sampled, full; more where the machine has a flood of its own.
        assert agent.said("the run-queue tracer changed its mode") >= 4, agent.log_tail()
        print("the tracer: " + ", ".join(str(one) for one in seen))


if __name__ == "__main__":
    main()
