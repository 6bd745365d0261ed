"""What the tests of reservations share: Reservations made in a line, what became of them, and what must always be true of
them, their owners and CPUs, judged from the API server's objects alone."""
import collections
import json
import os
import re
import time

import schedulers
from schedulers import wait_for

import kube_api
from check_placement import amounts, pod_requests
from sandbox import Kubectl

DOMAIN, QOS = "scheduling.koordinator.sh", "koordinator.sh/qosClass"
ALLOCATED, AFFINITY = f"{DOMAIN}/reservation-allocated", f"{DOMAIN}/reservation-affinity"
CPU_SPEC, STATUS = f"{DOMAIN}/resource-spec", f"{DOMAIN}/resource-status"
RESERVATIONS = f"/apis/{DOMAIN}/v1alpha1/reservations"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
PACKAGING = os.path.join(schedulers.HERE, "..", "..", "packaging")
PROFILES = {name: os.path.join(schedulers.HERE, "..", "golden", "scheduler", f"{name}-v1.8{rest}.yaml")
            for name, rest in (("manifest", ""), ("chart", ".0"))}
OVER = ("Succeeded", "Failed")


def install(kubeconfig, *files):
    """The definitions and koord's priority classes; `files` beside them or instead of the definitions."""
    kubectl = Kubectl(kubeconfig)
    kubectl.run("apply", "--server-side", *(part for file in files or [os.path.join(PACKAGING, "crds")] for part in ("-f", file)),
                "-f", os.path.join(PACKAGING, "manifests", "10-priority-classes.yaml"))
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")


def without(text, plugins):
    """A shipped profile in which these plugins do not occur."""
    for plugin in plugins:
        text = re.sub(rf"^      - name: {plugin}\n        args:\n(?:          .*\n)+", "", text, flags=re.M)
        text = re.sub(rf"^          - name: {plugin}\n(?:            weight: .*\n)?", "", text, flags=re.M)
    # Of points that have lost all of theirs.
    text = re.sub(r"^      \w+:\n        enabled:\n(?=      \w|\Z)", "", text, flags=re.M)
    assert not any(plugin in text for plugin in plugins), text
    return text


def configuration(profile, kubeconfig, scheduler="koord-scheduler", less=(), **arguments):
    """The text of a shipped profile (`manifest` or `chart`), without a lease and without plugins, with arguments of
    Reservation's."""
    with open(PROFILES[profile], encoding="utf-8") as file:
        text = without(file.read(), less)
    plugin = (f"    pluginConfig:\n      - name: Reservation\n        args: {{apiVersion: kubescheduler.config.k8s.io/v1, "
              f"kind: ReservationArgs{''.join(f', {key}: {value}' for key, value in arguments.items())}}}\n")
    for old, new in (("leaderElect: true", "leaderElect: false"), ("    pluginConfig:\n", plugin),
                     ("schedulerName: koord-scheduler", f"schedulerName: {scheduler}")):
        assert old in text, old
        text = text.replace(old, new, 1)
    return text + f"clientConnection: {{kubeconfig: {kubeconfig}, qps: 100000, burst: 100000}}\n"


def owner(app="a"):
    return {"labelSelector": {"matchLabels": {"app": app}}}


def container(requests, ports=(), **more):
    amounts = {key.replace("__", "/"): str(value) for key, value in requests.items()}
    return {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts},
            "ports": [{"containerPort": 80, "hostPort": port, "protocol": "TCP"} for port in ports], **more}


def reservation(name, requests=None, *, owners=None, node=None, ports=(), labels=None, annotations=None, template=None, spec=None,
                scheduler="koord-scheduler", **more):
    """By default of one CPU and 1 GiB for pods of app a. `template`: its metadata, `spec`: more of the pod's spec; `more`: of
    the Reservation's own."""
    pod = {"schedulerName": scheduler, "containers": [container(requests or {"cpu": 1, "memory": "1Gi"}, ports)], **(spec or {})}
    if node:
        pod["affinity"] = schedulers.only_on(node)
    return {"apiVersion": f"{DOMAIN}/v1alpha1", "kind": "Reservation",
            "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
            "spec": {"template": {"metadata": template or {}, "spec": pod}, "owners": owners or [owner()], **more}}


def pod(name, namespace, requests=None, *, app="a", node=None, ports=(), labels=None, annotations=None, qos=None,
        scheduler="koord-scheduler", **spec):
    if node:
        spec["affinity"] = {**schedulers.only_on(node), **spec.get("affinity", {})}
    if qos:
        labels = {**(labels or {}), QOS: qos}
        spec["priorityClassName"] = "koord-prod"
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": app, **(labels or {})}, "annotations": annotations or {}},
            "spec": {"schedulerName": scheduler, "containers": [container(requests or {"cpu": 1, "memory": "1Gi"}, ports)],
                     "terminationGracePeriodSeconds": 0, **spec}}


def affinity(**terms):
    """The annotation; named(x) and labelled(k, v) are what it says mostly."""
    return {AFFINITY: json.dumps(terms)}


def named(name):
    return affinity(name=name)


def labelled(key, *values):
    return affinity(requiredDuringSchedulingIgnoredDuringExecution={"reservationSelectorTerms": [
        {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]})


def topology(name, zones=2, cores=4, threads=2, memory="8Gi"):
    """A machine's report: each core has `threads` CPUs beside one another, each memory node its share."""
    detail = [{"id": (zone * cores + core) * threads + thread, "core": zone * cores + core, "socket": zone, "node": zone}
              for zone in range(zones) for core in range(cores) for thread in range(threads)]
    amounts = [{"name": kind, "capacity": amount, "allocatable": amount, "available": amount}
               for kind, amount in (("cpu", str(cores * threads)), ("memory", memory))]
    return {"apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology",
            "metadata": {"name": name, "annotations": {"node.koordinator.sh/cpu-topology": json.dumps({"detail": detail})}},
            "topologyPolicies": ["None"],
            "zones": [{"name": f"node-{zone}", "type": "Node", "resources": amounts} for zone in range(zones)]}


def said(item, key):
    """A JSON annotation, or None."""
    text = (item["metadata"].get("annotations") or {}).get(key)
    return json.loads(text) if text else None


def cpus(item):
    """Of a pod or a Reservation: which CPUs it was given."""
    found = set()
    for part in filter(None, (said(item, STATUS) or {}).get("cpuset", "").split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def condition(item, kind):
    return next((c for c in (item.get("status") or {}).get("conditions") or [] if c["type"] == kind), {})


class World:
    """Reservations and pods of a namespace in a cluster: made, waited for, removed."""

    def __init__(self, api, namespace):
        self.api, self.namespace, self.connection = api, namespace, api.connect()
        self.pods = f"/api/v1/namespaces/{namespace}/pods"

    def get(self, name):
        return self.connection.request("GET", f"{RESERVATIONS}/{name}")

    def reserve(self, item):
        return self.connection.request("POST", RESERVATIONS, item)

    def until(self, name, what, condition, seconds=30):
        """The Reservation, once condition(status) is true."""
        def there():
            now = self.get(name)
            return now if condition(now.get("status") or {}) else None
        try:
            return wait_for(f"{name}: {what}", there, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.get(name).get('status')}") from None

    def available(self, item):
        self.reserve(item)
        return self.until(item["metadata"]["name"], "is Available", lambda status: status.get("phase") == "Available")

    def is_used_by(self, name, *pods):
        """Once exactly these have it, sorted as the API has them: by their uids."""
        wanted = sorted(({"namespace": one["metadata"]["namespace"], "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]}
                         for one in pods), key=lambda each: each["uid"])
        return self.until(name, f"is used by {[one['name'] for one in wanted]}", lambda status: status.get("currentOwners", []) == wanted)

    def clean(self):
        for path in (self.pods, RESERVATIONS, TOPOLOGIES):
            schedulers.delete_now(self.connection, path)
        schedulers.clean(self.api, [self.namespace])

    # -- what must always be true

    def faults(self, settled=False):
        """What is wrong with all that is bound; where everything has come to rest also with what Reservations say."""
        pods = [one for one in self.api.list(self.pods) if one["spec"].get("nodeName") and one.get("status", {}).get("phase") not in OVER]
        kept = [one for one in self.api.list(RESERVATIONS) if (one.get("status") or {}).get("nodeName")]
        owners = collections.defaultdict(list)
        for one in pods:
            if given := said(one, ALLOCATED):
                owners[given["uid"]].append(one)
        wrong = []
        for one in kept:
            mine = [each for each in owners.pop(one["metadata"]["uid"], []) if each["spec"]["nodeName"] == one["status"]["nodeName"]]
            wrong += faults_of(one, mine, settled)
        wrong += [f"{one['metadata']['name']}: is of a reservation that is not there" for each in owners.values() for one in each] if settled else []
        available = [one for one in kept if one["status"]["phase"] == "Available"]
        return wrong + shared_cpus(pods, available) + overdrawn(self.api.list("/api/v1/nodes"), pods, available)


def faults_of(item, owners, settled):
    name, status = item["metadata"]["name"], item["status"]
    spent = sums(owners)
    over = {key: amount for key, amount in spent.items() if key in amounts(status["allocatable"]) and amount > amounts(status["allocatable"])[key]}
    wrong = []
    if item["spec"].get("allocateOnce", True) and len(owners) > 1:
        wrong.append(f"{name}: is for one pod, and {[one['metadata']['name'] for one in owners]} have it")
    if item["spec"].get("allocatePolicy") == "Restricted" and over:
        wrong.append(f"{name}: is overdrawn by {over}")
    if settled and status["phase"] not in OVER:
        if sorted(one["uid"] for one in status.get("currentOwners", [])) != sorted(one["metadata"]["uid"] for one in owners):
            wrong.append(f"{name}: currentOwners are {status.get('currentOwners')}, pods {[one['metadata']['name'] for one in owners]}")
        said_of = {key: amount for key, amount in amounts(status.get("allocated", {})).items() if amount}
        if said_of != {key: amount for key, amount in spent.items() if key in status["allocatable"]}:
            wrong.append(f"{name}: allocated is {said_of}, its pods have {spent}")
    return wrong


def sums(pods):
    total = collections.Counter()
    for one in pods:
        total.update(pod_requests(one))
    return {key: amount for key, amount in total.items() if amount}


def shared_cpus(pods, available):
    """No CPU is two pods', nor a pod's that does not use the reservation that keeps it."""
    wrong, of = [], {}
    for one in pods:
        for cpu in cpus(one):
            if other := of.setdefault((one["spec"]["nodeName"], cpu), one["metadata"]["name"]):
                wrong += [f"CPU {cpu} of {one['spec']['nodeName']} is {other}'s and {one['metadata']['name']}'s"] if other != one["metadata"]["name"] else []
    users = {one["metadata"]["name"]: (said(one, ALLOCATED) or {}).get("uid") for one in pods}
    for one in available:
        for cpu in cpus(one):
            holder = of.get((one["status"]["nodeName"], cpu))
            if holder is not None and users[holder] != one["metadata"]["uid"]:
                wrong.append(f"CPU {cpu} of {one['status']['nodeName']} is kept by {one['metadata']['name']}, and {holder} has it")
    return wrong


def overdrawn(nodes, pods, available):
    """On each node the pods and what is left of reservations are no more than there is."""
    wrong = []
    for node in nodes:
        name = node["metadata"]["name"]
        here = [one for one in pods if one["spec"]["nodeName"] == name]
        total = collections.Counter(sums(here))
        for one in (each for each in available if each["status"]["nodeName"] == name):
            spent = sums([each for each in here if (said(each, ALLOCATED) or {}).get("uid") == one["metadata"]["uid"]])
            for key, amount in amounts(one["status"]["allocatable"]).items():
                total[key] += max(amount - spent.get(key, 0), 0)
        there = amounts({key: value for key, value in node["status"]["allocatable"].items() if key != "pods"})
        wrong += [f"{name}: {total[key]} {key} of {there.get(key, 0)} are given away" for key in total if total[key] > there.get(key, 0)]
    return wrong


def wait_settled(world, seconds=40):
    """Until nothing is wrong with what all objects say; what still is then is raised."""
    end = time.monotonic() + seconds
    while wrong := world.faults(settled=True):
        assert time.monotonic() < end, "\n".join(wrong)
        time.sleep(0.2)


kube_api.PLURAL.update({
    "Reservation": (f"/apis/{DOMAIN}/v1alpha1", "reservations", False),
    "NodeResourceTopology": ("/apis/topology.node.k8s.io/v1alpha1", "noderesourcetopologies", False),
})
