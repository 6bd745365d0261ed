#!/usr/bin/env python3
"""--cleanup beside an agent that runs: it ends, what it held back is set free, and the one that is started in its place stands
by until somebody says otherwise."""
import os
import signal
import socket
import unittest

import agents
from agents import wait_for

import fake_node
import restart_test

MI = fake_node.MI
SOON = 20  # seconds: what an agent may take to end, and a bit


class Beside(restart_test.Alone):
    def setUp(self):
        super().setUp()
        self.marker = os.path.join(self.root.folder, "var/run/koordlet/koord.stand-down")

    def throttling(self, *flags, **more):
        agent = self.agent(*flags, **more)
        wait_for("the quota", lambda: self.quota() != "-1")
        return agent

    def clean_up(self, how="true"):
        """(exit status, log) of a cleanup."""
        done = self.agent(f"--cleanup={how}")
        return done.child.wait(60), done.output()

    def said(self):
        with open(self.marker, encoding="utf-8") as file:
            return file.read()

    def stands_by(self, agent):
        wait_for("it is live", lambda: agent.get("/livez")[0] == 200)
        status, text = agent.get("/readyz?verbose")
        self.assertEqual(status, 500)
        self.assertIn("[-]stands-by failed", text)

    def test_it_ends_and_stands_by_until_that_is_undone(self):
        first = self.throttling()
        status, log = self.clean_up()
        self.assertEqual(status, 0, log)
        self.assertIn(f"asking the agent of this host to end\" agent=\"pid {first.child.pid}, node {agents.NODE}\"", log)
        self.assertEqual(first.child.wait(SOON), 0, first.output()[-2000:])
        self.assertIn("so that the host can be cleaned up", first.output())
        self.assertEqual(self.quota(), "-1")
        self.assertEqual(os.stat(self.marker).st_mode & 0o777, 0o600)
        for word in ("koord-stand-down 1", "asked\t20", "koord --cleanup (pid ", "done\n", "--cleanup=undo, or remove this file"):
            self.assertIn(word, self.said())

        again = self.agent()  # as whoever started the first does
        self.stands_by(again)
        for word in ("the agent stands by: koord --cleanup (pid", "--cleanup=undo, or remove", self.marker):
            self.assertIn(word, again.output())
        self.assertNotIn("has not come to its end", again.output())
        self.assertEqual(self.clean_up()[0], 0)  # nobody is in the way, and nothing changes
        self.stands_by(again)
        self.assertEqual((self.quota(), again.node()), ("-1", {}))

        status, log = self.clean_up("undo")
        self.assertEqual(status, 0, log)
        self.assertIn(f"removed={self.marker}", log)
        self.assertEqual(again.child.wait(SOON), 0)
        self.assertEqual(self.clean_up("undo")[0], 0)
        self.throttling().terminate()

    def test_a_file_of_another_boot_or_of_another_agents_pod_keeps_nobody(self):
        for text, what in (("koord-stand-down 1 another-boot\nasked\t2026-01-01T00:00:00Z\tsomebody\t\n", "another boot"),
                           ("koord-stand-down 1 \nasked\t2026-01-01T00:00:00Z\tsomebody\ta-pod\n", "a pod's"),
                           ("garbage", "garbled"), ("", "empty")):
            with self.subTest(what):
                fake_node.write(self.marker, text)
                self.throttling().terminate()
                self.assertFalse(os.path.exists(self.marker))
                self.assertEqual(self.clean_up()[0], 0)

    def test_an_agent_that_is_stopped_is_named_and_nothing_is_changed(self):
        first = self.throttling()
        held = self.quota()
        first.child.send_signal(signal.SIGSTOP)
        self.addCleanup(first.child.send_signal, signal.SIGCONT)
        status, log = self.clean_up()
        self.assertEqual(status, 2, log)
        for word in ("was asked to end and has not within 15 s", f"pid {first.child.pid}, node {agents.NODE}", "nothing was changed"):
            self.assertIn(word, log)
        self.assertEqual(self.quota(), held)
        self.assertFalse(os.path.exists(self.marker))

        # A cleanup that is killed: what it asked for stands, and the agent says that something may be held back still.
        killed = self.agent("--cleanup")
        wait_for("it asks", lambda: os.path.exists(self.marker))
        killed.child.kill()
        killed.child.wait()
        first.child.send_signal(signal.SIGCONT)
        self.assertEqual(first.child.wait(SOON), 0, first.output()[-2000:])
        again = self.agent()
        self.stands_by(again)
        self.assertIn("has not come to its end", again.output())
        self.assertEqual(self.quota(), held)
        self.assertEqual(self.clean_up()[0], 0)
        self.assertEqual(self.quota(), "-1")
        wait_for("it says so", lambda: "has not come to its end" not in again.output().splitlines()[-1])
        self.stands_by(again)

    def test_two_at_once_do_not_ask_each_other(self):
        first = self.throttling()
        first.child.send_signal(signal.SIGSTOP)
        both = [self.agent("--cleanup") for _ in range(2)]
        wait_for("they ask", lambda: os.path.exists(self.marker))
        first.child.send_signal(signal.SIGCONT)
        ends = sorted(one.child.wait(60) for one in both)
        self.assertIn(ends, ([0, 0], [0, 2]), [one.output()[-2000:] for one in both])
        self.assertEqual(self.quota(), "-1")
        self.assertEqual(first.child.wait(SOON), 0)
        self.stands_by(self.agent())

    def test_systemd_is_told(self):
        first = self.throttling()
        self.assertEqual(self.clean_up()[0], 0)
        first.child.wait(SOON)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            name = f"koord-cleanup-{os.getpid()}"
            listener.bind(f"\0{name}")
            listener.settimeout(20)
            again = self.agent(NOTIFY_SOCKET=f"@{name}", WATCHDOG_USEC="900000")
            told = [listener.recv(1000).decode() for _ in range(5)]
            self.assertTrue(told[0].startswith("STATUS=the agent stands by: "), told)
            self.assertEqual(told[1:], ["READY=1"] + 3 * ["WATCHDOG=1"])
            self.assertEqual(again.terminate(), 0, again.output()[-2000:])


class InACluster(unittest.TestCase):
    def test_the_node_has_an_event(self):
        world = agents.World()
        self.addCleanup(world.close)
        world.root.host_cpu = 3.5
        world.add_pod("web", cpu=2.5, memory=MI, labels={"koordinator.sh/qosClass": "LS"})
        world.add_pod("batch", cpu=0.5, memory=MI, qos="BestEffort", labels={"koordinator.sh/qosClass": "BE"})
        world.create("nodeslos", "NodeSLO", {"resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota"}})
        quota = lambda: world.root.read("cpu", "kubepods/besteffort", "cpu.cfs_quota_us")  # noqa: E731
        first = world.agent(restart_test.QUICK)
        wait_for("the quota", lambda: quota() != "-1")
        done = world.agent(restart_test.QUICK, "--cleanup")
        self.assertEqual(done.child.wait(60), 0, done.output()[-3000:])
        self.assertEqual((first.child.wait(SOON), quota()), (0, "-1"))
        again = world.agent(restart_test.QUICK)
        wait_for("it is live", lambda: again.get("/livez")[0] == 200)
        self.assertEqual(again.get("/readyz")[0], 500)
        event, = wait_for("the event", lambda: [
            one for one in world.request("GET", "/apis/events.k8s.io/v1/events")["items"] if one["reason"] == "AgentStandsBy"])
        self.assertEqual((event["regarding"]["kind"], event["regarding"]["name"], event["type"]), ("Node", agents.NODE, "Warning"))
        self.assertIn("--cleanup=undo", event["note"])
        self.assertEqual(quota(), "-1")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
