#!/usr/bin/env python3
"""Claims for devices beside kube-controller-manager: the same pods, templates and claims on a real API server and on the sandbox,
where a script plays the scheduler and the kubelets. What has settled must be the same: names of claims but their random part,
owners, what pods' statuses say, for whom claims are reserved, finalizers, and which claims are gone.

usage: claims_controller_test.py SERVE      SERVE is the sandbox program of tests/roles/sandbox
"""
import json
import sys
import time

import own_cluster
import schedulers

import kube_api
import kube_version
from sandbox import served

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
PODS = "/api/v1/namespaces/default/pods"
FINALIZER = "resource.kubernetes.io/delete-protection"
SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
SETTLED = 1.5  # seconds without a difference from what was there before
LONGEST = 60


class Cluster:
    def __init__(self, kubeconfig):
        self.connection = kube_api.Api(kubeconfig).connect()

    def call(self, method, path, body=None, kind="application/json"):
        return self.connection.request(method, path, body, kind) or {}

    def template(self, name="t", **metadata):
        self.call("POST", TEMPLATES, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
                                      "spec": {"metadata": metadata, "spec": SPEC}})

    def claim(self, name):
        self.call("POST", CLAIMS, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": SPEC})

    def pod(self, name, *claims, **spec):
        # Nobody is to run it: phases are written by hand.
        self.call("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "automountServiceAccountToken": False, "schedulerName": "nobody", "containers": [{"name": "c", "image": "none"}],
            "resourceClaims": list(claims), **spec}})

    def bind(self, pod, node="by-hand"):
        self.call("POST", f"{PODS}/{pod}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
                                                    "target": {"kind": "Node", "name": node}})

    def phase(self, pod, phase):
        self.call("PATCH", f"{PODS}/{pod}/status", {"status": {"phase": phase}}, "application/merge-patch+json")

    def delete(self, path, grace=0):
        self.call("DELETE", f"{path}?gracePeriodSeconds={grace}")

    def name_of(self, pod, entry):
        statuses = self.call("GET", f"{PODS}/{pod}")["status"].get("resourceClaimStatuses") or []
        return next(each["resourceClaimName"] for each in statuses if each["name"] == entry)

    def allocate(self, claim, *pods):
        """As a scheduler does it."""
        item = self.call("PATCH", f"{CLAIMS}/{claim}", {"metadata": {"finalizers": [FINALIZER]}}, "application/merge-patch+json")
        item["status"] = {"allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "g"}]}}, "reservedFor": [
            {"resource": "pods", "name": pod, "uid": self.call("GET", f"{PODS}/{pod}")["metadata"]["uid"]} for pod in pods]}
        self.call("PUT", f"{CLAIMS}/{claim}/status", item)

    def state(self):
        """All that has to be alike: random parts of names and uids are told apart by their owners."""
        pods = {each["metadata"]["name"]: each for each in self.call("GET", PODS)["items"]}
        uids = {each["metadata"]["uid"]: name for name, each in pods.items()}
        claims, known = [], {}
        for each in self.call("GET", CLAIMS)["items"]:
            meta = each["metadata"]
            made = "resource.kubernetes.io/pod-claim-name" in meta.get("annotations", {})
            name = meta["name"][:-5] + "XXXXX" if made else meta["name"]
            known[meta["name"]] = name
            claims.append((name, meta.get("generateName", ""), meta.get("labels") or {}, meta.get("annotations") or {}, meta.get("finalizers") or [],
                           "deletionTimestamp" in meta, [{**owner, "uid": uids.get(owner["uid"], "gone")} for owner in meta.get("ownerReferences", [])],
                           each["spec"], bool(each["status"].get("allocation")),
                           sorted((user["name"], uids.get(user["uid"], "gone")) for user in each["status"].get("reservedFor", []))))
        statuses = {name: sorted((entry["name"], known.get(entry.get("resourceClaimName"), "gone")) for entry in each["status"].get("resourceClaimStatuses") or [])
                    for name, each in pods.items()}
        return json.loads(json.dumps([sorted(claims, key=str), sorted(statuses.items())]))


def own(name, claim="mine"):
    return {"name": name, "resourceClaimName": claim}


def made(name, template="t"):
    return {"name": name, "resourceClaimTemplateName": template}


# Each a name and steps on a cluster; after each step what has settled is compared. Left out is where nothing settles beside
# kube-controller-manager, or the time decides (packaging/COMPATIBILITY.md): a pod that ends while another uses its claim, and a
# claim of a pod that somebody deletes.
def from_templates(cluster):
    cluster.template(labels={"l": "1"}, annotations={"a": "2"})
    cluster.pod("p", made("a"), made("b"))
    yield "made"
    for entry in "ab":
        cluster.allocate(cluster.name_of("p", entry), "p")
    cluster.bind("p")
    cluster.phase("p", "Running")
    yield "in use"
    cluster.delete(f"{CLAIMS}/{cluster.name_of('p', 'a')}")
    yield "one is to go"
    cluster.delete(f"{PODS}/p")
    yield "gone with the pod"


def ended(cluster):
    cluster.template()
    cluster.pod("p", made("a"), restartPolicy="Never")
    yield "made"
    cluster.allocate(cluster.name_of("p", "a"), "p")
    cluster.bind("p")
    cluster.phase("p", "Succeeded")
    yield "ended"


def late_template(cluster):
    cluster.claim("mine")
    cluster.pod("p", own("x"), made("y", "late"))
    yield "nothing yet"
    cluster.template("late")
    yield "made late"
    cluster.pod("q" * 60, made("c" * 40, "late"))
    yield "long names"


def shared(cluster):
    cluster.claim("mine")
    for name in ("a", "b"):
        cluster.pod(name, own("x"))
    cluster.allocate("mine", "a", "b")
    for name in ("a", "b"):
        cluster.bind(name)
    yield "two users"
    cluster.delete(f"{PODS}/a")
    yield "one user"
    cluster.pod("a", own("x"))
    yield "another of its name"
    cluster.delete(f"{CLAIMS}/mine")
    yield "kept while in use"
    cluster.delete(f"{PODS}/b")
    yield "gone"


def last_user_ends(cluster):
    cluster.claim("mine")
    cluster.pod("p", own("x"), restartPolicy="Never")
    cluster.allocate("mine", "p")
    cluster.bind("p")
    cluster.phase("p", "Succeeded")
    yield "free again"


def bound_by_hand(cluster):
    cluster.claim("mine")
    cluster.pod("p", own("x"))
    cluster.bind("p")
    yield "not allocated"
    cluster.allocate("mine")
    yield "reserved by the controller"


def never_placed(cluster):
    cluster.claim("mine")
    cluster.pod("p", own("x"))
    cluster.allocate("mine", "p")
    yield "reserved"
    cluster.delete(f"{PODS}/p")
    yield "free again"
    cluster.allocate("mine")
    yield "allocated for nobody"
    cluster.delete(f"{CLAIMS}/mine")
    yield "gone"


SCENARIOS = [from_templates, ended, late_template, shared, last_user_ends, bound_by_hand, never_placed]


def settled(real, sandbox):
    """The states of both when they are alike, or when neither has changed for long."""
    end, since, before = time.monotonic() + LONGEST, time.monotonic(), None
    while True:
        states = real.state(), sandbox.state()
        if states != before:
            since, before = time.monotonic(), states
        quiet = time.monotonic() - since
        if quiet > SETTLED and (states[0] == states[1] or quiet > 10 * SETTLED) or time.monotonic() > end:
            return states
        time.sleep(0.1)


def clean(cluster):
    for path in (PODS, TEMPLATES, CLAIMS):
        for item in cluster.call("GET", path)["items"]:
            name = item["metadata"]["name"]
            if item["metadata"].get("finalizers"):
                cluster.call("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            try:
                cluster.delete(f"{path}/{name}")
            except kube_api.ApiError as error:
                assert error.status == 404, error


def main():
    schedulers.skip_without_cluster()
    kube_version.skip_unless_the_sandbox_s()
    _, _, kubeconfig = own_cluster.own_cluster("claims-controller", controllers="resourceclaim-controller,garbage-collector-controller")
    with served(sys.argv[1]) as ours:
        clusters = Cluster(kubeconfig), Cluster(ours)
        for cluster in clusters:
            cluster.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": "by-hand", "annotations": {"sandbox.koordinator.sh/kubelet": "false"}}})
        differences = steps = 0
        for scenario in SCENARIOS:
            for states in zip(*[scenario(cluster) for cluster in clusters]):
                steps += 1
                real, sandbox = settled(*clusters)
                if real != sandbox:
                    differences += 1
                    print(f"FAILED: {scenario.__name__}: {states[0]}\n  real:    {json.dumps(real)[:3000]}\n  sandbox: {json.dumps(sandbox)[:3000]}",
                          flush=True)
            for cluster in clusters:
                clean(cluster)
            settled(*clusters)
        print(f"{len(SCENARIOS)} scenarios, {steps} states on both, {differences} differences")
        return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
