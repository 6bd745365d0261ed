"""Where the protection benchmark plays: two plain cgroups of its own, below one that weighs as much as a kubelet's pods.
What a stage is asked for: the groups of both tiers, into which groups a process of theirs goes, and to be made as an arm
wants it and free again."""
import json
import os
import shutil

import arms
from agent import Agent, wait_for
from host_tree import Group, HostTree, is_v2
from janitor import hierarchies
from real_node import free_port

# Of cgroup v1: what a pod of one CPU has, what the kubelet gives best-effort pods, and what it gives all pods.
MOST_SHARES, LEAST_SHARES, TOP_SHARES = 1024, 2, 1024 * os.cpu_count()


def has_idle(group):
    return os.path.exists(group.file("cpu", "cpu.idle"))


def weigh(group, least, idle):
    """The order matters: the kernel takes no shares of an idle group."""
    if has_idle(group):
        group.write("cpu", "cpu.idle", 0)
    if is_v2():
        group.write("cpu", "cpu.weight", 1 if least else 100)
    else:
        group.write("cpu", "cpu.shares", LEAST_SHARES if least else MOST_SHARES)
    if idle:
        group.write("cpu", "cpu.idle", 1)


def limit(group, cpus):
    """`cpus`: None for no limit."""
    if is_v2():
        group.write("cpu", "cpu.max", f"{'max' if cpus is None else int(cpus * 100000)} 100000")
    else:
        group.write("cpu", "cpu.cfs_quota_us", -1 if cpus is None else int(cpus * 100000))


def joiner(relative):
    """For preexec_fn: the new process goes into the group, in all hierarchies that have it, before it is anything else."""
    files = [path for path in (os.path.join(hierarchy, relative, "cgroup.procs") for hierarchy in hierarchies())
             if os.path.exists(path)]
    assert files, f"no cgroup {relative}"

    def join():
        for path in files:
            with open(path, "w", encoding="utf-8") as file:
                file.write("0")
    return join


def blame_of(agent):
    """What the agent says of CPU blame: {"state": "calm", "caused_p99_seconds": ..., "cpu_cores": its limit, ...}."""
    told = {}
    for line in agent.get("/metrics").splitlines():
        if not line.startswith("koordlet_be_blame_"):
            continue
        name, value = line.removeprefix("koordlet_be_blame_").rsplit(" ", 1)
        if not name.startswith("state{"):
            told[name.partition("{")[0]] = float(value)
        elif float(value) == 1:
            told["state"] = name.split('state="')[1].split('"')[0]
    return told


def wait_steered(agent, arm, be, seconds):
    """Until the agent has a signal to act on, or has acted."""
    try:
        if arm.blames:
            wait_for("a fit signal of who waits for whom",
                     lambda: blame_of(agent).get("state", "waiting") != "waiting", seconds)
        else:
            wait_for("a quota of best-effort work", lambda: be.quota_cpus() is not None, seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{agent.log_tail()}") from None


def notes_of(agent, arm, be):
    """What is worth keeping of an arm before it is cleared away."""
    return {"quota_cpus": be.quota_cpus(), **({"blame": blame_of(agent)} if arm.blames else {})}


class Plain:
    """Two cgroups beside each other at the top, and koord as `--standalone-config` runs it."""
    name, arms, overload, kinds = "plain", arms.PLAIN, arms.OVERLOAD, arms.KINDS
    most_others = 0.08  # of the machine; short-lived processes make work for the kernel's threads

    def __init__(self, janitor, scratch):
        self.janitor, self.scratch, self.agents, self.agent = janitor, scratch, 0, None
        top = f"koord-bench-{os.getpid()}"
        names = [f"{top}/{tier}" for tier in ("ls", "be")]
        HostTree(janitor, top, *names)
        Group(top).write("cpu", *(("cpu.weight", 100) if is_v2() else ("cpu.shares", TOP_SHARES)))
        self.ls, self.be = map(Group, names)
        self.join_ls, self.join_be = map(joiner, names)

    def can(self, arm):
        return not arm.idle or has_idle(self.be)

    def prepare(self, arm):
        """Returns when the arm's agent, if it has one, has begun to steer."""
        weigh(self.be, arm.least_shares, arm.idle)
        if arm.slo is None:
            return
        self.agents += 1
        folder = os.path.join(self.scratch, f"agent-{self.agents}")
        os.makedirs(folder)
        config = os.path.join(folder, "standalone.yaml")
        with open(config, "w", encoding="utf-8") as file:  # JSON is YAML, too
            json.dump({"nodeSLO": arm.slo, "groups": [
                {"name": "service", "cgroupPath": self.ls.relative, "qos": "LS"},
                {"name": "batch", "cgroupPath": self.be.relative, "qos": "BE", "priority": "koord-batch"}]}, file)
        self.agent = Agent(self.janitor, folder, free_port(), f"--standalone-config={config}", *arm.flags)
        self.agent.start_and_wait()
        wait_steered(self.agent, arm, self.be, 20)

    def clear(self):
        if self.agent is not None:
            self.agent.kill()
            self.agent.cleanup()
            shutil.rmtree(self.agent.folder, ignore_errors=True)
            self.agent = None
        for group in (self.ls, self.be):
            limit(group, None)
            weigh(group, False, False)
