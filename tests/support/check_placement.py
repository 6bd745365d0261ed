#!/usr/bin/env python3
"""Proves a placement: no node overcommitted, every constraint kept, no pending pod left out that would fit.

usage: check_placement.py NODES.json PODS.json
       check_placement.py --kubeconfig FILE

The files are Lists as `kubectl get nodes -o json` and `kubectl get pods -A -o json` print them. It shares no code
with the scheduler: quantities are exact fractions, every rule is written here from Kubernetes' documentation.
Prints one line a violation and a summary; exits 1 if there is a violation.
"""
import argparse
import collections
import json
import re
import sys
from fractions import Fraction

SUFFIX = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15),
    "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
    "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}
QUANTITY = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?))$")


def quantity(text):
    match = QUANTITY.match(str(text))
    if not match:
        raise ValueError(f"no quantity: {text!r}")
    number, exponent, suffix = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent is not None else SUFFIX[suffix or ""]
    return Fraction(number.rstrip(".") if not number.startswith(".") else "0" + number) * scale


def amounts(resources):
    return {name: quantity(text) for name, text in (resources or {}).items()}


def add(total, more):
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def at_least(total, other):
    for name, amount in other.items():
        total[name] = max(total.get(name, 0), amount)


def container_requests(container):
    resources = container.get("resources") or {}
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def pod_requests(pod):
    """What the pod takes of a node: containers and sidecars together, or an init container with the sidecars that
    started before it, whichever is more; overridden per resource by pod-level requests; plus the overhead."""
    spec = pod["spec"]
    total, sidecars, start = {}, {}, {}
    for container in spec.get("containers") or []:
        add(total, container_requests(container))
    for container in spec.get("initContainers") or []:
        own = container_requests(container)
        if container.get("restartPolicy") == "Always":
            add(total, own)
            add(sidecars, own)
            at_least(start, sidecars)
        else:
            peak = dict(sidecars)
            add(peak, own)
            at_least(start, peak)
    at_least(total, start)
    whole = spec.get("resources") or {}
    pod_level = {**amounts(whole.get("limits")), **amounts(whole.get("requests"))}
    total.update({name: amount for name, amount in pod_level.items() if name in ("cpu", "memory") or
                  name.startswith("hugepages-")})
    add(total, amounts(spec.get("overhead")))
    return {name: amount for name, amount in total.items() if amount > 0}


def requirement_holds(requirement, values):
    """values: {key: value} of labels or fields."""
    key, operator, wanted = requirement["key"], requirement["operator"], requirement.get("values") or []
    have = values.get(key)
    if operator == "In":
        return have is not None and have in wanted
    if operator == "NotIn":
        return have is None or have not in wanted
    if operator == "Exists":
        return have is not None
    if operator == "DoesNotExist":
        return have is None
    if operator in ("Gt", "Lt"):
        if have is None or not re.fullmatch(r"[+-]?\d+", have) or len(wanted) != 1:
            return False
        return int(have) > int(wanted[0]) if operator == "Gt" else int(have) < int(wanted[0])
    raise ValueError(f"no operator: {operator}")


def term_holds(term, node):
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False  # an empty term selects nothing
    labels = node["metadata"].get("labels") or {}
    return (all(requirement_holds(each, labels) for each in expressions) and
            all(requirement_holds(each, {"metadata.name": node["metadata"]["name"]}) for each in fields))


def affinity_holds(pod, node):
    spec = pod["spec"]
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    required = (((spec.get("affinity") or {}).get("nodeAffinity") or {})
                .get("requiredDuringSchedulingIgnoredDuringExecution"))
    return required is None or any(term_holds(term, node) for term in required.get("nodeSelectorTerms") or [])


def tolerates(toleration, taint):
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def taints_hold(pod, node):
    taints = list(node["spec"].get("taints") or []) if node.get("spec") else []
    if (node.get("spec") or {}).get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    tolerations = pod["spec"].get("tolerations") or []
    return all(any(tolerates(each, taint) for each in tolerations)
               for taint in taints if taint["effect"] in ("NoSchedule", "NoExecute"))


def host_ports(pod):
    containers = list(pod["spec"].get("containers") or [])
    containers += [each for each in pod["spec"].get("initContainers") or [] if each.get("restartPolicy") == "Always"]
    for container in containers:
        for port in container.get("ports") or []:
            if port.get("hostPort"):
                yield port.get("hostIP") or "0.0.0.0", port.get("protocol", "TCP"), port["hostPort"]


def ports_clash(one, other):
    return one[1:] == other[1:] and (one[0] == other[0] or "0.0.0.0" in (one[0], other[0]))


def name_of(pod):
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


class Cluster:
    def __init__(self, nodes, pods):
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        self.allocatable = {name: amounts((node.get("status") or {}).get("allocatable"))
                            for name, node in self.nodes.items()}
        self.used = collections.defaultdict(dict)
        self.ports = collections.defaultdict(list)
        running = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
        self.bound = [pod for pod in running if pod["spec"].get("nodeName")]
        self.pending = [pod for pod in running if not pod["spec"].get("nodeName") and
                        not pod["metadata"].get("deletionTimestamp") and not pod["spec"].get("schedulingGates")]
        for pod in self.bound:
            node = pod["spec"]["nodeName"]
            add(self.used[node], {**pod_requests(pod), "pods": Fraction(1)})
            self.ports[node].extend((each, name_of(pod)) for each in host_ports(pod))

    def violations(self):
        for pod in self.bound:
            node = self.nodes.get(pod["spec"]["nodeName"])
            if node is None:
                yield f"{name_of(pod)} is on {pod['spec']['nodeName']}, which does not exist"
            elif not affinity_holds(pod, node):
                yield f"{name_of(pod)} is on {node['metadata']['name']} against its node affinity"
            elif not taints_hold(pod, node):
                yield f"{name_of(pod)} is on {node['metadata']['name']} against a taint"
        for node, used in self.used.items():
            for resource, amount in used.items():
                has = self.allocatable.get(node, {}).get(resource, 0)
                if node in self.nodes and amount > has:
                    yield f"{node} is overcommitted: {resource} {float(amount):g} of {float(has):g}"
        for node, ports in self.ports.items():
            for index, (port, owner) in enumerate(ports):
                for other, other_owner in ports[:index]:
                    if ports_clash(port, other):
                        yield f"{node}: {owner} and {other_owner} both have host port {port[2]}"

    def fits(self, pod, name, requests):
        free = self.allocatable[name]
        used = self.used.get(name, {})
        return (all(used.get(resource, 0) + amount <= free.get(resource, 0) for resource, amount in requests.items())
                and affinity_holds(pod, self.nodes[name]) and taints_hold(pod, self.nodes[name])
                and not any(ports_clash(port, other) for port in host_ports(pod) for other, _ in self.ports.get(name, [])))

    def wrongly_pending(self):
        known = {}
        for pod in self.pending:
            spec = {key: value for key, value in pod["spec"].items() if key not in ("hostname", "volumes")}
            kind = json.dumps(spec, sort_keys=True)
            if kind not in known:
                requests = {**pod_requests(pod), "pods": Fraction(1)}
                known[kind] = next((name for name in self.nodes if self.fits(pod, name, requests)), None)
            if known[kind] is not None:
                yield f"{name_of(pod)} is pending, but fits on {known[kind]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", help="NODES.json PODS.json")
    parser.add_argument("--kubeconfig")
    args = parser.parse_args()
    if args.kubeconfig:
        import kube_api
        api = kube_api.Api(args.kubeconfig)
        nodes, pods = api.list("/api/v1/nodes"), api.list("/api/v1/pods")
    elif len(args.files) == 2:
        nodes, pods = (json.load(open(path, encoding="utf-8"))["items"] for path in args.files)
    else:
        parser.error("NODES.json and PODS.json, or --kubeconfig")
    cluster = Cluster(nodes, pods)
    found = [*cluster.violations(), *cluster.wrongly_pending()]
    for line in found[:50]:
        print(line)
    if len(found) > 50:
        print(f"... and {len(found) - 50} more")
    print(f"placement: {len(cluster.nodes)} nodes, {len(cluster.bound)} pods bound, {len(cluster.pending)} pending, "
          f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
