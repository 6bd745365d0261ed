#!/usr/bin/env python3
"""The whole process when something outside goes wrong: it ends when it is told to, and a log that takes nothing is
no reason to stop working."""
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
from sandbox import KOORD, wait_for  # noqa: E402
from stub_api import StubApi  # noqa: E402

PROMPTLY = 10  # seconds; half of what a process that hangs takes, generous under sanitizers and load
STOP_WITHIN = 20  # seconds: runtime::EventLoop::kStopWithin
GRACE = 5  # seconds that what is on its way may take
ROLE = ("--role=scheduler", "--leader-elect=false", "--secure-port=0", "--v=2")
PIPE = 64 << 10


def node(name):
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "1000"}
    return {"metadata": {"name": name}, "status": {"capacity": amounts, "allocatable": amounts}}


def pod(name):
    return {"metadata": {"name": name, "namespace": "default"}, "status": {"phase": "Pending"},
            "spec": {"schedulerName": "koord-scheduler",
                     "containers": [{"name": "main", "resources": {"requests": {"cpu": "10m"}}}]}}


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-faults.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, *flags, stderr=None, stdout=subprocess.DEVNULL):
        if stderr is None:
            stderr = open(os.path.join(self.folder, "log"), "ab")
            self.addCleanup(stderr.close)
        child = subprocess.Popen([KOORD, *flags], stdout=stdout, stderr=stderr)

        def end():
            if child.poll() is None:
                child.kill()
            child.wait()

        self.addCleanup(end)
        return child

    def log(self):
        path = os.path.join(self.folder, "log")
        if not os.path.exists(path):
            return "(its log went elsewhere)"
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def terminate(self, child, seconds):
        """SIGTERM; the process must have ended, with 0, within the seconds. Returns how long it took."""
        start = time.monotonic()
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"it has not ended {seconds} s after SIGTERM")
        self.assertEqual(child.returncode, 0, self.log()[-2000:])
        return time.monotonic() - start

    def test_what_hangs_at_the_start_cannot_keep_the_process(self):
        """A FIFO without a writer in the place of a file: the loop's thread hangs in open(2), the event loop does not
        run. The first signal bounds the process' life, a second one ends it at once."""
        fifo = os.path.join(self.folder, "kubeconfig")
        os.mkfifo(fifo)
        once, twice = (self.start(*ROLE, f"--kubeconfig={fifo}") for _ in range(2))
        for child in (once, twice):
            wait_for("the stop signals are caught", lambda child=child: self.catches(child, signal.SIGTERM), 30)
        once.send_signal(signal.SIGTERM)
        twice.send_signal(signal.SIGTERM)
        start = time.monotonic()
        twice.send_signal(signal.SIGINT)
        self.assertIn(twice.wait(PROMPTLY), (128 + signal.SIGTERM, 128 + signal.SIGINT))
        self.assertEqual(once.wait(STOP_WITHIN + PROMPTLY), 1, self.log()[-2000:])
        self.assertGreater(time.monotonic() - start, STOP_WITHIN - 1)
        self.assertIn("has not stopped within 20 s", self.log())

    @staticmethod
    def catches(child, number):
        with open(f"/proc/{child.pid}/status", encoding="ascii") as file:
            caught = next(line for line in file if line.startswith("SigCgt:"))
        return int(caught.split()[1], 16) >> (number - 1) & 1

    def free_port(self):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            return held.getsockname()[1]

    def metrics(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}

    def test_it_ends_while_the_name_server_is_silent(self):
        kubeconfig = os.path.join(self.folder, "kubeconfig")
        with open(kubeconfig, "w", encoding="utf-8") as file:
            file.write("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                       "clusters: [{name: c, cluster: {server: 'https://api.example.test:6443'}}]\n"
                       "contexts: [{name: c, context: {cluster: c, user: ''}}]\n")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            silent.settimeout(30)
            child = self.start(*ROLE, "--port=0", f"--kubeconfig={kubeconfig}",
                               f"--name-servers=127.0.0.1:{silent.getsockname()[1]}")
            self.assertIn(b"api", silent.recv(1500))
            self.terminate(child, PROMPTLY)

    def bind_one(self, on_bind):
        stub = StubApi(self.folder, [node("n")], [pod(f"p{index}") for index in range(3)], on_bind)
        stub.__enter__()
        self.addCleanup(stub.__exit__)
        return stub

    def test_a_binding_on_its_way_is_finished(self):
        held, go_on = threading.Semaphore(0), threading.Event()

        def on_bind(*_):
            held.release()
            go_on.wait()
            return 201

        stub = self.bind_one(on_bind)
        child = self.start(*ROLE, "--port=0", f"--kubeconfig={stub.kubeconfig}")
        for _ in range(3):
            self.assertTrue(held.acquire(timeout=30), self.log())
        child.send_signal(signal.SIGTERM)
        wait_for("the log of the signal", lambda: "stopping" in self.log(), 10)
        self.assertIsNone(child.poll())
        go_on.set()
        self.assertEqual(child.wait(PROMPTLY), 0)
        self.assertEqual(sorted(name for name, _ in stub.bound), ["p0", "p1", "p2"])
        # What was bound is told too.
        self.assertEqual(sorted(event["regarding"]["name"] for event in stub.events), ["p0", "p1", "p2"])

    def test_a_binding_that_is_never_answered_does_not_hold_the_end_up(self):
        held, never = threading.Event(), threading.Event()

        def on_bind(*_):
            held.set()
            never.wait()
            return 500

        stub = self.bind_one(on_bind)
        self.addCleanup(never.set)
        child = self.start(*ROLE, "--port=0", f"--kubeconfig={stub.kubeconfig}")
        self.assertTrue(held.wait(30), self.log())
        took = self.terminate(child, GRACE + PROMPTLY)
        self.assertGreater(took, GRACE - 1, "it has not waited for the binding")
        self.assertEqual(stub.bound, [])

    def sandbox(self, pods, port, **streams):
        manifest = os.path.join(self.folder, "pods.yaml")
        with open(manifest, "w", encoding="utf-8") as file:
            for index in range(pods):
                file.write(f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{index}}}\n"
                           "spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1m}}}]}\n")
        return self.start("sandbox", "--nodes=20", f"--load={manifest}", f"--scheduler.port={port}", "--v=2",
                          "--summary=none", **streams)

    def wait_scheduled(self, child, port, pods):
        def scheduled():
            self.assertIsNone(child.poll(), "it has ended")
            try:
                now = self.metrics(port)
            except OSError:
                return None
            done = sum(value for name, value in now.items()
                       if name.startswith('scheduler_schedule_attempts_total{result="scheduled"'))
            return now if done == pods else None

        return wait_for(f"{pods} pods bound", scheduled)

    def test_a_full_disk_loses_log_lines_and_nothing_else(self):
        port = self.free_port()
        with open("/dev/full", "wb") as full:
            child = self.sandbox(200, port, stderr=full)
            now = self.wait_scheduled(child, port, 200)
            # A line a pod, none of which could be written.
            self.assertGreaterEqual(now['koord_log_lines_lost_total{reason="write_failed"}'], 200)
            self.terminate(child, PROMPTLY)

    def test_a_log_that_nobody_reads_does_not_stop_it_nor_its_end(self):
        port = self.free_port()
        reader, writer = os.pipe()
        try:
            child = self.sandbox(1500, port, stderr=writer)
            os.close(writer)
            self.wait_scheduled(child, port, 1500)
            self.terminate(child, PROMPTLY)
            self.assertTrue(select.select([reader], [], [], 0)[0])
            self.assertGreater(len(os.read(reader, PIPE)), PIPE // 2, "the log has fitted into the pipe")
        finally:
            os.close(reader)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
