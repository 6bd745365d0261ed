"""The scenario of the node agent, the same on a real node and on two plain cgroups: the best-effort tier burns all CPUs,
latency-sensitive work comes, the agent dies in every moment, the work goes. Judged from the files and from the tiers'
true CPU time."""
import os
import random
import statistics
import time

from agent import wait_for
from host_tree import others_rate
from janitor import skip

QUIET_CPUS = 0.35      # what the machine may use besides the tiers for the figures to mean something
QUIET_SECONDS = 90
SMALLEST_QUOTA = 0.02  # CPUs: the agent never gives less than 2 ms in 100


def wait_quiet(own, allowed=QUIET_CPUS):
    """Skips where the rest of the machine does not come to rest: it would be counted as the system's, rightly."""
    end = time.monotonic() + QUIET_SECONDS
    while True:
        others = others_rate(own, 2)
        if others <= allowed:
            return others
        if time.monotonic() > end:
            skip(f"the machine is busy: {others:.2f} CPUs besides this test, at most {allowed} wanted")


class Watch:
    """Quota and use of the best-effort tier over a while."""

    def __init__(self, be, ls, seconds):
        began, used_be, used_ls, quotas = time.monotonic(), be.cpu_seconds(), ls() if ls else 0, []
        while time.monotonic() < began + seconds:
            quotas.append(be.quota_cpus())
            time.sleep(0.1)
        passed = time.monotonic() - began
        self.quotas = quotas
        self.be = (be.cpu_seconds() - used_be) / passed
        self.ls = (ls() - used_ls) / passed if ls else 0.0

    @property
    def quota(self):
        return statistics.median(self.quotas) if None not in self.quotas else None

    def __str__(self):
        return f"quota {self.quota:.2f} CPUs, BE uses {self.be:.2f}, LS {self.ls:.2f}"


def prove(agent, be, ls_seconds, start_ls, stop_ls, percent=60):
    """`be`: the tier's Group. `ls_seconds`: CPU seconds of the LS side. The agent is not running yet; BE burns."""
    cpus = os.cpu_count()
    agent.start_and_wait()
    wait_for("the BE tier has a quota", lambda: be.quota_cpus() is not None, 60)
    wait_for("the quota has come to rest", lambda: be.quota_cpus() < cpus * percent / 100 + 0.01, 30)
    time.sleep(2)
    idle = Watch(be, ls_seconds, 6)
    print(f"without LS load: {idle}", flush=True)
    assert idle.quota > cpus * percent / 100 - 0.8, "too little is left to BE on an idle machine"
    assert 0.6 * idle.quota < idle.be < 1.15 * idle.quota + 0.05, "BE does not use what it is given"

    start_ls()
    lower = max(SMALLEST_QUOTA, idle.quota - 0.6)
    wait_for("the quota shrinks", lambda: be.quota_cpus() <= lower + 0.001, 20)
    time.sleep(2)
    busy = Watch(be, ls_seconds, 6)
    print(f"with LS load: {busy}", flush=True)
    assert busy.quota <= lower + 0.001, "the quota does not stay low"
    assert busy.be < busy.quota * 1.15 + 0.08 and busy.be < 0.6 * idle.be, "BE's true CPU time did not shrink"
    assert busy.ls > 0.8, "LS does not get its CPU"
    highest = busy.quota + 0.35  # what the system's use moves it by

    agent.kill()
    dead = Watch(be, ls_seconds, 3)
    print(f"agent killed: {dead}", flush=True)
    assert len(set(dead.quotas)) == 1 and dead.quotas[0] <= highest, "without the agent the quota does not hold"
    agent.start()
    again = Watch(be, ls_seconds, 8)
    print(f"agent back: {again}", flush=True)
    assert None not in again.quotas and max(again.quotas) <= highest, "the restart let BE loose"

    dice = random.Random(7)
    for _ in range(5):
        agent.kill()
        agent.start()
        some = Watch(be, ls_seconds, dice.uniform(0.1, 2.0))
        assert None not in some.quotas and max(some.quotas) <= highest, "a restart let BE loose"
    wait_for("the agent answers", agent.answers, 30)
    assert Watch(be, ls_seconds, 3).quota <= highest, "after many restarts the quota is not low"

    stop_ls()
    wait_for("the quota recovers", lambda: (be.quota_cpus() or cpus) >= idle.quota - 0.35, 60)
    time.sleep(2)
    free = Watch(be, ls_seconds, 6)
    print(f"LS load gone: {free}", flush=True)
    assert free.be > 0.6 * idle.be, "BE's true CPU time did not recover"


def prove_cleanup(agent, be):
    """A crash in the middle of suppression, and nobody who comes back: --cleanup sets BE free."""
    agent.kill()
    assert be.quota_cpus() is not None
    agent.cleanup()
    assert be.quota_cpus() is None, f"--cleanup left a quota of {be.quota_cpus()} CPUs"
