"""What comparisons of MigrationControllers play: a PodMigrationJob, and the scheduler, workloads and people around it, step by step."""
import json
import re

import reservations
from descheduler_world import MERGE, run_pod
from kube_api import ApiError
from sandbox import wait_for

DOMAIN = "scheduling.koordinator.sh"
JOBS, RESERVATIONS = f"/apis/{DOMAIN}/v1alpha1/podmigrationjobs", f"/apis/{DOMAIN}/v1alpha1/reservations"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
PATIENCE_SECONDS = 150
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HOME, AWAY = "n1", "n2"


class Play:
    """Of one job, which is named like the play and is about the pod NAME-0 in default on n1; in a thread of its own."""

    def __init__(self, api, name):
        self.api, self.name, self.connection, self.notes = api, name, api.connect(), []
        self.pod = f"{name}-0"

    # -- what is asked

    def request(self, method, path, body=None):
        return self.connection.request(method, path, body, MERGE if method == "PATCH" else "application/json")

    def get(self, path):
        """None where there is none."""
        try:
            return self.request("GET", path)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def status(self):
        return (self.get(f"{JOBS}/{self.name}") or {}).get("status") or {}

    def condition(self, kind):
        return next((one for one in self.status().get("conditions", []) if one["type"] == kind), {})

    def until(self, what, condition):
        try:
            return wait_for(f"{self.name}: {what}", condition, PATIENCE_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}: {json.dumps(self.status())}") from None

    def until_phase(self, *phases):
        self.until(f"is {phases}", lambda: self.status().get("phase") in phases)

    def until_condition(self, kind, status, reason=None):
        self.until(f"{kind} is {status} ({reason})", lambda: self.condition(kind).get("status") == status and
                   reason in (None, self.condition(kind).get("reason")))

    def until_gone(self, pod=None):
        self.until("the pod goes", lambda: not self.get(self.path(pod or self.pod)))

    def note(self):
        """What the job says at this moment."""
        self.notes.append(self.said())

    # -- what is done

    @staticmethod
    def path(pod):
        return f"/api/v1/namespaces/default/pods/{pod}"

    def ask(self, annotations=None, labels=None, **spec):
        self.request("POST", JOBS, {"apiVersion": f"{DOMAIN}/v1alpha1", "kind": "PodMigrationJob",
                                    "metadata": {"name": self.name, "annotations": annotations or {}, "labels": labels or {}},
                                    "spec": {"podRef": {"namespace": "default", "name": self.pod}, **spec}})

    def reservation(self):
        """The name of the job's, once it has one."""
        def named():
            options = self.request("GET", f"{JOBS}/{self.name}")["spec"].get("reservationOptions") or {}
            return (options.get("reservationRef") or {}).get("name")
        return self.until("it has a Reservation", named)

    def reserve(self, phase="Available", node=AWAY, *conditions, owners=()):
        """As a scheduler does, or what it says instead."""
        said = conditions or (("Scheduled", "True", "Scheduled", ""), ("Ready", "True", "Available", ""))
        self.request("PATCH", f"{RESERVATIONS}/{self.reservation()}/status", {"status": {
            "phase": phase, **({"nodeName": node} if node else {}), "currentOwners": list(owners),
            "conditions": [{"type": kind, "status": status, "reason": reason, "message": message} for kind, status, reason, message in said]}})

    def successor(self, name=None, ready=True, owner=None, node=AWAY):
        """A pod that another one of the workload, or of another one, would be."""
        of = self.request("GET", f"/apis/apps/v1/namespaces/default/replicasets/{owner or self.name}")
        name = name or f"{self.name}-new"
        status = {} if ready else {"conditions": [{"type": "Ready", "status": "False"}]}
        run_pod(self.connection, ({"kind": "Pod", "metadata": {"name": name, "namespace": "default", "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": of["metadata"]["name"], "uid": of["metadata"]["uid"], "controller": True}]},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "none"}]}}, status))
        return {"namespace": "default", "name": name, "uid": self.get(self.path(name))["metadata"]["uid"]}

    def make_ready(self, pod):
        self.request("PATCH", f"{self.path(pod)}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})

    def delete(self, pod=None):
        self.request("DELETE", self.path(pod or self.pod), {"gracePeriodSeconds": 0})

    # -- what is compared

    def uids(self):
        """Names for the uids that may occur."""
        named = {}
        for path, kind in ((JOBS, "job"), (RESERVATIONS, "reservation"), ("/api/v1/namespaces/default/pods", "pod"),
                           ("/apis/apps/v1/namespaces/default/replicasets", "workload")):
            for item in self.request("GET", path)["items"]:
                named[item["metadata"]["uid"]] = kind
        return named

    def said(self):
        """The job, its Reservation and pod, without times and versions, uids by whose they are."""
        job = self.request("GET", f"{JOBS}/{self.name}")
        options = job["spec"].get("reservationOptions") or {}
        name = (options.get("reservationRef") or {}).get("name")
        kept, pod, whose = name and self.get(f"{RESERVATIONS}/{name}"), self.get(self.path(self.pod)), self.uids()

        def plain(value):
            if isinstance(value, dict):
                items = ((key, seconds(item) if key == "ttl" else plain(item)) for key, item in value.items() if key not in UNTOLD)
                return {key: item for key, item in items if item not in NOTHING}
            if isinstance(value, list):
                return [plain(item) for item in value]
            if isinstance(value, str) and value.isdigit() and len(value) == 13:
                return "some time"  # the order of Reservations
            return UID.sub(lambda found: f"uid of a {whose.get(found[0], 'pod')}", value) if isinstance(value, str) else value

        status = job.get("status") or {}
        found = {"spec": {**job["spec"], "reservationOptions": {key: value for key, value in options.items() if key != "template"}},
                 "labels": job["metadata"].get("labels"), "annotations": job["metadata"].get("annotations"),
                 "status": {**status, "conditions": sorted(status.get("conditions", []), key=lambda one: one["type"])},
                 "template": options.get("template"), "pod": pod and (pod["metadata"].get("annotations") or {})}
        if kept:
            found["reservation"] = {"labels": kept["metadata"].get("labels"), "annotations": kept["metadata"].get("annotations"), "spec": kept["spec"]}
        return plain(found)


def seconds(duration):
    return sum(float(count) * {"h": 3600, "m": 60, "s": 1}[unit] for count, unit in re.findall(r"([\d.]+)([hms])", duration))


UNTOLD = {"managedFields", "resourceVersion", "creationTimestamp", "lastProbeTime", "lastTransitionTime", "generation"}
NOTHING = (None, "", {}, [])


# Each play by its name: what the pod is like beside others (for World.pod), what happens.
def is_moved(play):
    play.ask()
    play.reservation()
    play.until_condition("ReservationCreated", "True")
    play.note()
    play.reserve()
    play.until_gone()
    play.until_condition("PodBoundReservation", "False", "WaitForPodBindReservation")
    play.note()
    new = play.successor(ready=False)
    play.reserve("Succeeded", owners=[new])
    play.until_condition("BoundPodReady", "False", "WaitForBoundPodReady")
    play.note()
    play.make_ready(new["name"])
    play.until_phase("Succeeded", "Failed")


def has_no_place_at_first(play):
    play.ask()
    play.reserve("Pending", None, ("Scheduled", "False", "Unschedulable", "0/3 nodes are available"))
    play.until_condition("ReservationScheduled", "False", "Unschedulable")
    play.note()
    play.reserve()
    play.until_gone()
    play.reserve("Succeeded", owners=[play.successor()])
    play.until_phase("Succeeded", "Failed")


def loses_its_reservation_to_time(play):
    play.ask()
    play.reserve("Failed", None, ("Scheduled", "False", "Unschedulable", "no room"), ("Ready", "False", "Expired", "expired"))
    play.until_phase("Succeeded", "Failed")


def has_no_place(play):
    play.ask()
    play.reserve("Failed", None, ("Scheduled", "False", "Unschedulable", "no room at all"))
    play.until_phase("Succeeded", "Failed")


def would_stay_where_it_is(play):
    play.ask()
    play.reserve(node=HOME)
    play.until_phase("Succeeded", "Failed")


def finds_its_place_taken(play):
    play.ask()
    play.reservation()
    play.reserve("Succeeded", owners=[play.successor(owner="others")])
    play.until_phase("Succeeded", "Failed")


def goes_before_it_is_asked(play):
    play.ask()
    play.reservation()
    play.delete()
    play.reserve()
    play.until_phase("Succeeded", "Failed")


def loses_its_successor(play):
    play.ask()
    play.reserve()
    play.until_gone()
    new = play.successor(ready=False)
    play.delete(new["name"])
    play.reserve("Succeeded", owners=[new])
    play.until_phase("Succeeded", "Failed")


def goes_directly(play):
    play.ask(mode="EvictDirectly", annotations={"koordinator.sh/evict-reason": "somebody \"said\" so", "koordinator.sh/evict-trigger": "somebody"})
    play.until_phase("Succeeded", "Failed")


def is_asked_to_go_by_itself(play):
    play.ask(mode="EvictDirectly", annotations={"koordinator.sh/evict-trigger": "somebody"})
    key = "scheduling.koordinator.sh/soft-eviction"
    said = json.loads(play.until("it is asked", lambda: (play.get(play.path(play.pod))["metadata"].get("annotations") or {}).get(key)))
    play.notes.append({name: value for name, value in said.items() if name != "timestamp"})
    play.delete()
    play.until_phase("Succeeded", "Failed")


def is_kept_by_a_budget(play):
    budget = {"metadata": {"name": play.name}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"play": play.name}}}}
    made = play.request("POST", BUDGETS, budget)
    allowed = {"observedGeneration": made["metadata"]["generation"], "disruptionsAllowed": 0, "currentHealthy": 5, "desiredHealthy": 5, "expectedPods": 5}
    play.request("PATCH", f"{BUDGETS}/{play.name}/status", {"status": allowed})
    play.ask(mode="EvictDirectly")
    play.until_phase("Running")
    try:
        wait_for("it goes", lambda: not play.get(play.path(play.pod)), 4)
        raise RuntimeError("a budget was broken")
    except AssertionError:
        play.request("DELETE", f"{BUDGETS}/{play.name}")
    play.until_phase("Succeeded", "Failed")


def is_too_late(play):
    play.ask(ttl="40s")
    name = play.reservation()
    play.until_phase("Succeeded", "Failed")
    play.until("its Reservation goes", lambda: not play.get(f"{RESERVATIONS}/{name}"))


def may_not_go(play):
    play.ask()
    play.until_phase("Succeeded", "Failed")


def is_nobody(play):
    play.pod = "nobody"
    play.ask()
    play.until_phase("Succeeded", "Failed")


def has_no_name(play):
    play.ask(podRef={"name": play.pod})
    play.until_phase("Succeeded", "Failed")


def waits_for_a_node_itself(play):
    play.ask()
    play.reserve()
    play.until_condition("PodScheduled", "False", "Unschedulable")
    play.note()
    play.request("POST", f"{play.path(play.pod)}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": play.pod},
                                                            "target": {"kind": "Node", "name": AWAY}})
    play.until_phase("Succeeded", "Failed")


def has_a_reservation_already(play):
    play.request("POST", RESERVATIONS, reservations.reservation(play.name))
    play.ask(reservationOptions={"reservationRef": {"name": play.name}})
    play.reserve()
    play.until_gone()
    play.reserve("Succeeded", owners=[play.successor()])
    play.until_phase("Succeeded", "Failed")


def has_a_template(play):
    play.ask(ttl="10m", reservationOptions={"template": {"metadata": {"name": f"of-{play.name}", "labels": {"a": "b"}}, "spec": {
        "ttl": "1h", "owners": [{"labelSelector": {"matchLabels": {"play": play.name}}}]}}})
    play.reservation()
    play.until_condition("ReservationCreated", "True")
    play.note()
    play.reserve()
    play.until_gone()
    play.reserve("Succeeded", owners=[play.successor()])
    play.until_phase("Succeeded", "Failed")


SELECTS = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [HOME, AWAY]}]},
    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [AWAY]}]}]}}}
EVICT = {"descheduler.alpha.kubernetes.io/evict": "true"}
PLAYS = {
    "is-moved": (is_moved, {}),
    "is-moved-by-affinity": (is_moved, {"affinity": SELECTS}),
    "has-no-place-at-first": (has_no_place_at_first, {}),
    "loses-its-reservation": (loses_its_reservation_to_time, {}),
    "has-no-place": (has_no_place, {}),
    "would-stay": (would_stay_where_it_is, {}),
    "finds-its-place-taken": (finds_its_place_taken, {}),
    "goes-before": (goes_before_it_is_asked, {}),
    "loses-its-successor": (loses_its_successor, {}),
    "goes-directly": (goes_directly, {}),
    "is-deleted": (goes_directly, {"labels": {"koordinator.sh/evict-policy": "Delete"}}),
    "is-asked-softly": (is_asked_to_go_by_itself, {"labels": {"koordinator.sh/evict-policy": "SoftEviction"}}),
    "is-kept-by-a-budget": (is_kept_by_a_budget, {}),
    "is-too-late": (is_too_late, {}),
    "is-bare": (may_not_go, {"owner": None}),
    "is-a-daemon": (may_not_go, {"kind": "DaemonSet"}),
    "is-a-daemon-that-may": (goes_directly, {"kind": "DaemonSet", "annotations": EVICT}),
    "has-its-data-here": (may_not_go, {"volumes": [{"name": "v", "emptyDir": {}}]}),
    "is-too-dear": (may_not_go, {"annotations": {"scheduling.koordinator.sh/eviction-cost": "2147483647"}}),
    "is-important": (may_not_go, {"priorityClassName": "system-node-critical"}),
    "is-alone": (may_not_go, {"alone": True}),
    "is-nobody": (is_nobody, {}),
    "has-no-name": (has_no_name, {}),
    "waits-itself": (waits_for_a_node_itself, {"waiting": True}),
    "has-a-reservation": (has_a_reservation_already, {}),
    "has-a-template": (has_a_template, {}),
}
