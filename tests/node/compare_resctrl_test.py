#!/usr/bin/env python3
"""The original koordlet and ours, one after the other, on the same real node, beside a resctrl that a process of the tests serves as the kernel
does (tests/support/fake_resctrl.py): which groups both make for pods that ask for parts of cache and bandwidth, random ones among them, what
these hold, whose tasks are in them, and that they go with their pods. Needs the original's program; no part of CI. 2 minutes.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import skip_without_role, wait_for  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import make_objects  # noqa: E402
from original import ORIGINAL, either  # noqa: E402
from real_node import RealNode, missing  # noqa: E402
import resctrl_stage  # noqa: E402
from resctrl_stage import VENDORS, WAYS, ResctrlStage, enter_own_mounts  # noqa: E402

ASKED = "node.koordinator.sh/resctrl"
GATES = "-feature-gates=Resctrl=true,RdtResctrl=false,BECPUSuppress=false"
GROUPS = "koordlet-"  # and the pod's uid
CACHES = 2
SEED, RANDOM_PODS = 3, 6


def asks(range_=None, percent=None, ranges=(), percents=()):
    """Of all caches, and of single ones by their numbers."""
    llc, mb = {}, {}
    if range_:
        llc["schemata"] = {"range": list(range_)}
    if percent:
        mb["schemata"] = {"percent": percent}
    if ranges:
        llc["schemataPerCache"] = [{"cacheID": cache, "range": list(each)} for cache, each in ranges]
    if percents:
        mb["schemataPerCache"] = [{"cacheID": cache, "percent": each} for cache, each in percents]
    return {"llc": llc, "mb": mb}


def cases():
    chance = random.Random(SEED)

    def of():
        start = chance.randrange(0, 100)
        return start, chance.randrange(start + 1, 101)

    found = {
        "cache": asks((0, 50)),
        "bandwidth": asks(percent=40),
        "both": asks((30, 100), 33),
        "little": asks((99, 100), 1),
        "by-cache": asks((0, 100), 80, [(1, (20, 60))], [(0, 30)]),
        "one-cache": asks((0, 60), None, [(0, (50, 100)), (1, (0, 7))]),
    }
    for number in range(RANDOM_PODS):
        ranges = [(cache, of()) for cache in range(CACHES) if chance.random() < 0.4]
        percents = [(cache, chance.randrange(1, 101)) for cache in range(CACHES) if chance.random() < 0.4]
        found[f"random-{number}"] = asks(of(), chance.choice((None, chance.randrange(1, 101))), ranges, percents if chance.random() < 0.5 else ())
        if percents and "schemata" not in found[f"random-{number}"]["mb"]:
            found[f"random-{number}"]["mb"]["schemata"] = {"percent": chance.randrange(1, 101)}
    return found


def is_narrow(asked):
    """Between whose ends no way of the cache begins: the original then writes nothing of caches, ours the next way (COMPATIBILITY.md)."""
    start, end = (-(-WAYS * percent // 100) for percent in asked["llc"].get("schemata", {}).get("range", (0, 100)))
    return start == end


def narrowed(theirs, ours):
    """The original's, with ours of caches, if these are one way each."""
    lines = [re.search(r".*L3:.*\n", text).group() for text in (theirs, ours)]
    masks = [int(mask, 16) for mask in re.findall(r"=(\w+)", lines[1])]
    return theirs.replace(lines[0], lines[1]) if all(mask.bit_count() == 1 for mask in masks) else theirs


def observe(node, name, vendor):
    agent = either(node, name)
    if name == "original":
        agent.command.append("-enable-pod-taskids=true")
    agent.command.append(GATES)
    node.apply(*(node.pod(pod, "sleep 100000", "LS", annotations={ASKED: json.dumps(asked)}) for pod, asked in cases().items()))
    running = node.wait_running(*cases(), seconds=120)
    of = {pod: GROUPS + running[pod]["metadata"]["uid"] for pod in cases()}
    with ResctrlStage(node, name, vendor, CACHES) as resctrl:
        resctrl.before(agent)
        agent.start()
        try:
            wait_for("the pods' groups", lambda: resctrl.groups(GROUPS) == set(of.values()), 90)
            wait_for("their tasks", lambda: all(any("sleep" in one for one in resctrl.programs(group)) for group in of.values()), 60)
            seen = {pod: {"schemata": resctrl.schemata(group), "tasks": resctrl.programs(group)} for pod, group in of.items()}
            node.delete(*cases())
            wait_for("their groups go", lambda: not resctrl.groups(GROUPS), 90)
        except AssertionError as error:
            raise AssertionError(f"{error}: {resctrl.groups()}\n{agent.log_tail()}") from None
        finally:
            agent.kill()
    return seen


def main():
    reason = missing() or resctrl_stage.missing()
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet to compare with: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    enter_own_mounts()
    with Unchanged(), RealNode() as node:
        make_objects(node)
        os.makedirs(os.path.join(node.dir, "var-run"))
        # The original takes a list without pods for a kubelet that does not answer.
        node.apply(node.pod("other", "sleep 100000"))
        node.wait_running("other")
        theirs, ours = ({(vendor, pod): found for vendor in VENDORS for pod, found in observe(node, name, vendor).items()}
                        for name in ("original", "ours"))
    theirs = {key: found if not is_narrow(cases()[key[1]]) else {**found, "schemata": narrowed(found["schemata"], ours[key]["schemata"])}
              for key, found in theirs.items()}
    wrong = [pod for pod in theirs if theirs[pod] != ours[pod]]
    for (vendor, pod), found in theirs.items():
        print(f"{vendor}: {pod}: {json.dumps(cases()[pod])}: {found}", f"   DIFFERS   {ours[vendor, pod]}" if (vendor, pod) in wrong else "")
    assert not wrong, f"these differ: {wrong}"
    assert len({found["schemata"] for found in ours.values()}) > len(ours) / 2, "pods are alike: somebody did nothing"
    print("comparison of pods' groups of resctrl with the original: passed")


if __name__ == "__main__":
    main()
