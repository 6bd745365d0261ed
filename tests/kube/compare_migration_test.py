#!/usr/bin/env python3
"""The original's MigrationController and koord's on one real API server, one after the other: the same jobs, made by hand and by
passes, with the same things happening around them, come to the same phases, conditions, Reservations and pods; and of many jobs the
same ones are let go on. What differs and why stands in `LISTED`. Needs the original's program; no part of CI.

The original's events have no sink, so nothing is known of them. One that is built with this line behind record.NewBroadcaster() of its
cmd/koord-descheduler/app/server.go has, and then events are compared, too (typedcorev1 is k8s.io/client-go/kubernetes/typed/core/v1):
broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: cc.Client.CoreV1().Events("")})

usage: compare_migration_test.py [TEST...]       KOORDINATOR_BIN names the folder with `koord-descheduler` and `crds/`
"""
import collections
import json
import os
import random
import re
import sys
import threading
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import descheduler_world  # noqa: E402
import kube_api  # noqa: E402
import migration_plays as plays  # noqa: E402
import original_descheduler  # noqa: E402
import random_descheduling as cases  # noqa: E402
import reservations  # noqa: E402
import schedulers  # noqa: E402
from deschedulers import Descheduler, configuration, plugin  # noqa: E402
from migration_plays import JOBS, PLAYS, RESERVATIONS, UID, Play  # noqa: E402

ARGS = {"evictQPS": 100, "evictBurst": 100, "maxMigratingPerNode": 0, "schedulerNames": ["default-scheduler"]}
SIDES = ("original", "koord")
SPACES = sorted({*cases.SPACES, *(f"namespace{index}" for index in (1, 3, 4, 5))})
TABLE = descheduler_world.rows(os.path.join(HERE, "..", "golden", "descheduler", "low_node_load.jsonl"))
GI = 1 << 30

# What differs and why; all of it is in packaging/COMPATIBILITY.md. (play, path, the original's, koord's): whether that is it.
LISTED = [
    ("of which workload and node a pod was stands on the job",
     lambda _, path, theirs, ours: re.search(r"/annotations/descheduler.koordinator.sh/(workload-uid|from-node)$", path) and theirs is None),
    ("a job's reference names kind and group of its Reservation",
     lambda _, path, theirs, ours: re.search(r"/spec/reservationOptions/reservationRef/(apiVersion|kind)$", path) and theirs is None and
     ours in ("Reservation", "scheduling.koordinator.sh/v1alpha1")),
    ("a user's Reservation without labels has an order, too",
     lambda play, path, theirs, ours: play == "has-a-reservation" and path.endswith("/reservation/labels/scheduling.koordinator.sh/reservation-order")
     and theirs is None),
    ("what was made for a job that has failed goes with it",
     lambda play, path, theirs, ours: play in ("would-stay", "goes-before") and (
         path.startswith("/0/reservation/") and ours is None or path == "/0/spec/reservationOptions/reservationRef/uid")),
    ("how far a job has come when its time is over is chance",
     lambda play, path, *_: play == "is-too-late" and re.search(r"/status/(conditions|status)", path)),
]

# The same of events. (play, whose they are alone, type, reason, message): whether that is it.
LISTED_EVENTS = [
    ("what the original waits for it sees each three seconds, or not at all",
     lambda play, side, kind, reason, _: side == "koord" and reason in ("WaitForPodBindReservation", "WaitForBoundPodReady")),
    ("a job without a Reservation tells of its end, too",
     lambda play, side, kind, reason, message: side == "koord" and reason == "Complete" and message.endswith("has been evicted")),
    ("a refusal is told as the API server says it, without the program's own words around it",
     lambda play, side, kind, reason, message: reason == "Evicting" and kind == "Warning" and play == "is-kept-by-a-budget" and
     message.startswith("Failed evict Pod ") and message.endswith("Cannot evict pod as it would violate the pod's disruption budget.")),
]
EVENTS = "/api/v1/namespaces/default/events"


def leaves(value, path=""):
    if isinstance(value, (dict, list)) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{path}/{key}")
    else:
        yield path, value


def differences(play, theirs, ours):
    theirs, ours = dict(leaves(theirs)), dict(leaves(ours))
    found = [(path, theirs.get(path), ours.get(path)) for path in sorted(theirs.keys() | ours.keys()) if theirs.get(path) != ours.get(path)]
    return [f"{play}: {path}: the original {theirs!r}, koord {ours!r}" for path, theirs, ours in found
            if not any(is_it(play, path, theirs, ours) for _, is_it in LISTED)]


def different_events(play, theirs, ours):
    return [f"{play}: only {side} tells {event}" for side, events in (("the original", theirs - ours), ("koord", ours - theirs))
            for event in sorted(events) if not any(is_it(play, side, *event[1:]) for _, is_it in LISTED_EVENTS)]


def world_of_plays():
    """Each play has a workload of five pods, on which it is not alone; its own is the first."""
    world = descheduler_world.World()
    for node in (plays.HOME, plays.AWAY, "n3"):
        world.node(node, 32000, 64 * GI)
    world.pod("others-0", "n3", {}, owner="others")
    for name, (_, more) in PLAYS.items():
        more = {"owner": name, **more}
        labels = {"play": name, **more.pop("labels", {})}
        alone, waiting = more.pop("alone", False), more.pop("waiting", False)
        status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]}
        world.pod(f"{name}-0", None if waiting else plays.HOME, {"cpu": "100m"}, labels=labels, status=status if waiting else {}, **more)
        if more["owner"] and more.get("kind", "ReplicaSet") == "ReplicaSet":
            for index in range(0 if alone else 4):
                world.pod(f"{name}-{index + 1}", "n3", {"cpu": "100m"}, owner=name, labels=labels)
        else:
            world.sizes["default", name] += 5  # what a successor would be of
    return world


class TheControllers(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        reservations.install(schedulers.KUBECONFIG, original_descheduler.CRDS)
        schedulers.ensure_namespaces(cls.api, *SPACES)
        descheduler_world.make_priority_classes(cls.api, [0, 10000, *cases.RANKS])
        cls.met = collections.Counter()

    def setUp(self):
        self.clear()

    def tearDown(self):
        self.clear()

    def clear(self):
        connection = self.api.connect()
        for path in (JOBS, RESERVATIONS, plays.BUDGETS, EVENTS):
            connection.request("DELETE", path)
        descheduler_world.clear(self.api, SPACES)

    def on_each_side(self, world, act, wanted=None, **more):
        """{side: act()} while its descheduler runs on this world, or None where it has failed."""
        found = {}
        for side in SIDES:
            self.clear()
            world().install(self.api)
            with Descheduler(side, configuration(schedulers.KUBECONFIG, wanted, evictor="MigrationController", dry_run=False, **more)) as process:
                found[side] = act(process)
        return found

    def events(self, process, names):
        """{play: {(kind, type, reason, message)}} of what the descheduler tells of its job and pod."""
        def look():
            told = {name: set() for name in names}
            for event in self.api.list(EVENTS):
                about, by = event["involvedObject"], event.get("source", {}).get("component") or event.get("reportingComponent")
                name = about["name"] if about["kind"] == "PodMigrationJob" else about["name"].removesuffix("-0")
                if by == "koord-descheduler" and name in told:
                    told[name].add((about["kind"], event["type"], event["reason"], UID.sub("uid", event["message"])))
            return told
        return schedulers.settled(look, 3) if process.alive() else None

    def test_plays(self):
        errors, told, wanted = [], {}, [name for name in PLAYS if name in os.environ.get("PLAYS", name)]

        def act(process):
            found = {name: Play(self.api, name) for name in wanted}

            def perform(play):
                try:
                    PLAYS[play.name][0](play)
                    play.note()
                except Exception:  # told below
                    errors.append(f"{process.side}: {play.name}: {traceback.format_exc(limit=-3)}")
            threads = [threading.Thread(target=perform, args=(play,)) for play in found.values()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if errors:
                errors.append(process.output()[-3000:])
            told[process.side] = self.events(process, wanted)
            return {name: play.notes for name, play in found.items()}

        found = self.on_each_side(world_of_plays, act, evictor_args=ARGS, interval="1h")
        self.assertFalse(errors, "\n".join(errors))
        wrong = [line for name in wanted for line in differences(name, found["original"][name], found["koord"][name])]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))
        for name in wanted:
            self.assertTrue(told["koord"][name], name)
        self.met["plays"] = len(wanted)
        if not any(told["original"].values()):
            return
        self.met["events"] = sum(map(len, told["original"].values()))
        wrong = [line for name in wanted for line in different_events(name, told["original"][name], told["koord"][name])]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def jobs_at_rest(self):
        """{pod: (phase, reason, message, whether it may go on)}, once nothing has happened for longer than the original waits."""
        def look():
            return {job["spec"]["podRef"]["name"]: (*((job.get("status") or {}).get(key) for key in ("phase", "reason")),
                                                   (job["metadata"].get("annotations") or {}).get("descheduler.koordinator.sh/passed-arbitration"))
                    for job in self.api.list(JOBS)}
        return schedulers.settled(look, 5)

    def arbitrate(self, seed):
        chooser = random.Random(seed)
        limits = {"maxMigratingPerNode": chooser.choice([1, 2, 3]), "maxMigratingPerNamespace": chooser.choice([0, 3, 6]),
                  "maxMigratingGlobally": chooser.choice([0, 0, 8]), "skipCheckExpectedReplicas": chooser.random() < 0.5,
                  **{name: chooser.choice([1, 2, "30%"]) for name in ("maxMigratingPerWorkload", "maxUnavailablePerWorkload") if chooser.random() < 0.5}}

        def world():
            made = cases.RandomWorld(seed, social=False, ranked=True, nodes=(5, 8), pods=(60, 150))
            # What stands behind a Job's pods is looked up in vain: the original fails those, koord waits.
            made.pods = [pod for pod in made.pods if not pod["owner"] or pod["owner"][0] != "Job"]
            chosen = random.Random(seed).sample(made.pods, 40)
            install = made.install

            def with_jobs(api):
                install(api)
                api.each(chosen, lambda connection, pod: connection.request("POST", JOBS, {
                    "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "PodMigrationJob", "metadata": {"name": f"of-{pod['metadata']['name']}"},
                    "spec": {"podRef": {key: pod["metadata"][key] for key in ("namespace", "name")}}}))
            made.install = with_jobs
            return made

        found = self.on_each_side(world, lambda _: self.jobs_at_rest(), evictor_args={**ARGS, **limits}, interval="1h")
        for verdict in found["koord"].values():
            self.met[verdict] += 1
        wrong = [f"{pod}: the original {theirs}, koord {found['koord'].get(pod)}" for pod, theirs in sorted(found["original"].items())
                 if theirs != found["koord"].get(pod)]
        self.assertFalse(wrong, f"{limits}\n" + "\n".join(wrong))

    def test_jobs_that_passes_make(self):
        """What stands on them; the choice itself is compare_descheduler_test's."""
        # Arbitration, which the original's interval keeps off and which koord does at once, is another test's.
        args = {**ARGS, "skipEvictionGates": ["MaxMigratingPerWorkload", "MaxUnavailablePerWorkload"],
                "arbitrationArgs": {"enabled": True, "interval": "1h"}}
        more = {"defaultJobMode": "EvictDirectly", "defaultJobTTL": "7m", "defaultDeleteOptions": {"gracePeriodSeconds": 3}}
        for number, row in enumerate(row for row in TABLE if row["evicted"]):
            with self.subTest(row["name"]):
                limits = {"maxNoOfPodsToEvictTotal": row["limit"]} if "limit" in row else {}
                self.compare_jobs(row, {**args, **(more if number % 2 else {})}, limits)

    def compare_jobs(self, row, args, limits):
        world = descheduler_world.row_world(row)

        def look(process):
            process.passes_over(1)
            return schedulers.settled(lambda: sorted(job_of(world, job) for job in self.api.list(JOBS)), 1)
        found = self.on_each_side(lambda: world, look, plugin("LowNodeLoad", "balance", **descheduler_world.row_args(row)),
                                  evictor_args=args, interval="1h", **limits)
        self.assertEqual(found["original"], found["koord"])
        self.met["jobs"] += len(found["koord"])

    def test_that_jobs_met_every_end(self):
        print(dict(self.met))
        self.assertGreater(self.met["jobs"], 40)
        for wanted in ((None, None, None), ("Running", None, "true"), ("Failed", "ForbiddenMigratePod", None)):
            self.assertGreater(self.met[wanted], 0, wanted)


def job_of(world, job):
    """Of its pod the node, and all that stands on a job when it is made."""
    about, metadata = job["spec"]["podRef"], job["metadata"]
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if not key.startswith("descheduler.")}
    created = annotations.pop("koordinator.sh/job-created-by", None)
    spec = {key: value for key, value in job["spec"].items() if key not in ("podRef", "reservationOptions")}
    return json.dumps([world.named(f"{about['namespace']}/{about['name']}")["spec"]["nodeName"], sorted(about), bool(created),
                       bool(UID.fullmatch(metadata["name"])),
                       metadata.get("labels"), annotations, spec], sort_keys=True)


for each in range(1, 6):
    setattr(TheControllers, f"test_arbitration_{each}", lambda self, seed=each: self.arbitrate(seed))


if __name__ == "__main__":
    original_descheduler.main()
