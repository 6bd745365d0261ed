#!/usr/bin/env python3
"""What Koordinator's end-to-end specs say of quotas, and its user manual of quotas and gangs, on a real API server with a manager's
webhooks and its controller of profiles, and a scheduler that runs the profile of its manifests: sums of mins, max, what is
guaranteed, trees that profiles make, the root of a tree that shows what it has given away; the manual's examples."""
import os
import signal
import sys
import tempfile
import time
import unittest

import reservations as of
import schedulers
from own_cluster import own_cluster
from schedulers import wait_for

import kube_api
from check_placement import amounts

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "manager"))
import quota_test as manager  # noqa: E402

PREFIX, NS, QUOTAS, PROFILES, PODS = manager.PREFIX, manager.NS, manager.QUOTAS, manager.PROFILES, manager.PODS
NODES = {"node-0": {"cpu": "8", "memory": "16Gi"}, "node-1": {"cpu": "4", "memory": "8Gi"}}
ALL, HALF, MOST = {"cpu": "8", "memory": "16Gi"}, {"cpu": "4", "memory": "8Gi"}, {"cpu": "4800m", "memory": "10Gi"}
ONE = {"cpu": "1", "memory": "2Gi"}
GATES = "MultiQuotaTree=true"
SECONDS = 40
# The manual's quota and its pods.
LEAST, MOST_OF_IT, LITTLE = {"cpu": "10", "memory": "20Mi"}, {"cpu": "40", "memory": "40Gi"}, {"cpu": "40m", "memory": "40Mi"}
GROUPS = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{NS}/podgroups"


class Rig(unittest.TestCase):
    more_gates = ""

    def setUp(self):
        manager.GATES = GATES
        self.manager = manager.QuotaTest("setUp")
        self.addCleanup(self.manager.doCleanups)
        self.manager.setUp()
        self.api = kube_api.Api(schedulers.KUBECONFIG)
        self.request, self.refused = self.manager.request, self.manager.refused
        self.api.load([schedulers.node(name, **resources) for name, resources in NODES.items()])
        self.addCleanup(schedulers.clean, self.api, [NS])
        self.watch = schedulers.PodWatch(self.api, NS)
        self.addCleanup(self.watch.close)
        config = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.addCleanup(config.close)
        config.write(of.configuration("manifest", schedulers.KUBECONFIG))
        config.flush()
        self.scheduler = schedulers.koord(f"--config={config.name}", f"--feature-gates={GATES}{self.more_gates}")
        self.addCleanup(self.scheduler.end)

    def quota(self, name, least, most, **labels):
        return self.request("POST", QUOTAS, manager.quota(name, least, most, **labels))

    def pod(self, name, quota):
        self.request("POST", PODS, of.pod(name, NS, ONE, labels={f"{PREFIX}name": quota}))

    def profile(self, name, node, **spec):
        """The root quota that the profile has made."""
        self.request("POST", PROFILES, {
            "apiVersion": "quota.koordinator.sh/v1alpha1", "kind": "ElasticQuotaProfile", "metadata": {"name": name},
            "spec": {"quotaName": f"{name}-root", "quotaLabels": {f"{PREFIX}is-parent": "true"},
                     "nodeSelector": {"matchLabels": {"kubernetes.io/hostname": node}}, **spec}})
        wait_for(f"{name}'s root", lambda: self.manager.try_request("GET", f"{QUOTAS}/{name}-root") is not None, SECONDS)
        return self.request("GET", f"{QUOTAS}/{name}-root")

    def is_root(self, quota, resources):
        self.assertEqual(amounts(quota["spec"]["min"]), amounts(resources))
        self.assertEqual(quota["metadata"]["labels"][f"{PREFIX}is-root"], "true")
        return quota["metadata"]["labels"][f"{PREFIX}tree-id"]

    def says(self, name, what, resources):
        """Soon."""
        def there():
            return {key: amount for key, amount in amounts(of.said(self.request("GET", f"{QUOTAS}/{name}"), PREFIX + what) or {}).items() if amount}
        try:
            wait_for(f"{name}'s {what}: {resources}", lambda: there() == amounts(resources), SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}: it is {there()}") from None


class Specs(Rig):
    more_gates = ",ElasticQuotaGuaranteeUsage=true"

    def test_mins_below_a_parent_are_no_more_than_its_own(self):
        self.quota("parent", ALL, ALL, is_parent="true")
        self.quota("first", HALF, ALL, parent="parent")
        self.refused("POST", QUOTAS, manager.quota("second", MOST, ALL, parent="parent"), "checkMinQuotaSum all brothers' MinQuota > parent MinQuota")
        self.quota("second", HALF, ALL, parent="parent")
        for name in ("first", "second", "parent"):
            self.request("DELETE", f"{QUOTAS}/{name}")

    def test_max_holds(self):
        self.quota("basic", {}, ONE)
        self.pod("one", "basic")
        self.watch.wait_scheduled("one")
        self.pod("two", "basic")
        verdict, message = self.watch.verdict("two")
        self.assertEqual(verdict, "Unschedulable")
        self.assertIn("exceedDimensions", message)

    def test_what_is_used_is_guaranteed(self):
        self.quota("parent", ALL, ALL, is_parent="true")
        self.quota("first", {}, ALL, parent="parent")
        rest = {"cpu": "7", "memory": "14Gi"}
        self.quota("second", rest, ALL, parent="parent")
        self.pod("one", "first")
        self.watch.wait_scheduled("one")
        for name, resources in (("first", ONE), ("second", rest), ("parent", ALL)):
            self.says(name, "guaranteed", resources)
            self.says(name, "runtime", resources)
        self.pod("two", "first")
        verdict, message = self.watch.verdict("two")
        self.assertEqual(verdict, "Unschedulable")
        self.assertIn("exceedDimensions", message)
        self.pod("three", "second")
        self.watch.wait_scheduled("three")

    def test_two_profiles_make_two_trees(self):
        roots = [self.profile(f"profile-{i}", f"node-{i}") for i in range(2)]
        trees = [self.is_root(root, NODES[f"node-{i}"]) for i, root in enumerate(roots)]
        self.assertNotEqual(*trees)
        least = [HALF, {"cpu": "2", "memory": "4Gi"}]
        for i, tree in enumerate(trees):
            child = self.quota(f"child-{i}", least[i], NODES[f"node-{i}"], parent=f"profile-{i}-root")
            self.assertEqual(child["metadata"]["labels"][f"{PREFIX}tree-id"], tree)
        for i in range(2):
            self.says(f"child-{i}", "runtime", least[i])
        self.refused("PATCH", f"{QUOTAS}/child-1", {"metadata": {"labels": {f"{PREFIX}parent": "profile-0-root"}}}, "tree id is different from parent profile-0-root")
        self.assertEqual(self.request("GET", f"{QUOTAS}/child-1")["metadata"]["labels"][f"{PREFIX}parent"], "profile-1-root")
        self.refused("POST", QUOTAS, manager.quota("alien", ONE, NODES["node-1"], parent="profile-1-root", tree_id="dfafda"),
                     "tree id is different from parent profile-1-root")

    def test_a_profile_gives_a_share_of_its_nodes(self):
        self.is_root(self.profile("half", "node-0", resourceRatio="0.5"), HALF)

    def test_a_root_shows_what_it_has_given_away(self):
        self.profile("profile", "node-0")
        self.quota("child", HALF, ALL, parent="profile-root")
        self.says("profile-root", "allocated", HALF)
        self.pod("one", "child")
        self.watch.wait_scheduled("one")
        self.assertEqual(self.watch.pods["one"]["spec"]["nodeName"], "node-0")
        self.says("child", "allocated", ONE)



class Manual(Rig):
    def example(self, number, **more):
        return self.request("POST", PODS, of.pod(f"pod-example{number}", NS, LITTLE, **more))

    def waits_whole_and_starts_whole(self, **more):
        self.example(1, **more)
        time.sleep(1)
        self.assertFalse(self.watch.pods["pod-example1"]["spec"].get("nodeName"))
        self.example(2, **more)
        for name in ("pod-example1", "pod-example2"):
            self.watch.wait_scheduled(name)
        for item in self.watch.pods.values():
            self.assertEqual(item["metadata"]["annotations"]["internal.scheduling.koordinator.sh/bind-gang-member-count"], "2")

    def uses(self, name, resources):
        def used():
            return amounts((self.request("GET", f"{QUOTAS}/{name}").get("status") or {}).get("used") or {})
        wait_for(f"{name} uses {resources}", lambda: used() == amounts(resources), SECONDS)

    def test_a_gang_of_a_pod_group(self):
        self.request("POST", GROUPS, {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "gang-example"},
                                      "spec": {"minMember": 2, "scheduleTimeoutSeconds": 100}})
        self.addCleanup(self.request, "DELETE", GROUPS)
        self.waits_whole_and_starts_whole(labels={"pod-group.scheduling.sigs.k8s.io": "gang-example"})
        for number in (1, 2):
            self.request("PATCH", f"{PODS}/pod-example{number}/status", {"status": {"phase": "Running"}})
        wait_for("the PodGroup's status", lambda: {"phase": "Running", "running": 2, "scheduled": 2}.items() <= (
            self.request("GET", f"{GROUPS}/gang-example").get("status") or {}).items(), SECONDS)

    def test_a_gang_of_annotations(self):
        self.waits_whole_and_starts_whole(annotations={f"gang.scheduling.koordinator.sh/{key}": value for key, value in (
            ("name", "gang-example"), ("min-available", "2"))})

    def test_a_quota_by_label_and_by_namespace(self):
        """A quota has the pods that name it, and those of the namespace that is called as it is."""
        for name, labels in (("quota-example", {f"{PREFIX}name": "quota-example"}), (NS, {})):
            made = self.quota(name, LEAST, MOST_OF_IT, parent="", is_parent="false")
            self.assertEqual(made["metadata"]["labels"][f"{PREFIX}parent"], "koordinator-root-quota")
            self.request("POST", PODS, of.pod(f"of-{name}", NS, LITTLE, labels=labels))
            self.watch.wait_scheduled(f"of-{name}")
            for what in ("request", "runtime"):
                self.says(name, what, LITTLE)
            self.says(name, "shared-weight", MOST_OF_IT)
            self.uses(name, LITTLE)

    def test_what_the_webhook_refuses(self):
        self.quota("quota-parent-example", LEAST, MOST_OF_IT, is_parent="true")
        below = {"parent": "quota-parent-example", "is_parent": "false"}
        self.refused("POST", QUOTAS, manager.quota("quota-example", {"cpu": "20", "memory": "20Mi"}, MOST_OF_IT, **below), "checkMinQuotaSum")
        self.refused("POST", QUOTAS, manager.quota("quota-example", LEAST, {**MOST_OF_IT, "test": "200"}, **below),
                     "quota-parent-example's max keys are not the same with quota-example's")
        self.refused("POST", PODS, of.pod("pod-example", NS, LITTLE, labels={f"{PREFIX}name": "quota-parent-example"}),
                     "pod can not be linked to a parentQuotaGroup,quota:quota-parent-example, pod:pod-example")
        self.quota("quota-child-example", LEAST, MOST_OF_IT, **below)
        self.refused("POST", QUOTAS, manager.quota("quota-example", LEAST, MOST_OF_IT, parent="quota-child-example"),
                     "quota-example has parentName quota-child-example but the parentQuotaInfo's IsParent is false")
        self.refused("PATCH", f"{QUOTAS}/quota-parent-example", {"metadata": {"labels": {f"{PREFIX}is-parent": "false"}}}, "quota-parent-example")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its cluster ends with it
    schedulers.skip_without_cluster()
    _, _, schedulers.KUBECONFIG = own_cluster("quota-specs")  # the quotas are nobody else's
    os.environ["KOORD_KUBE_KUBECONFIG"] = schedulers.KUBECONFIG
    unittest.main(verbosity=2, warnings="ignore")
