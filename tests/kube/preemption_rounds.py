"""For the comparisons of preemption: in each round there are pods on some nodes, others come, and what is seen is who is asked to
go and what is said, before those have gone and after. Nobody ends here by himself, so that what is between can be seen."""
import collections
import re
import time

import schedulers
from gang_cases import POD_GROUPS
from schedulers import LATE

import kube_api

QUIET = 1.5  # seconds in which nothing more is said
PRIORITIES = {"compare-low": 10, "compare-mid": 100, "compare-high": 1000, "compare-top": 10000}
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
# What the original says each time that it tries a pod whose victims end, where koord does not try it, and of those that wait on a
# node and are let go, where koord places all of a gang or nobody.
UNSAID = re.compile(r"not eligible due to (a )?terminating pod on the nominated node|^0/1 nodes are available: 1 (Gang|preempt success|0/)")


def never(priority):
    """The class of the same value whose pods preempt nobody."""
    return f"{priority}-never"


def make_priorities(api):
    for name, value in PRIORITIES.items():
        for each, policy in ((name, {}), (never(name), {"preemptionPolicy": "Never"})):
            kube_api.create(api.connect(), {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": each}, "value": value, **policy})


def delete_priorities(api):
    for name in PRIORITIES:
        for each in (name, never(name)):
            api.connect().request("DELETE", f"{CLASSES}/{each}")


class Witness(schedulers.PodWatch):
    """That remembers what pods were told, and who was asked to go."""

    def __init__(self, api, namespace):
        self.said, self.disrupted = collections.defaultdict(set), {}
        super().__init__(api, namespace)

    def take(self, item, gone=False):
        super().take(item, gone)
        name, condition = item["metadata"]["name"], schedulers.condition_of(item)
        if condition.get("status") == "False":
            self.said[name].add((condition["reason"], condition["message"]))
        for each in (item.get("status") or {}).get("conditions") or []:
            if each["type"] == "DisruptionTarget":
                self.disrupted[name] = tuple(each.get(key) for key in ("status", "reason", "message"))


class Run(schedulers.Run):
    """One scheduler with a comparison's cluster (`nodes`, and round(number): who is there, and who comes), and all that was seen."""

    def __init__(self, api, who, command, cluster, namespace, rounds, cleaner):
        self.cluster, self.namespace, self.rounds = cluster, namespace, rounds
        super().__init__(api, who, command, [namespace], cleaner)

    def nodes(self):
        return self.cluster.nodes

    def go(self):
        self.begin()
        for number in range(self.rounds):
            there, preemptor = self.cluster.round(number)
            watch = Witness(self.api, self.namespace)
            try:
                self.round(number, watch, there, preemptor)
            finally:
                watch.close()

    def begin(self):
        """Makes what there is besides nodes and pods."""

    def round(self, number, watch, there, preemptor):
        self.put(watch, there)
        if preemptor.group:
            kube_api.create(self.connection, preemptor.group)
        for item in preemptor.pods:
            kube_api.create(self.connection, item)
        mine = [item["metadata"]["name"] for item in preemptor.pods]
        gated = [item["metadata"]["name"] for item in preemptor.pods if item["spec"].get("schedulingGates")]
        if gated:
            time.sleep(2 * LATE)
        for name in gated:
            self.connection.request("PATCH", f"/api/v1/namespaces/{self.namespace}/pods/{name}", {"spec": {"schedulingGates": None}},
                                    "application/merge-patch+json")
        watch.wait(f"{self.who}: a word on {preemptor}", lambda pods: all(name in pods for name in mine) and all(
            pods[name]["spec"].get("nodeName") or schedulers.condition_of(pods[name]).get("reason") == "Unschedulable" for name in mine), 30)
        before = schedulers.settled(lambda: self.between(watch, mine), QUIET)
        self.remove([(name, self.namespace) for name in sorted(watch.disrupted)])
        after = schedulers.settled(lambda: counted(watch, mine, node_of), QUIET)
        self.seen[f"{number}"] = {**before, "bound": after, "preemptor": preemptor, "there": described(there)}
        self.remove([(item["metadata"]["name"], self.namespace) for item in [*preemptor.pods, *there]])
        if preemptor.group:
            self.connection.request("DELETE", f"{POD_GROUPS}/namespaces/{self.namespace}/podgroups/{preemptor.name}")

    def put(self, watch, there):
        """Each of them runs for longer than the one before."""
        for number, item in enumerate(there):
            kube_api.create(self.connection, item)
            status = {"phase": "Running", "startTime": f"2026-01-01T{23 - number // 60:02}:{59 - number % 60:02}:00Z"}
            self.connection.request("PATCH", f"/api/v1/namespaces/{self.namespace}/pods/{item['metadata']['name']}/status", {"status": status},
                                    "application/merge-patch+json")
        watch.wait("those who are there", lambda pods: len([1 for item in pods.values() if item["status"].get("startTime")]) == len(there))
        time.sleep(2 * LATE)

    def between(self, watch, mine):
        events = self.api.list(schedulers.EVENTS.format(self.namespace))
        with watch.changed:
            uids = {watch.pods[name]["metadata"]["uid"] for name in mine}
            victims = {name: (*condition[:2], plain(condition[2])) for name, condition in sorted(watch.disrupted.items())}
            return {"victims": victims, "ending": sorted(name for name, item in watch.pods.items() if item["metadata"].get("deletionTimestamp")),
                    "nominated": counted(watch, mine, lambda item: (item.get("status") or {}).get("nominatedNodeName")),
                    "at once": counted(watch, mine, node_of),
                    "preempted": sorted({(event["regarding"]["name"], event["type"], event["action"], UID.sub("UID", event["note"]),
                                          plain(event["related"]["name"]), event["note"].split()[3] in uids)
                                         for event in events if event["reason"] == "Preempted" and event["regarding"]["name"] in victims}),
                    "said": sorted({(reason, plain(message)) for name in mine for reason, message in watch.said[name] if not UNSAID.search(message)}),
                    "events": sorted({(event["type"], event["action"], plain(event["note"])) for event in events
                                      if event["reason"] == "FailedScheduling" and event["regarding"]["name"] in mine and not UNSAID.search(event["note"])})}


def plain(text):
    """Without which of several like members it is about, and how many of them had a place: the original tries them again and again."""
    return re.sub(r"(alreadyWait(?:ing)?ForBound): \d+", r"\1", re.sub(r"\b((?:gang|alone)-\d+)-\d+", r"\1", text))


def node_of(item):
    return item["spec"].get("nodeName")


def gone(watch, there):
    """The names of those who are not there any more."""
    with watch.changed:
        return sorted({item["metadata"]["name"] for item in there} - set(watch.pods))


def put_gang(run, there, gang, seconds):
    """A gang comes to where others are, of whom nobody takes time to end: who of them has gone, and {node: how many of the gang}, once all of
    it is bound or after so many seconds."""
    watch, names = run.watches[gang[0]["metadata"]["namespace"]], [item["metadata"]["name"] for item in gang]
    for item in (*there, *gang):
        item["spec"]["terminationGracePeriodSeconds"] = 0
    for item in there:
        kube_api.create(run.connection, item)
    watch.wait("those who are there", lambda pods: len(pods) == len(there))
    time.sleep(4 * LATE)
    for item in gang:
        kube_api.create(run.connection, item)
    end = time.monotonic() + seconds
    while time.monotonic() < end and (None in (bound := counted(watch, names, node_of)) or sum(bound.values()) < len(names)):
        time.sleep(LATE)
    return gone(watch, there), bound


def counted(watch, names, where):
    """{node: how many of them}."""
    return dict(sorted(collections.Counter(where(watch.pods[name]) for name in names if name in watch.pods).items(), key=str))


def described(there):
    return [f"{item['metadata']['name']} {item['spec']['nodeName']} {item['spec']['containers'][0]['resources']['requests']['cpu']} "
            f"{item['spec']['priorityClassName']} {item['metadata']['labels']}" for item in there]


def emptied(seen):
    """The nodes from which somebody was asked to go."""
    return {row.split()[1] for row in seen["there"] if row.split()[0] in seen["victims"]}


def differences(name, upstream, own, keys):
    """Where they differ, and what there was."""
    return (f"{name}: {upstream['preemptor']}, nominated {upstream['nominated']}, {own['nominated']}{schedulers.difference(upstream, own, keys)}"
            + "".join(f"\n    {each}" for each in upstream["there"]))


def differing(upstream, own):
    """In which of their parts they differ. Those of a gang that had a place of their own and lost it hear more in koord; and they keep
    no nomination there if nobody goes. Where somebody does the original tries members meanwhile, who may lose theirs."""
    keys = [key for key in upstream if key not in ("preemptor", "there") and upstream[key] != own[key]]
    if not upstream["victims"] and not own["victims"]:
        keys = [key for key in keys if key != "nominated" or set(own[key]) != {None}]
    elif None not in own["nominated"] and all(node is None or pods <= own["nominated"].get(node, 0) for node, pods in upstream["nominated"].items()):
        keys = [key for key in keys if key != "nominated"]
    for key in set(keys) & {"said", "events"}:
        more = set(own[key]) - set(upstream[key])
        if set(upstream[key]) <= set(own[key]) and all(" gets rejected due to member Pod " in each[-1] for each in more):
            keys.remove(key)
    return keys


def clean(api, namespace):
    connection = api.connect()
    schedulers.delete_now(connection, f"/api/v1/namespaces/{namespace}/pods")
    connection.request("DELETE", f"{POD_GROUPS}/namespaces/{namespace}/podgroups")
    schedulers.clean(api, [namespace])
