#!/usr/bin/env python3
"""Reservations and whole CPUs on a real API server, under both of Koordinator's shipped profiles: what Koordinator's end-to-end
specs of reservations, host ports and memory nodes ask, as small cases, and what becomes of a Reservation: it is made,
consumed, expires, is collected, and outlives its scheduler.

usage: reservation_test.py [original]     the original's scheduler instead of koord, that KOORDINATOR_BIN has: what the cases
                                          ask for is what it does
"""
import signal
import sys
import tempfile
import unittest

import reservations as of
import schedulers
from reservations import DOMAIN, labelled, named, owner, pod, reservation, said
from own_cluster import own_cluster
from schedulers import wait_for

import kube_api
import original_scheduler

NAMESPACE = "reservations"
SOON = 1  # seconds: how often what is over is collected, and how old it is then
FAKE = "koordinator.sh/fake-resource"
LABEL = "koord.test/domain"
POLICY = "node.koordinator.sh/numa-topology-policy"
ORIGINAL = sys.argv[1:2] == ["original"]
UNALIGNED = "Unaligned NUMA Hint"
SPREAD = {of.CPU_SPEC: '{"preferredCPUBindPolicy": "SpreadByPCPUs"}'}


class Cases(unittest.TestCase):
    """A fresh node `n` of 8 CPUs for each; a method a spec."""
    profile = None

    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(cls.api, NAMESPACE)
        of.install(schedulers.KUBECONFIG, *([original_scheduler.CRDS] if ORIGINAL else []))
        cls.world = of.World(cls.api, NAMESPACE)
        cls.world.clean()
        cls.file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        cls.file.write(of.configuration(cls.profile, schedulers.KUBECONFIG, gcIntervalSeconds=SOON, gcDurationSeconds=SOON,
                                          preAllocationConfig="{enableClusterMode: true}"))
        cls.file.flush()
        cls.start()

    @classmethod
    def start(cls):
        if ORIGINAL:
            cls.process = schedulers.Scheduler("original", original_scheduler.command(schedulers.KUBECONFIG, cls.file.name))
        else:
            cls.process = schedulers.koord(f"--config={cls.file.name}")

    @classmethod
    def tearDownClass(cls):
        cls.process.end()
        cls.file.close()
        cls.world.clean()

    def setUp(self):
        self.watch = schedulers.PodWatch(self.api, NAMESPACE)
        self.addCleanup(self.watch.close)
        self.node()

    def tearDown(self):
        self.process.alive()
        self.world.clean()
        self.watch.wait("an empty namespace", lambda pods: not pods)

    def node(self, name="n", labels=None, topology=None, cpu="8", **more):
        if topology is not None:
            self.api.connect().request("POST", of.TOPOLOGIES, topology)
        kube_api.create(self.world.connection, schedulers.node(name, cpu, "16Gi", labels=labels, **more))
        # Until the scheduler has heard of it, and of the report.
        self.placed("first", {"cpu": 1}, app="none", node=name, qos="LSR" if topology else None)
        schedulers.delete_now(self.world.connection, f"{self.world.pods}/first")
        self.watch.wait_gone(["first"])

    def pod(self, name, requests=None, **more):
        return kube_api.create(self.world.connection, pod(name, NAMESPACE, requests, **more))

    def placed(self, name, requests=None, **more):
        """The pod once it is bound."""
        self.pod(name, requests, **more)
        try:
            self.watch.wait_scheduled(name, 20)
        except AssertionError as error:
            self.fail(f"{error}: {schedulers.condition_of(self.watch.pods[name])}")
        return self.watch.pods[name]

    def refused(self, name, requests=None, **more):
        self.pod(name, requests, **more)
        verdict = self.watch.verdict(name)
        self.assertEqual(verdict[0], "Unschedulable", f"{name}: {verdict[1]}")
        return verdict[1]

    def available(self, item):
        """The Reservation, once the scheduler has heard that it is Available: it has answered about one that came after."""
        kept = self.world.available(item)
        later = f"after-{kept['metadata']['name']}"
        self.world.reserve(reservation(later, {"koord.test/nowhere": 1}))
        self.world.until(later, "fits nowhere", lambda status: of.condition({"status": status}, "Scheduled").get("reason") == "Unschedulable")
        self.world.connection.request("DELETE", f"{of.RESERVATIONS}/{later}")
        return kept

    def uses(self, item, kept):
        self.assertEqual(said(item, of.ALLOCATED), {"name": kept["metadata"]["name"], "uid": kept["metadata"]["uid"]})
        self.assertEqual(item["spec"]["nodeName"], kept["status"]["nodeName"])

    def uses_none(self, item):
        self.assertIsNone(said(item, of.ALLOCATED))


class Reservations(Cases):
    # -- Koordinator's specs of reservations

    def test_one_pod_uses_up_what_is_for_one(self):
        kept = self.available(reservation("r"))
        self.assertEqual((kept["status"]["nodeName"], kept["status"]["allocatable"]), ("n", {"cpu": "1", "memory": "1Gi"}))
        self.assertEqual([(c["type"], c["status"], c["reason"]) for c in kept["status"]["conditions"]],
                         [("Scheduled", "True", "Scheduled"), ("Ready", "True", "Available")])
        one = self.placed("p")
        self.uses(one, kept)
        over = self.world.until("r", "has succeeded", lambda status: status["phase"] == "Succeeded")
        self.assertEqual(over["status"]["allocated"], {"cpu": "1", "memory": "1Gi"})
        self.world.is_used_by("r", one)
        schedulers.delete_now(self.world.connection, f"{self.world.pods}/p")
        self.watch.wait_gone(["p"])
        # It is over for good, and goes.
        self.assertEqual(self.world.get("r")["status"]["phase"], "Succeeded")
        wait_for("it is collected", lambda: self.gone("r"))

    def gone(self, name):
        try:
            self.world.get(name)
        except kube_api.ApiError as error:
            return error.status == 404
        return False

    def test_several_pods_share_what_is_for_several(self):
        kept = self.available(reservation("r", {"cpu": 2, "memory": "2Gi"}, allocateOnce=False))
        pods = [self.placed(f"p{i}") for i in range(2)]
        for one in pods:
            self.uses(one, kept)
        status = self.world.is_used_by("r", *pods)["status"]
        self.assertEqual((status["phase"], status["allocated"]), ("Available", {"cpu": "2", "memory": "2Gi"}))

    def test_what_is_kept_is_nobody_else_s(self):
        self.node("m", more={FAKE: "1000"})
        self.available(reservation("r", {FAKE: 1000}))
        self.assertIn(f"0/2 nodes are available: 2 Insufficient {FAKE}.", self.refused("p", {FAKE: 1000}, app="b"))

    def test_what_is_left_of_a_node_can_be_kept_when_a_pod_uses_the_rest(self):
        self.node("m", more={FAKE: "1000"})
        kept = self.available(reservation("r", {FAKE: 500}, allocateOnce=False))
        one = self.placed("p", {FAKE: 500})
        self.uses(one, kept)  # otherwise nothing is left
        other = self.available(reservation("s", {FAKE: 500}, owners=[owner("b")]))
        self.assertEqual(other["status"]["nodeName"], one["spec"]["nodeName"])

    def test_a_reservation_is_chosen_by_its_labels(self):
        kept = self.available(reservation("r", labels={"pool": "x"}))
        self.assertIn("1 Reservation(s) didn't match affinity rules",
                      self.refused("no", annotations=labelled("pool", "y")))
        self.uses(self.placed("yes", annotations=labelled("pool", "x")), kept)

    def test_of_a_restricted_one_pods_take_no_more_than_it_has(self):
        kept = self.available(reservation("r", {"cpu": 4, "memory": "8Gi"}, allocateOnce=False, allocatePolicy="Restricted"))
        pods = [self.placed(f"p{i}", {"cpu": 2, "memory": "2Gi"}, annotations=named("r")) for i in range(2)]
        pods.append(self.placed("third", {"memory": "3Gi"}, annotations=named("r")))
        for one in pods:
            self.uses(one, kept)
        self.assertIn("Reservation(s) Insufficient memory, requested: 2147483648, used: 7516192768, capacity: 8589934592",
                      self.refused("fourth", {"memory": "2Gi"}, annotations=named("r")))
        status = self.world.is_used_by("r", *pods)["status"]
        self.assertEqual(status["allocated"], {"cpu": "4", "memory": "7Gi"})
        # Whoever does not insist gets the node's.
        self.uses_none(self.placed("fifth", {"memory": "2Gi"}))

    def test_what_an_aligned_one_lacks_is_the_node_s(self):
        kept = self.available(reservation("r", {"cpu": 4, "memory": "8Gi"}, allocateOnce=False, allocatePolicy="Aligned"))
        pods = [self.placed(f"p{i}", {"cpu": 2, "memory": "2Gi"}) for i in range(2)]
        pods += [self.placed("third", {"memory": "3Gi"}), self.placed("fourth", {"memory": "2Gi"})]
        for one in pods:
            self.uses(one, kept)
        self.assertEqual(self.world.is_used_by("r", *pods)["status"]["allocated"], {"cpu": "4", "memory": "9Gi"})

    def test_several_small_ones_are_no_large_one(self):
        self.node("m", more={FAKE: "1000"})
        for i in range(5):
            self.available(reservation(f"r{i}", {FAKE: 200}, allocateOnce=False, allocatePolicy="Aligned"))
        self.assertIn(f"Insufficient {FAKE} by node", self.refused("p", {FAKE: 300}))

    def apart(self):
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"apart": "true"}}, "topologyKey": "kubernetes.io/hostname"}]}}

    def test_a_reservation_is_not_in_its_own_pod_s_way(self):
        kept = self.available(reservation("r", template={"namespace": NAMESPACE, "labels": {"apart": "true"}}, spec={"affinity": self.apart()}))
        self.uses(self.placed("p", labels={"apart": "true"}, affinity=self.apart()), kept)

    def test_a_reservation_is_in_everybody_else_s_way(self):
        self.available(reservation("r", template={"namespace": NAMESPACE, "labels": {"apart": "true"}}, spec={"affinity": self.apart()}))
        self.assertIn("node(s) didn't match pod anti-affinity rules", self.refused("p", app="b", labels={"apart": "true"}, affinity=self.apart()))

    def test_a_reservation_counts_where_pods_are_spread(self):
        for name in ("x", "y"):
            self.node(name, labels={LABEL: name})
        where = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": LABEL, "operator": "In", "values": ["x", "y"]}]}]}}}
        spread = [{"maxSkew": 1, "topologyKey": LABEL, "whenUnsatisfiable": "DoNotSchedule",
                   "labelSelector": {"matchExpressions": [{"key": "spread", "operator": "Exists"}]}}]
        self.available(reservation("r", template={"namespace": NAMESPACE, "labels": {"spread": ""}}, allocateOnce=False,
                                         spec={"affinity": where, "topologySpreadConstraints": spread}))
        pods = [self.placed(f"p{i}", labels={"spread": ""}, affinity=where, topologySpreadConstraints=spread) for i in range(4)]
        self.assertEqual(sorted(one["spec"]["nodeName"] for one in pods), ["x", "x", "y", "y"])
        users = [one for one in pods if said(one, of.ALLOCATED)]
        self.assertTrue(users)
        self.world.is_used_by("r", *users)

    def test_who_is_not_used_in_time_expires_and_is_collected(self):
        self.available(reservation("r", {"cpu": 8}, ttl="2s", owners=[owner("never")]))
        self.pod("p", {"cpu": 8})
        over = self.world.until("r", "has expired", lambda status: status["phase"] == "Failed")
        ready = of.condition(over, "Ready")
        self.assertEqual((ready["status"], ready["reason"]), ("False", "Expired"))
        self.watch.wait_scheduled("p")  # what it kept is free
        wait_for("it is collected", lambda: self.gone("r"))

    def test_a_reservation_makes_room_for_what_is_above_it(self):
        if self.profile == "chart":
            self.skipTest("the chart's profile has whoever preempts wait for jobs' plugin")
        self.available(reservation("r", {"cpu": 6}, spec={"priority": 0}))
        self.placed("p", {"cpu": 6}, app="b", priorityClassName="koord-prod")
        self.assertTrue(self.gone("r") or self.world.get("r")["status"]["phase"] in of.OVER)

    def test_a_pod_that_tolerates_a_reservation_s_taints_uses_it(self):
        taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
        kept = self.available(reservation("r", taints=[taint]))
        tolerations = [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}]
        self.assertIn("1 Reservation(s) had untolerated taint {k: v}", self.refused("no", annotations=of.affinity()))
        self.uses(self.placed("yes", tolerations=tolerations), kept)

    def test_a_reservation_goes_where_its_template_says(self):
        self.node("m")
        kept = self.available(reservation("r", node="m"))
        self.assertEqual(kept["status"]["nodeName"], "m")
        self.uses(self.placed("p", node="m"), kept)

    def test_who_is_no_owner_uses_none(self):
        kept = self.available(reservation("r", allocateOnce=False, owners=[{"labelSelector": {"matchLabels": {"match": "yes"}}}]))
        self.uses_none(self.placed("p"))
        self.assertNotIn("currentOwners", self.world.get("r")["status"])
        self.uses(self.placed("q", labels={"match": "yes"}), kept)

    # -- reservations that take running pods' room over

    def taking_over(self, name="r", cpu=6, required=True, **policy):
        labels = {f"{DOMAIN}/pre-allocation-required": "true"} if required else {}
        return reservation(name, {"cpu": cpu}, labels=labels, allocateOnce=False, allocatePolicy="Restricted", preAllocation=True,
                           **({"preAllocationPolicy": policy} if policy else {}))

    def took_over(self, *pods, **more):
        """The reservation, once these pods, which run on, are its own."""
        kept = self.available(self.taking_over(**more))
        for one in pods:
            name = one["metadata"]["name"]
            self.watch.wait(f"{name} is in it", lambda known, name=name: said(known[name], of.ALLOCATED))
            now = self.watch.pods[name]
            self.assertEqual(now["metadata"]["uid"], one["metadata"]["uid"])
            self.assertNotIn("deletionTimestamp", now["metadata"])
            self.uses(now, kept)
        self.world.is_used_by("r", *pods)
        return kept

    def test_a_running_owner_s_room_is_taken_over(self):
        one = self.placed("p", {"cpu": 6})
        other = self.placed("other", {"cpu": 1}, app="b")
        kept = self.took_over(one)
        self.assertEqual(self.world.get("r")["status"]["allocated"], {"cpu": "6"})
        self.assertIsNone(said(self.watch.pods["other"], of.ALLOCATED))
        self.assertEqual(other["spec"]["nodeName"], "n")
        # It is kept when the pod has gone: for the next owner, and for nobody else.
        schedulers.delete_now(self.world.connection, f"{self.world.pods}/p")
        self.watch.wait_gone(["p"])
        self.assertIn("Insufficient cpu", self.refused("q", {"cpu": 2}, app="b"))
        self.uses(self.placed("next", {"cpu": 6}), kept)

    def test_of_several_one_is_taken_over_unless_more_may_be(self):
        for many, fits in ((False, False), (True, True)):
            with self.subTest(many):
                self.tearDown()
                self.node()
                pods = [self.placed(f"p{i}", {"cpu": 3}) for i in range(2)]
                if fits:
                    self.took_over(*pods, enableMultiple=many)
                else:
                    self.world.reserve(self.taking_over(enableMultiple=many))
                    self.world.until("r", "fits nowhere", lambda status: any(
                        c["reason"] == "Unschedulable" for c in status.get("conditions", [])))

    def test_of_the_cluster_s_pods_those_that_say_so_are_taken_over(self):
        may = {"pod.koordinator.sh/is-pre-allocatable": "true"}
        strangers = self.placed("q", {"cpu": 2}, app="b")
        one = self.placed("p", {"cpu": 6}, app="b", labels=may)
        self.took_over(one, mode="Cluster")
        self.assertIsNone(said(self.watch.pods["q"], of.ALLOCATED), strangers)

    def test_without_the_cluster_s_mode_strangers_keep_their_room(self):
        one = self.placed("p", {"cpu": 6}, app="b", labels={"pod.koordinator.sh/is-pre-allocatable": "true"})
        self.world.reserve(self.taking_over())
        self.world.until("r", "fits nowhere", lambda status: any(
            c["reason"] == "Unschedulable" for c in status.get("conditions", [])))
        self.assertIsNone(said(self.watch.pods["p"], of.ALLOCATED), one)

    # -- Koordinator's specs of host ports

    def ports(self, once):
        self.available(reservation("r", {"cpu": 2}, ports=[54321], allocateOnce=once))
        one = self.placed("p", {"cpu": 1}, ports=[54321])
        self.assertIn("node(s) didn't have free ports for the requested pod ports", self.refused("q", {"cpu": 1}, ports=[54321]))
        self.world.is_used_by("r", one)

    def test_a_port_that_is_kept_for_one_is_given_once(self):
        self.ports(True)

    def test_a_port_that_is_kept_for_several_is_given_once(self):
        self.ports(False)

    def test_who_does_not_find_all_ports_goes_elsewhere(self):
        self.available(reservation("r", {"cpu": 2}, ports=[54321, 54322], allocateOnce=False))
        one = self.placed("p", {"cpu": 1}, ports=[54321])
        self.node("m")
        other = self.placed("q", {"cpu": 1}, ports=[54321, 54322])
        self.assertEqual(other["spec"]["nodeName"], "m")
        self.world.is_used_by("r", one)

    # -- over a scheduler's death

    def test_what_is_kept_outlives_its_scheduler(self):
        once = self.available(reservation("once", {"cpu": 2}, owners=[owner("b")]))
        several = self.available(reservation("several", {"cpu": 4}, allocateOnce=False, owners=[owner("c")]))
        first = self.placed("first", {"cpu": 2}, app="c")
        self.world.is_used_by("several", first)
        type(self).process.child.send_signal(signal.SIGKILL)
        self.process.child.wait()
        self.process.end()
        # What happens while there is none.
        schedulers.delete_now(self.world.connection, f"{self.world.pods}/first")
        self.pod("second", {"cpu": 2}, app="c")
        self.pod("stranger", {"cpu": 3}, app="d")
        type(self).start()
        self.watch.wait_scheduled("second")
        self.uses(self.watch.pods["second"], several)
        self.assertEqual(self.watch.verdict("stranger")[0], "Unschedulable")
        self.world.is_used_by("several", self.watch.pods["second"])
        self.uses(self.placed("third", {"cpu": 2}, app="b"), once)
        self.world.until("once", "has succeeded", lambda status: status["phase"] == "Succeeded")
        of.wait_settled(self.world)


class WholeCpus(Cases):
    """Koordinator's specs of NodeNUMAResource: two memory nodes of 4 cores and 8 CPUs each, and of 8 GiB."""

    def machine(self, policy=None):
        self.node("m", labels={LABEL: "m", **({POLICY: policy} if policy else {})}, cpu="16", topology=of.topology("m"))
        return {"node": "m"}

    def zones(self, item):
        return {each["node"]: each["resources"] for each in said(item, of.STATUS)["numaNodeResources"]}

    def lsr(self, name, cpu, **more):
        return self.placed(name, {"cpu": cpu, "memory": "100Mi"}, qos="LSR", annotations=SPREAD, **more)

    def test_cpus_of_different_cores(self):
        self.machine()
        self.assertEqual(len({cpu // 2 for cpu in of.cpus(self.lsr("p", 2))}), 2)

    def keeps_cpus(self, cpu, **more):
        self.machine()
        return self.available(reservation("r", {"cpu": cpu}, template={"labels": {of.QOS: "LSR"}, "annotations": SPREAD},
                                                spec={"priorityClassName": "koord-prod", "priority": 9999}, **more))

    def test_a_pod_gets_the_cpus_that_are_kept_for_it(self):
        kept = self.keeps_cpus(4)
        self.assertEqual(len(of.cpus(kept)), 4)
        one = self.lsr("p", 4)
        self.uses(one, kept)
        self.assertEqual(of.cpus(one), of.cpus(kept))

    def test_a_pod_gets_the_cpus_that_are_kept_for_it_and_others(self):
        kept = self.keeps_cpus(2)
        one = self.lsr("p", 4)
        self.uses(one, kept)
        self.assertEqual((len(of.cpus(one)), of.cpus(kept) - of.cpus(one)), (4, set()))

    def test_pods_share_the_cpus_that_are_kept_for_them(self):
        kept = self.keeps_cpus(4, allocateOnce=False)
        pods = [self.lsr(f"p{i}", 2) for i in range(2)]
        for one in pods:
            self.uses(one, kept)
        self.assertEqual(of.cpus(pods[0]) | of.cpus(pods[1]), of.cpus(kept))
        self.assertEqual(of.cpus(pods[0]) & of.cpus(pods[1]), set())

    def both_sides(self, **more):
        """Two pods of 28% of the machine are each on a memory node of its own."""
        requests = more.pop("requests", {"cpu": "4480m", "memory": "4480Mi"})
        pods = [self.placed(f"p{i}", requests, **more) for i in range(2)]
        self.assertEqual([list(self.zones(one).values()) for one in pods], [[requests]] * 2)
        self.assertEqual({zone for one in pods for zone in self.zones(one)}, {0, 1})
        return pods

    def test_a_pod_that_wants_one_memory_node_on_a_machine_that_does_not_mind(self):
        at, wants = self.machine(), {f"{DOMAIN}/numa-topology-spec": '{"numaTopologyPolicy": "SingleNUMANode"}'}
        self.both_sides(annotations=wants, **at)
        self.assertIn(UNALIGNED, self.refused("third", {"cpu": "4800m", "memory": "4800Mi"}, annotations=wants, **at))

    def test_machines_of_each_policy(self):
        for policy, fits in (("SingleNUMANode", False), ("Restricted", True), ("BestEffort", True)):
            with self.subTest(policy):
                self.tearDown()
                at = self.machine(policy)
                self.both_sides(**at)
                large = {"cpu": "4800m", "memory": "4800Mi"}
                if fits:
                    self.assertEqual(set(self.zones(self.placed("third", large, **at))), {0, 1})
                else:
                    self.assertIn(UNALIGNED, self.refused("third", large, **at))

    def test_whole_cpus_and_shared_ones_on_a_machine_of_one_policy(self):
        for first, second in (("LSR", "LS"), ("LS", "LSR")):
            with self.subTest(first):
                self.tearDown()
                at = self.machine("SingleNUMANode")
                whole = {"cpu": "4", "memory": "4480Mi"}
                pods = self.both_sides(requests=whole if first == "LSR" else {"cpu": "4480m", "memory": "4480Mi"}, qos=first, **at)
                self.assertEqual([len(of.cpus(one)) for one in pods], [4, 4] if first == "LSR" else [0, 0])
                third = {"cpu": "4800m" if second == "LS" else "4", "memory": "4800Mi"}
                self.assertIn(UNALIGNED, self.refused("third", third, qos=second, **at))

    def test_room_that_lies_across(self):
        """A memory node has CPUs left, the other one memory."""
        for policy, fits in (("SingleNUMANode", False), ("Restricted", True)):
            with self.subTest(policy):
                self.tearDown()
                at, part = self.machine(policy), {"cpu": "6400m", "memory": "6400Mi"}
                where = {}
                for kind in ("memory", "cpu"):
                    for i in range(2):
                        where[kind, i] = list(self.zones(self.placed(f"{kind}-{i}", {kind: part[kind]}, **at)))
                self.assertEqual(where["memory", 0] + where["memory", 1], where["cpu", 0] + where["cpu", 1])
                for gone in ("memory-0", "cpu-1"):
                    schedulers.delete_now(self.world.connection, f"{self.world.pods}/{gone}")
                    self.watch.wait_gone([gone])
                if fits:
                    self.assertEqual(set(self.zones(self.placed("third", part, **at))), {0, 1})
                else:
                    self.assertIn(UNALIGNED, self.refused("third", part, **at))


def load_tests(loader, _, __):
    suite = unittest.TestSuite()
    for profile in of.PROFILES:
        for base in (Reservations, WholeCpus):
            suite.addTests(loader.loadTestsFromTestCase(type(f"{base.__name__}_{profile}", (base,), {"profile": profile})))
    return suite


if __name__ == "__main__":
    schedulers.skip_without_cluster()
    _, _, schedulers.KUBECONFIG = own_cluster("reservations")  # the definitions are nobody else's
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    unittest.main(argv=[sys.argv[0], *sys.argv[1 + ORIGINAL:]], verbosity=2, warnings="ignore")
