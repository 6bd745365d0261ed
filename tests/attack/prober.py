#!/usr/bin/env python3
"""The well-behaved client: a process of its own asks every port in turn, over a new connection each time. Beside it, and all the
time, it asks a bystander, a process that does nothing but answer: when that one is late, the machine is. And the kernel says for
how long the asked process' event loop wanted a CPU and had none (/proc/PID/schedstat). Of a port's wait only what is beyond both
counts. A loop that is held up cannot hide there: while it computes it has a CPU, while it sleeps it wants none.

usage: prober.py, with the ports on stdin, a line of JSON; a second line ends it. Prints what it found, a line of JSON.
"""
import contextlib
import json
import socket
import ssl
import subprocess
import sys
import threading
import time

PROBE_EVERY = 0.05  # seconds


class Lateness:
    """How late the machine is, moment by moment."""

    def __init__(self):
        self.child = subprocess.Popen([sys.executable, __file__, "bystander"], stdout=subprocess.PIPE, text=True)
        self.port = int(self.child.stdout.readline())
        self.asked, self.done = [], threading.Event()  # (began, ended)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.done.is_set():
            began = time.monotonic()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
                connection.recv(1)
            self.asked.append((began, time.monotonic()))
            time.sleep(PROBE_EVERY)

    def during(self, began, ended):
        """The longest wait for the bystander at that time."""
        return max((end - start for start, end in list(self.asked) if start < ended and end > began), default=0.0)

    def finish(self):
        self.done.set()
        self.thread.join(60)
        self.child.kill()
        self.child.wait()


def starved(pid):
    """Seconds that a process' first thread, which runs the event loop, was ready to run and did not."""
    try:
        with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, IndexError):
        return 0.0


class Prober:
    def __init__(self, ports, ceiling, late):
        self.ports, self.ceiling, self.late = ports, ceiling, late
        self.waits, self.unanswered = [], []  # (name, began, ended, without a CPU)
        self.done = threading.Event()

    def ask(self, port):
        began, before = time.monotonic(), starved(port.pid)
        while True:
            try:
                if port.well():
                    break
            except OSError:
                pass
            if time.monotonic() - began > self.ceiling or self.done.is_set():
                self.unanswered.append(port.name)
                break
            time.sleep(PROBE_EVERY)
        self.waits.append((port.name, began, time.monotonic(), starved(port.pid) - before))

    def run(self):
        while not self.done.is_set():
            for port in self.ports:
                self.ask(port)
                self.done.wait(PROBE_EVERY)

    def found(self):
        """The longest wait of all, less what the machine was late by."""
        waits = [(ended - began - max(self.late.during(began, ended), hungry), ended - began, name)
                 for name, began, ended, hungry in self.waits]
        longest, raw, name = max(waits)
        return {"longest": max(longest, 0.0), "raw": raw, "port": name, "asked": len(waits), "unanswered": self.unanswered,
                "machine": max([end - start for start, end in self.late.asked] + [hungry for *_, hungry in self.waits], default=0.0)}


def bystander():
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"x")


def main():
    if sys.argv[1:] == ["bystander"]:
        return bystander()
    from ground import CEILING, DockerSocket, Port, Socket  # pylint: disable=import-outside-toplevel: the bystander needs nothing of it
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    ports = []
    for each in json.loads(sys.stdin.readline()):
        if "path" in each:
            ports.append(Socket(each["name"], each["path"], each["method"]))
            ports[-1].pid = each["pid"]
            continue
        if "docker" in each:
            ports.append(DockerSocket(each["name"], each["docker"]))
            ports[-1].pid = each["pid"]
            continue
        post = (each["post"][0], each["post"][1].encode()) if each["post"] else None
        ports.append(Port(each["name"], each["number"], anybody if each["tls"] else None, each["token"], each["probe"], post))
        ports[-1].pid = each["pid"]
    late = Lateness()
    prober = Prober(ports, CEILING, late)
    thread = threading.Thread(target=prober.run, daemon=True)
    thread.start()
    sys.stdin.readline()
    prober.done.set()
    thread.join(3 * CEILING)
    # Once more, all of them: the end of an attack is when a port may have stayed closed.
    prober.done.clear()
    for port in ports:
        prober.ask(port)
    late.finish()
    print(json.dumps(prober.found()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
