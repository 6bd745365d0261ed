#!/usr/bin/env python3
"""The original koordlet and ours, one after the other, on the same real node in a network namespace of the test's own: the classes of
traffic that both give the kernel for the same NodeSLOs, random ones among them, and what is left when the policy is another one. A
NodeSLO and totals are changed while an agent runs. Needs the original's program, ipset and iptables; no part of CI. 3 minutes.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import skip_without_role, wait_for  # noqa: E402
from cri_stage import enter_own_network  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import SLO, make_objects  # noqa: E402
from original import ORIGINAL, either  # noqa: E402
from real_node import RealNode, missing  # noqa: E402

CARD = "eth0"
NETWORK = f"""ip link add {CARD} type veth peer name peer0
ip addr add 10.9.0.2/24 dev {CARD}
ip link set {CARD} up; ip link set peer0 up
ip route add default via 10.9.0.1"""
GATES = "-feature-gates=TCNetworkQoS=true,BECPUSuppress=false"
TIERS = {1: "whole", 2: "system", 3: "ls", 4: "be"}  # as both number them
LEAF = 0x10  # added by ours to a tier's number: where its pods are, and with them their turn
OTHER = "terway-qos"
SETTLED = 5  # seconds in which nothing has changed
SEED, RANDOM_PHASES = 7, 8


def egress(request, limit=None):
    return {"egressRequest": request, **({} if limit is None else {"egressLimit": limit})}


def phases():
    """{name: (total, latency-sensitive, best-effort)}: percents, or bits a second as texts. Both are held: of a class of rate 0 the kernel
    knows nothing (a line of COMPATIBILITY.md)."""
    found = {
        "percents": ("1G", egress(30, 100), egress(20, 50)),
        "less": ("1G", egress(30, 80), egress(10, 10)),
        "another card": ("10G", egress(30, 80), egress(10, 10)),
        "texts": ("10G", egress("3G", "9500M"), egress("123456789", "1500M")),
        "no limit": ("10G", egress(50), egress("1G")),
        "little": ("1M", egress(1, 2), egress(1, 1)),
        "odd": ("1234567890", egress(33, 77), egress(7, 91)),
    }
    chance = random.Random(SEED)
    for number in range(RANDOM_PHASES):
        total = chance.choice((chance.randrange(10**6, 10**8), chance.randrange(10**8, 10**11)))
        of_ls, of_be = chance.randrange(1, 60), chance.randrange(1, 40)
        parts = [(of, chance.choice((None, chance.randrange(of, 101)))) for of in (of_ls, of_be)]
        texts = [tuple(None if part is None else str(total * part // 100) for part in both) for both in parts]
        ls, be = (egress(*chance.choice((part, text))) for part, text in zip(parts, texts))
        found[f"random {number}"] = (str(total), ls, be)
    return found


def slo(total, ls, be, policy="tc"):
    classes = {f"{name}Class": {"networkQOS": {"enable": True, "egressLimit": None, **parts}} for name, parts in (("ls", ls), ("be", be))}
    return {"spec": {"resourceQOSStrategy": {"policies": {"netQOSPolicy": policy}, **classes},
                     "systemStrategy": {"totalNetworkBandwidth": total}}}


def shown(*words):
    return subprocess.run(["tc", *words, "dev", CARD], check=True, capture_output=True, text=True).stdout


def tiers():
    """{tier: (rate, ceil, its turn)} of the kernel's classes."""
    rates, turns = {}, {}
    for minor, kind, rate, ceil in re.findall(r"class htb \w+:(\w+) (.*?)rate (\S+) ceil (\S+)", shown("class", "show")):
        rates[int(minor, 16)] = (rate, ceil)
        if found := re.search(r"prio (\d+)", kind):
            turns[int(minor, 16)] = int(found.group(1))
    return {name: (*rates[minor], turns.get(minor | LEAF, turns.get(minor))) for minor, name in TIERS.items() if minor in rates}


def when_settled(before):
    """What is there when nothing has changed for a while, after it was not as before, if it ever is."""
    last, since, end = tiers(), time.monotonic(), time.monotonic() + 30
    while time.monotonic() < end:
        time.sleep(0.2)
        now = tiers()
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > (SETTLED if last != before else 4 * SETTLED):
            break
    return last


def observe(node, name):
    agent = either(node, name)
    agent.command += [GATES]
    connection = node.api.connect()
    seen, before = {}, {}
    for phase, wanted in phases().items():
        connection.request("PATCH", f"{SLO}/nodeslos/{node.name}", slo(*wanted), "application/merge-patch+json")
        if agent.process is None:
            agent.start()
            wait_for("the agent makes classes", tiers, 90)
        seen[phase] = before = when_settled(before)
    connection.request("PATCH", f"{SLO}/nodeslos/{node.name}", slo(*wanted, policy=OTHER), "application/merge-patch+json")
    try:
        wait_for("all is gone", lambda: "htb" not in shown("qdisc", "show"), 30)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{agent.log_tail()}") from None
    agent.kill()
    return seen


def main():
    absent = [program for program in ("tc", "ip", "ipset", "iptables") if shutil.which(program) is None]
    reason = missing() or (f"{absent[0]} is missing" if absent else None)
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet to compare with: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    enter_own_network()
    subprocess.run(["sh", "-ec", NETWORK], check=True)
    with Unchanged(), RealNode() as node:
        make_objects(node)
        os.makedirs(os.path.join(node.dir, "var-run"))
        # The original does not begin on a node without pods.
        node.apply(node.pod("first", "sleep 100000"))
        node.wait_running("first")
        theirs, ours = (observe(node, name) for name in ("original", "ours"))
    wrong = [phase for phase in theirs if theirs[phase] != ours[phase]]
    for phase, found in theirs.items():
        print(f"{phase}: {found}", f"   DIFFERS   {ours[phase]}" if phase in wrong else "")
    assert not wrong, f"these differ: {wrong}"
    assert len({str(found) for found in theirs.values()}) == len(theirs), "phases are alike: somebody did nothing"
    assert all(len(found) == len(TIERS) for found in theirs.values()), theirs
    print("comparison of classes of traffic with the original: passed")


if __name__ == "__main__":
    main()
