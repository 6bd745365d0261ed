"""What measurements share: a process and what it costs, pods that get bound, and a table of rows.

CPU seconds and peak memory are the kernel's own accounts of one process (/proc/PID/stat, VmHWM).
"""
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KOORD = os.environ.get("KOORD", os.path.join(TREE, "build", "koord"))


def cpu_seconds(pid):
    """Of a process that runs."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Process:
    """A program under measurement; its output goes to a file that is shown when it fails."""

    def __init__(self, name, command, log_path, env=None):
        self.name = name
        self.log_path = log_path
        with open(log_path, "wb") as log:
            self.child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=env)
        self.usage = None  # the kernel's account, once it has ended

    def cpu_seconds(self):
        if self.usage:
            return self.usage.ru_utime + self.usage.ru_stime
        return cpu_seconds(self.child.pid)

    def peak_mib(self):
        return self.usage.ru_maxrss / 1024 if self.usage else self.of_status("VmHWM")

    def resident_mib(self):
        return self.of_status("VmRSS")

    def of_status(self, name):
        with open(f"/proc/{self.child.pid}/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) / 1024
        return 0.0

    def check(self):
        """Ends the measurement if the program has failed; that it has ended well is no failure."""
        if self.usage:
            return
        pid, status, usage = os.wait4(self.child.pid, os.WNOHANG)
        if pid == 0:
            return
        self.usage = usage
        self.child.returncode = os.waitstatus_to_exitcode(status)
        if self.child.returncode != 0:
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                sys.exit(f"{self.name} ended with {self.child.returncode}:\n{log.read()[-3000:]}")

    def stop(self):
        if self.usage is None and self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(20)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


class BoundCounter:
    """Counts bound pods of a namespace from a watch: no lists, so that counting costs the API server little.

    A server ends the watch of who reads too slowly, as this does where others use the CPUs: it begins again then.
    """

    NAME = re.compile(rb'"metadata":\{"name":"([^"]*)"')

    def __init__(self, api, namespace):
        self.api, self.namespace = api, namespace
        self.names = set()
        self.count = 0
        self.first = self.last = None
        self.closed = False
        self.connect()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def connect(self):
        api, namespace = self.api, self.namespace
        self.http = http.client.HTTPSConnection(api.host, api.port, context=api.context, timeout=600)
        self.http.request("GET", f"/api/v1/namespaces/{namespace}/pods?watch=1&fieldSelector=spec.nodeName%21%3D",
                          headers={"Authorization": f"Bearer {api.token}"})
        self.socket = self.http.sock
        self.response = self.http.getresponse()

    def run(self):
        while not self.closed:
            try:
                for line in self.response:
                    if line.startswith(b'{"type":"ADDED"'):
                        self.bound(self.NAME.search(line).group(1))
                if not self.closed:
                    self.connect()
            except (OSError, http.client.HTTPException, ValueError, AttributeError):
                return  # closed below, from the other thread

    def bound(self, name):
        if name in self.names:
            return
        self.names.add(name)
        self.last = time.monotonic()
        self.first = self.first or self.last
        self.count += 1

    def close(self):
        self.closed = True
        self.socket.shutdown(socket.SHUT_RDWR)  # close() would wait for the thread that reads
        self.thread.join()
        self.http.close()


def wait_bound(counter, wanted, process, seconds):
    """True when `wanted` pods are bound within `seconds`."""
    end = time.monotonic() + seconds
    while counter.count < wanted:
        process.check()
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def print_table(header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells))
    sys.stdout.flush()
