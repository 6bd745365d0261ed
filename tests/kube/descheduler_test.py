#!/usr/bin/env python3
"""The descheduler with koord's scheduler on a real API server, with the shipped rights and configuration: a hot node is relieved
through reservations, a group of nodes is drained and reports it, an aborted drain leaves nothing behind, a dry run only reads."""
import copy
import json
import os
import re
import signal
import subprocess
import threading
import unittest

import migrations
import schedulers
from migrations import GROUP, JOBS, LEASE, RESERVATIONS, is_ready
from schedulers import wait_for

from installed import PACKAGING

GROUPS, DRAINS = f"{GROUP}/drainnodegroups", f"{GROUP}/drainnodes"
DRAIN = "--feature-gates=Drain=true"
BALANCE = {"    evict:\n": "    balance: {enabled: [{name: LowNodeLoad}]}\n    evict:\n",
           "      lowThresholds:\n": "      anomalyCondition: {consecutiveAbnormalities: 2}\n      lowThresholds:\n"}
DESCHEDULE = '    deschedule:\n      disabled:\n        - name: "*"\n'
POOL = {"pool": "old"}


def plugin(*names):
    return {DESCHEDULE: f"{DESCHEDULE}      enabled: [{', '.join(f'{{name: {name}}}' for name in names)}]\n"}


class Descheduler(migrations.World):
    @classmethod
    def setUpClass(cls):
        cls.cluster = migrations.Cluster("descheduler")

    def full(self, replicas, *names, labels=None):
        """Nodes that have all pods of a Deployment, since there are no others yet; with its pods."""
        self.nodes(*names, labels=labels)
        return self.deploy(replicas)

    def loads(self):
        loads = migrations.Loads(self)
        self.addCleanup(loads.close)
        return loads

    def test_a_hot_node_is_relieved_through_reservations(self):
        before = {pod["metadata"]["uid"]: pod for pod in self.full(5, "hot")}
        self.nodes("cold-0", "cold-1", "cold-2")
        loads = self.loads()
        self.assertEqual(loads.usage()["hot"], 3800)  # of 4,000: 3,000 are over the threshold
        one = self.start(BALANCE)
        try:
            wait_for("the node is hot no longer", lambda: loads.usage()["hot"] <= 3000)
            wait_for("all jobs end", lambda: all(job.get("status", {}).get("phase") in migrations.OVER for job in self.api.list(JOBS)))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.api.list(JOBS)}\n{one.output()[-5000:]}") from error
        made = self.api.list(JOBS)
        self.assertGreaterEqual(len(made), 2)
        for job in made:
            self.assertEqual(job["metadata"]["annotations"]["koordinator.sh/evict-trigger"], "LowNodeLoad")
            self.assertRegex(job["metadata"]["annotations"]["koordinator.sh/evict-reason"], r"node cpu usage\(\d+\.\d\d%\)>threshold\(75.00%\)")
            self.was_moved(job, before[job["spec"]["podRef"]["uid"]])
        self.all_ready(5)
        # A pod is asked to go once its room is there, and by an eviction.
        asked = [event["objectRef"]["name"] for event in self.asked("create", "pods", "eviction")]
        self.assertEqual(sorted(asked), sorted(job["spec"]["podRef"]["name"] for job in made))
        self.assertEqual(self.asked("delete", "pods"), [])
        self.assertEqual([event for event in self.cluster.asked(self.since)[0] if event["responseStatus"]["code"] in (401, 403)], [])

    def phases(self, name):
        """All that a group's phase ever was, by a watch; a list that grows."""
        seen, connection = [], self.api.connect()
        connection.http.request("GET", f"{GROUPS}?watch=1", headers={"Authorization": f"Bearer {self.api.token}"})
        answer = connection.http.getresponse()
        self.assertEqual(answer.status, 200)

        def follow():
            for line in answer:
                item = json.loads(line)["object"]
                phase = item.get("status", {}).get("phase")
                if item["metadata"]["name"] == name and phase and seen[-1:] != [phase]:
                    seen.append(phase)
        threading.Thread(target=follow, daemon=True).start()
        return seen

    def table(self, kind):
        """{object: {column: what kubectl get says}}"""
        head, *rows = self.cluster.kubectl.run("get", kind).splitlines()
        starts = [found.start() for found in re.finditer(r"\S+", head)]
        cells = [[line[start:end].strip() for start, end in zip(starts, [*starts[1:], None])] for line in (head, *rows)]
        return {row[0]: dict(zip(cells[0][1:], row[1:])) for row in cells[1:]}

    def grant_drain(self):
        file = os.path.join(PACKAGING, "manifests-gates", "Drain.yaml")
        self.cluster.kubectl.run("apply", "-f", file)
        self.addCleanup(self.cluster.kubectl.run, "delete", "-f", file)

    def drain(self, name, **spec):
        self.request("POST", GROUPS, {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "DrainNodeGroup", "metadata": {"name": name},
                                      "spec": {"nodeSelector": {"matchLabels": POOL}, "cordonNodePolicy": {"mode": "Taint"}, **spec}})

    def group(self, name):
        return self.request("GET", f"{GROUPS}/{name}").get("status", {})

    def until_group(self, name, what, holds):
        try:
            wait_for(what, lambda: holds(self.group(name)))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.group(name)}\n{[one['status'] for one in self.api.list(DRAINS)]}\n"
                                 f"{self.processes[-1].output()[-4000:]}") from error

    def test_a_group_of_nodes_is_drained_and_reports_it(self):
        self.grant_drain()
        before = {pod["metadata"]["uid"]: pod for pod in self.full(6, "old-0", "old-1", labels=POOL)}
        self.nodes("new-0", "new-1", "new-2")
        seen = self.phases("out")
        self.start(plugin("Drain"), DRAIN)
        self.drain("out", executionPolicy={"paused": True})
        self.until_group("out", "the plan stands", lambda status: status.get("phase") == "Waiting" and status.get("availableCount") == 2)
        # There is room for everybody, and nobody has been asked to go.
        self.assertEqual([room["status"]["phase"] for room in self.api.list(RESERVATIONS)], ["Available"] * 6)
        self.assertEqual({row["PHASE"] for row in self.table("drainnodes").values()}, {"Running"})
        self.assertEqual({row["NODE"]: row["AVAILABLE"] for row in self.table("drainnodes").values()},
                         {node: str(len(self.pods(node))) for node in ("old-0", "old-1")})
        self.assertEqual(self.asked("create", "pods", "eviction"), [])
        self.request("PATCH", f"{GROUPS}/out", {"spec": {"executionPolicy": {"paused": False}}})
        self.until_group("out", "the group is drained", lambda status: status.get("phase") in ("Succeeded", "Failed", "Aborted"))
        wait_for("the watch tells the end", lambda: seen[-1:] == ["Succeeded"])
        self.assertEqual(seen, ["Pending", "Planning", "Waiting", "Running", "Succeeded"])
        row = self.table("drainnodegroups")["out"]
        self.assertEqual({key: row[key] or "0" for key in ("PHASE", "NODES", "SUCCEEDED", "FAILED", "RUNNING", "UNAVAILABLE")},
                         {"PHASE": "Succeeded", "NODES": "2", "SUCCEEDED": "2", "FAILED": "0", "RUNNING": "0", "UNAVAILABLE": "0"})
        self.assertEqual({(row["PHASE"], row["MIGRATING"]) for row in self.table("drainnodes").values()}, {("Complete", "0")})
        self.assertEqual(self.pods("old-0") + self.pods("old-1"), [])
        now = self.all_ready(6)
        self.assertEqual({pod["metadata"]["uid"] for pod in now} & set(before), set())
        self.assertEqual(sorted(job["spec"]["podRef"]["uid"] for job in self.api.list(JOBS)), sorted(before))
        self.assertEqual({job["status"]["phase"] for job in self.api.list(JOBS)}, {"Succeeded"})
        self.assertEqual(len(self.asked("create", "pods", "eviction")), 6)
        self.assertEqual([event for event in self.cluster.asked(self.since)[0] if event["responseStatus"]["code"] in (401, 403)], [])

    def others(self):
        """What an aborted drain must leave as it was: nodes but for heartbeats, reservations and jobs by name and UID."""
        nodes = {one["metadata"]["name"]: copy.deepcopy((one["metadata"]["labels"], one["metadata"].get("annotations", {}), one["spec"]))
                 for one in self.api.list("/api/v1/nodes")}
        return nodes, {(one["metadata"]["name"], one["metadata"]["uid"]) for path in (RESERVATIONS, JOBS) for one in self.api.list(path)}

    def test_a_group_of_nodes_is_drained_behind_a_budget_that_lets_one_go_at_a_time(self):
        """Whoever is let go first: a new pod takes the first room of its workload, which may be another one's."""
        self.grant_drain()
        before = {pod["metadata"]["uid"] for pod in self.full(5, "old-0", "old-1", labels=POOL)}
        self.budget(4)
        self.nodes("new-0", "new-1", "new-2")
        self.start(plugin("Drain"), DRAIN)
        self.drain("out")
        self.until_group("out", "the group is drained", lambda status: status.get("phase") in ("Succeeded", "Failed", "Aborted"))
        self.assertEqual({(row["PHASE"], row["MIGRATING"]) for row in self.table("drainnodes").values()}, {("Complete", "0")})
        self.assertEqual(self.group("out")["phase"], "Succeeded")
        self.assertEqual({pod["metadata"]["uid"] for pod in self.all_ready(5)} & before, set())
        self.assertEqual([event["responseStatus"]["code"] for event in self.asked("create", "pods", "eviction")].count(201), 5)

    def test_an_aborted_drain_takes_back_its_own_and_nothing_else(self):
        self.grant_drain()
        before = self.full(6, "old-0", "old-1", labels=POOL)
        self.nodes("new-0", "new-1", "new-2")
        # Somebody else's taint, label, reservation and job, on the very nodes.
        self.request("PATCH", "/api/v1/nodes/old-0", {"metadata": {"labels": {"mine": "yes"}}, "spec": {"taints": [{"key": "mine", "effect": "PreferNoSchedule"}]}})
        self.request("POST", RESERVATIONS, {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation", "metadata": {"name": "mine"}, "spec": {
            "owners": [{"labelSelector": {"matchLabels": {"app": "none"}}}], "ttl": "1h", "template": {"spec": {
                "schedulerName": "koord-scheduler", "nodeSelector": {"kubernetes.io/hostname": "new-0"},
                "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}]}}}})
        wait_for("its room", lambda: self.request("GET", f"{RESERVATIONS}/mine").get("status", {}).get("phase") == "Available")
        # Another pod's: a paused one for a pod of the group would be in the drain's way, and is no drain's to delete.
        self.migrate("mine", {"metadata": {"name": "elsewhere"}}, paused=True)
        self.budget(6)  # nobody may go: jobs are under way when the drain is aborted
        theirs = self.others()
        self.start(plugin("Drain"), DRAIN)
        self.drain("out")
        wait_for("jobs are refused", lambda: [job for job in self.api.list(JOBS) if migrations.condition(job, "Eviction").get("reason") == "FailedEvict"])
        self.assertEqual({taint["key"] for node in ("old-0", "old-1") for taint in self.request("GET", f"/api/v1/nodes/{node}")["spec"]["taints"]},
                         {"mine", "drain.descheduler.koordinator.sh/drain-node"})
        self.assertEqual(len(self.api.list(RESERVATIONS)), 7)
        self.request("PATCH", f"{GROUPS}/out", {"metadata": {"labels": {"drain.descheduler.koordinator.sh/abort": "true"}}})
        self.until_group("out", "the group is aborted", lambda status: status.get("phase") == "Aborted")
        self.assertEqual(self.table("drainnodegroups")["out"]["PHASE"], "Aborted")
        self.assertEqual(self.others(), theirs)
        self.assertEqual({pod["metadata"]["uid"] for pod in self.all_ready(6)}, {pod["metadata"]["uid"] for pod in before})

    def dry_run(self, *plugins, flags=()):
        """Until both other plugins would have had pods go."""
        one = self.start({**BALANCE, **plugin("RemovePodsViolatingNodeTaints", *plugins), "dryRun: false": "dryRun: true"}, *flags)
        try:
            wait_for("both plugins would have pods go", lambda: {"LowNodeLoad", "RemovePodsViolatingNodeTaints"} <= {
                name for line in one.output().splitlines() if "dry run" in line for name in ("LowNodeLoad", "RemovePodsViolatingNodeTaints") if name in line}, 15)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{one.output()[-4000:]}") from error
        one.alive()
        one.terminate()
        self.assertEqual(one.child.returncode, 0)

    def deschedule(self, changes, *flags):
        """What `koord deschedule --dry-run` says, with the descheduler's rights and a configuration that is no dry run."""
        path = self.cluster.installed.write("rehearsal.config", migrations.changed(self.cluster.shipped, changes))
        done = subprocess.run([migrations.KOORD, "deschedule", "--dry-run", "--output=json", f"--kubeconfig={self.cluster.account}", f"--config={path}", *flags],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def writes(self):
        """The verbs that do not read, and of what."""
        asked = self.cluster.asked(self.since)[0]
        self.assertLessEqual({"nodes", "pods", "podmigrationjobs", "reservations", "nodemetrics"}, {event["objectRef"]["resource"] for event in asked})
        return {(event["verb"], event["objectRef"]["resource"]) for event in asked if event["verb"] not in migrations.READS}

    def test_a_dry_run_only_reads(self):
        """With all that it would have to do: a hot node, a node with a taint, a job, a group to be drained."""
        self.grant_drain()
        pods = self.full(5, "hot", labels=POOL)
        self.nodes("cold-0", "cold-1", "cold-2")
        self.deploy(2, "tainted", nodeSelector={"kubernetes.io/hostname": "cold-0"})
        self.loads()
        self.request("PATCH", "/api/v1/nodes/cold-0", {"spec": {"taints": [{"key": "old", "effect": "NoSchedule"}]}})
        told = self.deschedule({**BALANCE, **plugin("RemovePodsViolatingNodeTaints", "Drain")}, DRAIN)
        self.assertEqual({(pod["plugin"], pod["node"]) for pod in told["evicted"]}, {("LowNodeLoad", "hot"), ("RemovePodsViolatingNodeTaints", "cold-0")})
        self.assertLessEqual({pod.get("to") for pod in told["evicted"]}, {"cold-1", "cold-2", None})  # the taint keeps pods off, and a selector others on
        self.assertEqual(self.writes(), set())
        self.migrate("waits", pods[0])
        self.drain("out")
        self.dry_run()
        self.assertEqual(self.writes(), set())
        self.dry_run("Drain", flags=[DRAIN])
        # It asks what it may do, which nobody keeps.
        self.assertLessEqual(self.writes(), {("create", "selfsubjectaccessreviews")})
        self.assertEqual((self.job("waits").get("status"), self.group("out"), self.api.list(RESERVATIONS), self.status_of(LEASE)), (None, {}, [], 404))
        self.assertEqual(len(self.api.list(JOBS)), 1)
        self.assertEqual(sorted(pod["spec"]["nodeName"] for pod in self.pods() if is_ready(pod)), ["cold-0"] * 2 + ["hot"] * 5)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    unittest.main(verbosity=2, warnings="ignore")
