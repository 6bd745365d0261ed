#!/usr/bin/env python3
"""What the host sends is divided between classes while the gate and the NodeSLO say so, by one agent after the other, and goes
with the policy, with the gate, and with --cleanup: in a network namespace of the test's own."""
import ctypes
import os
import shutil
import subprocess
import sys
import unittest

import agents
from agents import SLO, wait_for

import fake_node
import restart_test

MI = fake_node.MI
CLONE_NEWNET = 0x40000000
GATE = "--feature-gates=TCNetworkQoS=true"
SPEC = {"resourceQOSStrategy": {
    "policies": {"netQOSPolicy": "tc"},
    "lsClass": {"networkQOS": {"enable": True, "egressRequest": 50, "egressLimit": 100}},
    "beClass": {"networkQOS": {"enable": True, "egressRequest": 5, "egressLimit": 20}}},
    "systemStrategy": {"totalNetworkBandwidth": "1G"}}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def lacks():
    """Why this cannot be tried here; None: it can."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        return "root, ip and tc are needed"
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return "no network namespaces"
    for words in ("ip link set lo up", "ip link add eth7 type veth peer name eth8", "ip addr add 10.95.0.1/24 dev eth7",
                  "ip link set eth7 up", "ip link set eth8 up", "ip route add default via 10.95.0.2 dev eth7"):
        fine, said = run(*words.split())
        if not fine:
            return f"{words}: {said}"
    fine, said = run(*"tc qdisc add dev eth8 root handle 9: htb".split())
    run(*"tc qdisc del dev eth8 root".split())
    return None if fine else f"no HTB: {said}"


class Network(unittest.TestCase):
    def setUp(self):
        self.world = agents.World()
        self.addCleanup(self.world.close)
        root = self.world.root
        first = os.path.join(root.folder, "proc/1/ns")
        os.makedirs(first, exist_ok=True)
        os.symlink("/proc/self/ns/net", os.path.join(first, "net"))
        self.world.add_pod("web", cpu=0.5, memory=MI, labels={"koordinator.sh/qosClass": "LS"})
        self.world.create("nodeslos", "NodeSLO", SPEC)

    def qdisc(self):
        return run("tc", "qdisc", "show", "dev", "eth7")[1]

    def is_shaped(self):
        return "qdisc htb 6b6f: root" in self.qdisc()

    def classes(self):
        return {words[2]: " ".join(words) for words in map(str.split, run("tc", "class", "show", "dev", "eth7")[1].splitlines())}

    def say(self, **policies):
        self.world.request("PATCH", f"{SLO}/nodeslos/{agents.NODE}", {"spec": {"resourceQOSStrategy": {"policies": policies}}})

    def test_it_comes_and_goes_with_policy_gate_and_cleanup(self):
        first = self.world.agent(restart_test.QUICK, GATE)
        wait_for("the qdisc", self.is_shaped)
        wait_for("the last class", lambda: "6b6f:14" in self.classes())
        for word, of in (("rate 1Gbit ceil 1Gbit", "6b6f:1"), ("rate 500Mbit ceil 1Gbit", "6b6f:3"), ("rate 50Mbit ceil 200Mbit", "6b6f:4"),
                         ("rate 450Mbit ceil 1Gbit", "6b6f:2"), ("prio 3", "6b6f:14")):
            self.assertIn(word, self.classes()[of])
        self.assertNotEqual(self.qdisc().find("default 0x12"), -1, self.qdisc())
        self.say(netQOSPolicy="terway-qos")
        wait_for("nothing of it", lambda: not self.is_shaped())
        self.say(netQOSPolicy="tc")
        wait_for("the qdisc again", self.is_shaped)
        # Who dies leaves it; the next one, whose gate is off, takes it away.
        first.child.kill()
        first.child.wait()
        self.assertTrue(self.is_shaped())
        off = self.world.agent(restart_test.QUICK)
        wait_for("nothing of it", lambda: not self.is_shaped())
        self.assertIn("what the host sends is shaped no more", off.output())
        self.assertEqual(off.terminate(), 0)
        last = self.world.agent(restart_test.QUICK, GATE)
        wait_for("the qdisc once more", self.is_shaped)
        self.assertEqual(last.terminate(), 0)
        self.assertTrue(self.is_shaped())
        done = self.world.agent(restart_test.QUICK, "--cleanup")
        self.assertEqual(done.child.wait(60), 0, done.output()[-3000:])
        self.assertFalse(self.is_shaped(), done.output()[-3000:])

    def test_somebody_elses_stays(self):
        self.assertTrue(run(*"tc qdisc add dev eth7 root handle 1: htb default 2".split())[0])
        self.addCleanup(run, *"tc qdisc del dev eth7 root".split())
        agent = self.world.agent(restart_test.QUICK, GATE)
        wait_for("a word of it", lambda: "eth7: its root qdisc htb 1: is somebody else's and stays" in agent.output())
        self.assertIn("qdisc htb 1: root", self.qdisc())
        self.assertEqual(agent.terminate(), 0)


if __name__ == "__main__":
    WHY = lacks()
    if WHY:
        print(f"skipped: {WHY}")
        sys.exit(77)
    unittest.main(verbosity=2, warnings="ignore")
