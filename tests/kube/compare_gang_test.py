#!/usr/bin/env python3
"""The original koord-scheduler and koord, one after the other, on the same small clusters with the same random gangs: which groups
of gangs get their nodes, what is written into their pods and PodGroups, and what is said of those that wait must be equal. Which
of several like members is named in a message is chance in the original; so members are called by their gang here.

usage: compare_gang_test.py      KOORDINATOR_BIN names the folder with the original's koord-scheduler and crds/
"""
import os
import re
import signal
import sys
import time

import gang_cases as cases
import comparison
import reservations as of
import schedulers
from gang_cases import NAMESPACES, POD_GROUPS
from reservations import pod
from schedulers import LATE, wait_for

import kube_api
import original_scheduler

SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_GANG_SEEDS", "81 85").split()]
GROUPS = int(os.environ.get("KOORD_COMPARE_GANG_GROUPS", "12"))
ASIDE = ["DeviceShare", "ElasticQuota"]  # which say something of every pod that finds no node
QUIET = 2  # seconds in which nothing more is written
CORE = re.compile(r'GangGroup "([^"]*)" gets rejected due to member Pod "([^"]*)" is unschedulable with reason "((?:[^"\\]|\\.)*)", alreadyWaitForBound: (\d+)')
MODES = ["strict", "not strict"]
POLICIES = ["once-satisfied", "only-waiting", "waiting-and-running"]
# A comparison that meets none of these says nothing about the rule behind it.
STAGES = [" is short", " is whole", " has room", ", one replaced"]
REASONS = ["Insufficient cpu", "Insufficient example.com/gpu", "didn't match Pod's node affinity/selector", "compare-gangs/gang-", "compare-gangs-beside/gang-"]
WRITTEN = [f"{domain}/bind-gang-{what}" for domain in ("internal.scheduling.koordinator.sh", "scheduling.koordinator.sh")
           for what in ("group-id", "member-count")]


class Run(schedulers.Run):
    """One scheduler with the cluster, and all that was seen of it."""

    def __init__(self, api, seed, profile, who, command):
        self.cluster, self.profile = cases.Cluster(seed), profile
        self.placed, self.misfits, self.free = [], 0, dict(self.cluster.slots)
        super().__init__(api, who, command, NAMESPACES, clean)

    def nodes(self):
        return self.cluster.nodes

    def go(self):
        for number in range(GROUPS):
            self.group(f"{number}", self.cluster.group(self.free))

    # -- what is done

    def group(self, key, group):
        self.misfits = 0
        for gang in group.gangs:
            if gang.is_pod_group and not gang.terms["late"]:
                kube_api.create(self.connection, gang.pod_group())
        for gang in group.gangs:
            for item in gang.pods(gang.members):
                kube_api.create(self.connection, item)
        for gang in group.gangs:
            if gang.is_pod_group and gang.terms["late"]:
                time.sleep(LATE)
                kube_api.create(self.connection, gang.pod_group())
        short = [gang for gang in group.gangs if gang.members < gang.min]
        if short:
            time.sleep(4 * LATE)
            self.seen[f"{key} is short"] = {**self.told(group), "said": self.facts(self.said(group), group, 0), "group": repr(group)}
            for gang in short:
                gang.members = gang.min
                for item in gang.pods(gang.min - self.there(gang)):
                    kube_api.create(self.connection, item)
        self.settle(f"{key} is whole", group)
        while not self.fits(group) and self.placed and self.could_fit(group):
            self.leave(self.placed.pop(self.cluster.random.randrange(len(self.placed))))
            if self.fits(group):
                self.settle(f"{key} has room", group)
        if self.fits(group) and self.cluster.chance(0.8):
            self.placed.append(group)
            for gang in group.gangs:
                self.free[gang.pool] -= min(gang.members, self.free[gang.pool])
            if self.cluster.chance(0.25) and group.policy != "only-waiting":
                self.replace(key, group)
        else:
            self.remove_group(group)

    def replace(self, key, group):
        """A member goes, and another one comes."""
        gang = self.cluster.of(*group.gangs)
        names = self.bound(gang)
        self.remove([(names[-1], gang.namespace)])
        time.sleep(2 * LATE)
        kube_api.create(self.connection, gang.pods(1)[0])
        wait_for(f"{key}: one more", lambda: len(self.bound(gang)) == len(names), 60)
        time.sleep(4 * LATE)
        self.seen[f"{key}, one replaced"] = {**self.told(group), "said": [], "group": repr(group)}

    def leave(self, group):
        for gang in group.gangs:
            self.free[gang.pool] += len(self.bound(gang))
        self.remove_group(group)

    def remove_group(self, group):
        self.remove([(f"{gang.name}-{number}", gang.namespace) for gang in group.gangs for number in range(gang.made)])
        for gang in group.gangs:
            if gang.is_pod_group:
                self.connection.request("DELETE", f"{POD_GROUPS}/namespaces/{gang.namespace}/podgroups/{gang.name}")
        time.sleep(LATE)

    # -- what is expected and what is seen

    def fits(self, group):
        return all(gang.min <= self.free[gang.pool] for gang in group.gangs)

    def could_fit(self, group):
        return all(gang.min <= self.cluster.slots[gang.pool] for gang in group.gangs)

    def there(self, gang):
        return sum(name.startswith(f"{gang.name}-") for name in self.watches[gang.namespace].pods)

    def mine(self, gang):
        return {name: item for name, item in self.watches[gang.namespace].pods.items() if name.startswith(f"{gang.name}-")}

    def bound(self, gang):
        return sorted(name for name, item in self.mine(gang).items() if item["spec"].get("nodeName"))

    def settle(self, key, group):
        """Until it has what it can get, and what is written of it is known."""
        fits = self.fits(group)
        wanted = {gang.id: min(gang.members, self.free[gang.pool]) if fits else 0 for gang in group.gangs}
        if fits:
            wait_for(f"{self.who}, {key}: {wanted} bound of {group}", lambda: {gang.id: len(self.bound(gang)) for gang in group.gangs} == wanted, 100)
            wait_for(f"{self.who}, {key}: the rest is told", lambda: not any(self.silent(gang) for gang in group.gangs if wanted[gang.id] < gang.members))
        else:
            wait_for(f"{self.who}, {key}: a refusal of {group}", lambda: any(self.refusals(gang) for gang in group.gangs))
        said = set()

        def look():
            said.update(self.said(group))
            return self.told(group)

        last = schedulers.settled(look, QUIET)
        self.misfits = sum(gang.min > self.free[gang.pool] for gang in group.gangs) or self.misfits
        events = self.events(group)
        self.seen[key] = {**last, "said": self.facts(said, group, self.misfits), "events": self.facts(events, group, self.misfits), "group": repr(group)}
        if group.strict and len(group.gangs) == 1 and not fits:
            placed = [int(core[4]) for core in map(CORE.search, events) if core]
            self.seen[key]["placed"] = max(placed, default=None)

    def silent(self, gang):
        return [name for name, item in self.mine(gang).items() if not item["spec"].get("nodeName") and not schedulers.condition_of(item)]

    def refusals(self, gang):
        return [condition for condition in map(schedulers.condition_of, self.mine(gang).values()) if condition.get("reason") == "Unschedulable"]

    def told(self, group):
        """What of it is there to stay."""
        annotations, statuses = {}, {}
        for gang in group.gangs:
            notes = [item["metadata"].get("annotations") or {} for item in self.mine(gang).values() if item["spec"].get("nodeName")]
            annotations[gang.id] = sorted((tuple(note.get(one) for one in WRITTEN) for note in notes), key=str)
            if gang.is_pod_group:
                status = self.connection.request("GET", f"{POD_GROUPS}/namespaces/{gang.namespace}/podgroups/{gang.name}").get("status") or {}
                # The original says when only if it had a look in between.
                statuses[gang.id] = {key: value for key, value in status.items() if key != "scheduleStartTime"}
        return {"bound": {gang.id: len(self.bound(gang)) for gang in group.gangs}, "annotations": annotations, "status": statuses}

    def said(self, group):
        return {condition["message"] for gang in group.gangs for condition in self.refusals(gang)}

    def events(self, group):
        names = {(gang.namespace, name) for gang in group.gangs for name in self.mine(gang)}
        return {event["note"] for namespace in NAMESPACES for event in self.api.list(schedulers.EVENTS.format(namespace))
                if (namespace, event["regarding"]["name"]) in names and event["reason"] == "FailedScheduling"
                and (event["type"], event["action"]) == ("Warning", "Scheduling")}

    def facts(self, messages, group, misfits):
        """What they say of the group, without what COMPATIBILITY.md lists and what is chance in the original: it names any of several
        like members, and any of several gangs that do not fit. What is said of preemption (there is nobody of a lower priority to go) is
        compared of strict gangs in the profile in which jobs preempt; in the other one each pod does there, and the gang does in koord."""
        found = set()
        for message in messages:
            if self.profile != "chart" or not group.strict:
                message = message.split(" preemption: ")[0]
            message = message.rstrip(".")
            # Those that wait on a node are let go: koord places no member of a strict gang before it has place for all that are needed.
            if message.startswith("0/1 nodes are available: 1 "):
                continue
            core = CORE.search(message)
            if misfits > 1:
                found.add(core[1] if core and group.strict else "any")
            elif core and not group.strict:
                found.add(core[3].rstrip("."))  # in koord each hears why it has no node itself
            else:
                after = re.sub(r"-\d+ with message", " with message", message[core.end():]) if core else ""
                found.add((core[1], re.sub(r"-\d+$", "", core[2]), core[3], after) if core else message)
        return sorted(found - {"any"}, key=str)


def clean(api):
    connection = api.connect()
    for namespace in NAMESPACES:
        schedulers.delete_now(connection, f"/api/v1/namespaces/{namespace}/pods")
        connection.request("DELETE", f"{POD_GROUPS}/namespaces/{namespace}/podgroups")
    schedulers.clean(api, NAMESPACES)


class CompareGang(comparison.Comparison):
    namespaces, rules = (*NAMESPACES, "koordinator-system"), (*STAGES, *REASONS, *POLICIES, *MODES, "written")

    def compare(self, seed, profile):
        theirs, ours = schedulers.beside_the_original(of.configuration(profile, schedulers.KUBECONFIG, less=ASIDE),
                                                      lambda who, command: Run(self.api, seed, profile, who, command))
        differences = []
        for name, upstream in theirs.seen.items():
            own = ours.seen[name]
            self.meet(name, upstream, own)
            for gang, notes in upstream["annotations"].items():
                if forgotten(notes, own["annotations"][gang]):
                    upstream["annotations"][gang] = own["annotations"][gang]
            for gang, status in upstream["status"].items():
                if is_late(status, own["status"][gang], upstream["bound"][gang]):
                    upstream["status"][gang] = own["status"][gang]
            if upstream != own:
                differences.append(f"{name}: {upstream['group']}{schedulers.difference(upstream, own)}")
        print(f"seed {seed}, {profile}: {GROUPS} groups, {len(theirs.seen)} looks, {len(differences)} differences", file=sys.stderr)
        self.check(differences)

    def meet(self, name, upstream, own):
        """What of the rules this look has shown."""
        self.met.update(what for what in STAGES if name.endswith(what))
        self.met.update(reason for reason in REASONS if reason in str(upstream["said"]) and reason in str(own["said"]))
        self.met.update(each for each in (*MODES, *POLICIES) if f": {each}, " in upstream["group"] or f", {each}, " in upstream["group"])
        self.met["written"] += any(note[0] for notes in upstream["annotations"].values() for note in notes)


def is_late(theirs, ours, bound):
    """The original counts who is bound before it knows of the last, and has no second look (koordinator 2030)."""
    return theirs.get("scheduled", 0) < bound == ours.get("scheduled")


def forgotten(theirs, ours):
    """The original forgets who is bound together when one more member of the gang finds no place, or all that waited are bound,
    while bindings are on their way: these say nothing there."""
    said = [note for note in theirs if note[0]]
    return len(theirs) == len(ours) and all(note in ours for note in said) and len(said) < sum(note[0] is not None for note in ours)


comparison.for_each_seed(CompareGang, SEEDS)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its schedulers end with it
    original_scheduler.main()
