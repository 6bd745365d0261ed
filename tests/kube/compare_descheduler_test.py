#!/usr/bin/env python3
"""koord-descheduler and koord's descheduler on one real API server: whom each would make go, pass by pass, and why. The clusters of
LowNodeLoad's own tests, random ones for it, and random ones for the plugins of sigs' descheduler.

The original takes nodes and pods in the order of a Go map, so it is asked for several passes: where these are the same, koord's is
that one; where they are not, koord's is one of them, or as many pods go as in one of them, of no node more than one more or less,
since there are more orders than anybody sees. What is left aside stands in `ASIDE`. Needs the original's program; no part of CI.
usage: compare_descheduler_test.py [TEST...]       KOORDINATOR_BIN names the folder with `koord-descheduler` and `crds/`
"""
import collections
import functools
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import descheduler_world  # noqa: E402
import kube_api  # noqa: E402
import original_descheduler  # noqa: E402
import random_descheduling as cases  # noqa: E402
import reservations  # noqa: E402
import schedulers  # noqa: E402
from deschedulers import Descheduler, configuration, plugin  # noqa: E402

# Defects of the original, which stand in packaging/COMPATIBILITY.md, and what is chance there, and how worlds or comparisons leave them aside.
ASIDE = {
    "nodeFit of an evictor does not reach sigs' plugins": "evictors have none",
    "node fit of Koordinator's plugins knows neither anti-affinity nor how many pods a node takes": "LowNodeLoad's pods have none, its nodes take all",
    "tolerations are counted against taints": "nodes that Low- and HighNodeUtilization look at have no taints",
    "a pod leaves for a node that it prefers also if it fits on none": "RemovePodsViolatingNodeAffinity is asked for what is required",
    "domains are counted without the pods that may not go, and the most important pods go first": "all pods may go, and are counted",
    "sigs' plugins say no reason": "reasons are LowNodeLoad's",
    "CustomPriority moves pods that have ended": "all run",
    "where room is short, the order of nodes decides which of them CustomPriority drains": "its nodes are large",
    "CustomPriority's BestEffort forgets which room it has given away": "it is asked without node fit",
    "in a dry run a second pool chooses pods that go already": "such cases are counted as left aside",
}
TABLE = descheduler_world.rows(os.path.join(HERE, "..", "golden", "descheduler", "low_node_load.jsonl"))
SEEDS = range(1, 7)
PASSES, MOST_PASSES, PATIENCE_SECONDS = 8, 512, 60
SPACES = sorted({*cases.SPACES, *(f"namespace{index}" for index in (1, 3, 4, 5))})


def by_shape(world, told):
    """Alike pods are one another's: which node they leave, and for which reason."""
    return collections.Counter((world.shape(pod), node, reason) for pod, all_of in told.items() for node, _, reason in all_of)


def by_name(_, told):
    return {pod: sorted((node, reason) for node, _, reason in all_of) for pod, all_of in told.items()}


def without_reason(_, told):
    return {pod: sorted(node for node, *_ in all_of) for pod, all_of in told.items()}


def by_workload(world, told):
    """How many of each workload leave each node."""
    return collections.Counter((world.owner(pod), node) for pod, all_of in told.items() for node, *_ in all_of)


def by_workload_and_reason(world, told):
    """Alike pods of a workload are one another's."""
    return collections.Counter((world.owner(pod), *each[::2]) for pod, all_of in told.items() for each in all_of)


def by_workload_alone(world, told):
    return collections.Counter(world.owner(pod) for pod, all_of in told.items() for _ in all_of)


# How plugins beside LowNodeLoad are compared, where it is not by the names of those that go.
VIEWS = {"RemoveDuplicates": by_workload, "RemovePodsViolatingInterPodAntiAffinity": by_workload_alone,
         "RemovePodsViolatingTopologySpreadConstraint": by_workload_alone, "FragmentationAware": by_workload_and_reason,
         "CustomPriority": by_workload_and_reason}
FREE = {"free": True, "social": False, "ranked": False}
# Their worlds, where they are not social ones with taints.
WORLDS = {"LowNodeUtilization": {"tainted": False}, "HighNodeUtilization": {"tainted": False},
          "CustomPriority": {**FREE, "room": 8}, "FragmentationAware": FREE, "RemovePodsViolatingTopologySpreadConstraint": FREE}


def verdict(world, view, theirs, ours):
    """In which way koord's pass is one of the original's; None: it is not, as far as these show."""
    seen, own = [view(world, told) for told in theirs], view(world, ours)
    if any(len(all_of) > 1 for told in theirs for all_of in told.values()):
        return "left aside"
    if all(told == own for told in seen):
        return "the same"
    if own in seen:
        return "one of the original's"
    if all(told == seen[0] for told in seen):
        return None
    counts, mine = [by_node(told) for told in theirs], by_node(ours)
    nodes = {node for count in [mine, *counts] for node in count}
    near = (min(count[node] for count in counts) - 1 <= mine[node] <= max(count[node] for count in counts) + 1 for node in nodes)
    return "near the original's" if min(map(len, theirs)) <= len(ours) <= max(map(len, theirs)) and all(near) else None


def by_node(told):
    return collections.Counter(node for all_of in told.values() for node, *_ in all_of)


def told_apart(theirs, ours):
    first = theirs[0]
    return (f"the original's passes have {dict(collections.Counter(map(len, theirs)))} pods, koord's {len(ours)}, of nodes {by_node(ours)} "
            f"(the original {by_node(first)})\n"
            f"only the original: { {pod: first[pod] for pod in sorted(first.keys() - ours.keys())} }\n"
            f"only koord: { {pod: ours[pod] for pod in sorted(ours.keys() - first.keys())} }\n"
            f"otherwise: { {pod: (first[pod], ours[pod]) for pod in sorted(first.keys() & ours.keys()) if first[pod] != ours[pod]} }")


class TheDeschedulers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        reservations.install(schedulers.KUBECONFIG, original_descheduler.CRDS)
        schedulers.ensure_namespaces(cls.api, *SPACES)
        descheduler_world.make_priority_classes(cls.api, [0, 10000, *cases.RANKS])
        cls.met, cls.verdicts = collections.Counter(), collections.Counter()

    def setUp(self):
        self.tearDown()

    def tearDown(self):
        descheduler_world.clear(self.api, SPACES)

    def compare(self, world, wanted, view, **more):
        """Whom koord would make go, once that is found to be what the original does."""
        with Descheduler("original", configuration(schedulers.KUBECONFIG, wanted, **more)) as original, \
                Descheduler("koord", configuration(schedulers.KUBECONFIG, wanted, **more)) as koord:
            ours, again = koord.passes(2)
            self.assertEqual(view(world, ours), view(world, again))
            theirs, end = original.passes(PASSES), time.monotonic() + PATIENCE_SECONDS
            while (found := verdict(world, view, theirs, ours)) is None and time.monotonic() < end:
                theirs = original.passes(min(2 * len(theirs), MOST_PASSES))
                if len(theirs) == MOST_PASSES:
                    break
        found = found or verdict(world, view, theirs, ours)
        self.met[wanted["name"]] += len(ours)
        self.verdicts[found] += 1
        self.assertTrue(found, f"{wanted} {more}\n{told_apart(theirs, ours)}")
        return ours

    def test_clusters_of_low_node_loads_own_tests(self):
        for row in TABLE:
            with self.subTest(row["name"]):
                descheduler_world.clear(self.api, SPACES)
                world = descheduler_world.row_world(row)
                world.install(self.api)
                limits = {"maxNoOfPodsToEvictTotal": row["limit"]} if "limit" in row else {}
                gone = self.compare(world, plugin("LowNodeLoad", "balance", **descheduler_world.row_args(row)), by_shape, **limits)
                self.assertEqual(len(gone), row["evicted"])
                self.assertLessEqual({pod.split("/")[1] for pod in gone}, set(row.get("names", [pod.split("/")[1] for pod in gone])))

    def random_loads(self, seed):
        world = cases.RandomWorld(seed, social=False, ranked=seed % 2 == 1)
        world.install(self.api)
        for index in range(6):
            number = seed * 100 + index
            with self.subTest(number):
                self.compare(world, plugin("LowNodeLoad", "balance", **cases.load_args(number)), by_name,
                             evictor_args=cases.evictor_args(number), **cases.limits(number, world))

    def test_a_node_has_to_use_too_much_for_some_passes(self):
        row = TABLE[1]
        world = descheduler_world.row_world(row)
        world.install(self.api)
        for passes in (2, 4):
            args = {**descheduler_world.row_args(row), "anomalyCondition": {"timeout": "10m", "consecutiveAbnormalities": passes, "consecutiveNormalities": 1}}
            config = functools.partial(configuration, schedulers.KUBECONFIG, plugin("LowNodeLoad", "balance", **args))
            with Descheduler("original", config()) as original, Descheduler("koord", config()) as koord:
                theirs, ours = ([len(told) for told in side.passes(12)] for side in (original, koord))
            self.assertEqual(ours, theirs)
            self.assertEqual(theirs, [0] * passes + [row["evicted"]] * (12 - passes))

    def test_evictions_that_are_made(self):
        """One pass of each, and whom it leaves."""
        for row in TABLE[1:8]:
            left = []
            for side in ("original", "koord"):
                descheduler_world.clear(self.api, SPACES)
                world = descheduler_world.row_world(row)
                world.install(self.api)
                config = configuration(schedulers.KUBECONFIG, plugin("LowNodeLoad", "balance", **descheduler_world.row_args(row)), dry_run=False, interval="1h")
                with Descheduler(side, config) as process:
                    process.passes_over(1)
                    left.append(schedulers.settled(lambda: collections.Counter(
                        pod["spec"]["nodeName"] for space in SPACES for pod in self.api.list(f"/api/v1/namespaces/{space}/pods")), 1))
            self.assertEqual(*left, row["name"])
            self.assertEqual(left[0].total(), len(row["pods"]) - row["evicted"])

    def random_plugins(self, seed):
        installed = None
        for number, (name, point, args) in enumerate(sorted([*cases.sigs_plugins(seed), *cases.own_plugins(seed)], key=lambda each: str(WORLDS.get(each[0])))):
            with self.subTest(name):
                wanted = {"social": True, "ranked": True, **WORLDS.get(name, {})}
                if wanted != installed:
                    descheduler_world.clear(self.api, SPACES)
                    world, installed = cases.RandomWorld(seed, **wanted), wanted
                    world.install(self.api)
                evictor = {} if wanted.get("free") else cases.evictor_args(seed * 100 + number)
                self.compare(world, plugin(name, point, **args), VIEWS.get(name, without_reason), evictor_args=evictor)

    def test_that_every_plugin_had_pods_go(self):
        print(f"pods that go: {dict(self.met)}; passes are {dict(self.verdicts)}")
        names = ["LowNodeLoad", *(name for each in (cases.own_plugins, cases.sigs_plugins) for name, *_ in each(1))]
        self.assertEqual([name for name in names if not self.met[name]], [])
        self.assertGreater(self.verdicts["the same"], 2 * (self.verdicts.total() - self.verdicts["the same"]))


for each in SEEDS:
    setattr(TheDeschedulers, f"test_random_loads_{each}", lambda self, seed=each: self.random_loads(seed))
    setattr(TheDeschedulers, f"test_random_plugins_{each}", lambda self, seed=each: self.random_plugins(seed))


if __name__ == "__main__":
    original_descheduler.main()
