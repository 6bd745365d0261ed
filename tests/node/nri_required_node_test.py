#!/usr/bin/env python3
"""containerd 2.2 that insists on the agent (packaging/containerd-nri-required.toml), 200 pods: none sees other values with its
first instruction; while the agent is away no container is made, but for pods that say so; when it is back all are. Going back is
the file's removal and a restart of containerd: what runs goes on. No part of CI."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import containerd  # noqa: E402
from agent import TREE, Agent, skip_without_role, wait_for  # noqa: E402
from births import birth, wait_right, wave, wrong_births, wrong_now  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import define  # noqa: E402
from real_node import PODS, RealNode, free_port, missing  # noqa: E402

COUNT, AWAY_SECONDS, MENDED_SECONDS = 200, 8, 10


class RequiringNode(RealNode):
    drop_in = os.path.join(TREE, "packaging", "containerd-nri-required.toml")


def connected(agent):
    return "koordlet_runtime_connected 1" in agent.get("/metrics")


def born_right(node, what, names):
    node.wait_running(*names, seconds=600)
    wrong = wrong_births(node, names)
    print(f"{what}: {len(names)} pods, {len(wrong)} first instructions saw other values", flush=True)
    assert not wrong, wrong
    assert not wrong_now(node, names)


def prove(node, agent):
    wait_for("the runtime asks the agent", lambda: connected(agent), 60)
    kept = wave(node, "first", 4)
    node.wait_running(*kept)
    wait_right(node, kept, MENDED_SECONDS)
    born_right(node, "the agent is there", wave(node, "many", COUNT))
    agent.kill()
    waiting = wave(node, "away", 4)
    own = birth(node, "own-be-0", "be")
    own["metadata"]["annotations"]["tolerate-missing-plugins.koordinator.sh/pod"] = "true"
    node.apply(own)
    node.wait_running("own-be-0")
    time.sleep(AWAY_SECONDS)
    states = {pod["metadata"]["name"]: pod["status"]["phase"] for pod in node.get(PODS)["items"]}
    assert [states[name] for name in waiting] == ["Pending"] * 4, f"while the agent is away: {states}"
    agent.start_and_wait()
    born_right(node, "refused while the agent was away, tried again", waiting)

    def running():
        return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["containerID"] for pod in node.get(PODS)["items"]
                if pod["metadata"]["name"] in kept}

    before = running()
    agent.kill()
    node.containerd.kill()
    os.unlink(node.containerd.drop_in)
    node.containerd.start()
    node.apply(birth(node, "later-be-0", "be"))
    node.wait_running("later-be-0", seconds=180)
    assert running() == before, "going back has cost containers"
    print("nobody insists any more: containers go on, new ones start without the agent", flush=True)


def main():
    if reason := missing(containerd.NEWEST):
        skip(reason)
    if (os.cpu_count() or 1) < 2:
        skip("two CPUs are wanted")
    skip_without_role()
    with Unchanged(), RequiringNode(version=containerd.NEWEST, maxPods=250) as node:
        define(node)
        agent = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                      f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/",
                      "--runtime-hooks-nri-socket-path=nri.sock", "--runtime-hooks-addr=", env={"NODE_NAME": node.name})
        agent.start_and_wait()
        try:
            prove(node, agent)
        except AssertionError as error:
            raise AssertionError(f"{error}\nagent:\n{agent.log_tail()}\ncontainerd:\n{node.log_tail('containerd')}") from None
        finally:
            agent.kill()
    print("a containerd that insists on the agent: passed")


if __name__ == "__main__":
    main()
