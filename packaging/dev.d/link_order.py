#!/usr/bin/env python3
"""Which functions a scheduler calls, by the addresses of build/koord: packaging/link_order.txt, written anew.

usage: packaging/dev link-order

The sandbox plays the API server for 1,000 nodes and 2,000 pods, valgrind counts the scheduler's calls from its start to its
end, with a lease, a scrape of its metrics and an orderly end. Of what lies in one section of a library's object one name is
enough, and of functions that the linker made one, too.
"""
import bisect
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

NODES, PODS = 1000, 2000
LIMIT_SECONDS = 300
PORT = 10259
HEAD = """\
# The functions that a scheduler calls: the linker lays them side by side, so that its memory has no pages of code that is
# never run. Written by `packaging/dev link-order`; what is not there any more is passed over, what is new lies elsewhere
# until then.
"""


def pod(i):
    requests = {"cpu": f"{100 + i % 4 * 100}m", "memory": f"{128 << i % 3}Mi"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{i:05d}", "namespace": "default"},
            "spec": {"schedulerName": "koord-scheduler",
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}]}}


def wait(what, done):
    end = time.monotonic() + LIMIT_SECONDS
    while not done():
        if time.monotonic() > end:
            sys.exit(f"link-order: waited {LIMIT_SECONDS} s for {what}")
        time.sleep(0.2)


def get(path):
    context = ssl._create_unverified_context()  # its own certificate, on loopback
    with urllib.request.urlopen(f"https://127.0.0.1:{PORT}{path}", context=context, timeout=60) as answer:
        return answer.read().decode()


def healthy():
    try:
        return get("/healthz") == "ok"
    except OSError:
        return False


def bound():
    """How many pods; none while a handshake takes too long under valgrind."""
    try:
        counts = re.findall(r'^scheduler_schedule_attempts_total\{[^}]*result="scheduled"[^}]*\} (\d+)', get("/metrics"), re.M)
    except OSError:
        return 0
    return sum(map(int, counts))


def trace(koord, scratch):
    """callgrind's file of one run."""
    pods, kubeconfig, calls = (os.path.join(scratch, name) for name in ("pods.json", "kubeconfig", "calls"))
    with open(pods, "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": [pod(i) for i in range(PODS)]}, file)
    sandbox = subprocess.Popen([koord, "sandbox", f"--nodes={NODES}", "--port=0", "--load", pods, "--roles=",
                                f"--kubeconfig={kubeconfig}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    scheduler = None
    try:
        wait("the sandbox", lambda: os.path.exists(kubeconfig))
        scheduler = subprocess.Popen(["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={calls}", koord,
                                      "--role=scheduler", f"--kubeconfig={kubeconfig}", f"--secure-port={PORT}",
                                      "--authorization-always-allow-paths=/healthz,/metrics"])
        wait("the scheduler", healthy)
        wait("the pods", lambda: bound() >= PODS)
    finally:
        for process in (scheduler, sandbox):
            if process:
                process.terminate()
                process.wait(60)
    return calls


def called(calls):
    names = set()
    with open(calls, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"c?fn=\(\d+\) (.*)$", line)
            if match:
                names.add(re.sub(r"'\d+$", "", match.group(1)))
    return names


def symbols(koord):
    """(address, name) of functions."""
    listed = subprocess.run(["llvm-nm-16", "--defined-only", koord], check=True, capture_output=True, text=True).stdout
    rows = (line.split(" ", 2) for line in listed.splitlines())
    return [(int(address, 16), name) for address, kind, name in rows if kind in "tTwWiV"]


def sections(koord, command):
    """Where each section of code begins that went into the program: its link, run once more for its map."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "map")
        again = command.replace("-o koord ", f"-o {scratch}/koord -Wl,-Map,{path} ", 1)
        subprocess.run(again, shell=True, check=True, cwd=os.path.dirname(koord))
        with open(path, encoding="utf-8") as file:
            rows = (re.match(r"\s*([0-9a-f]+)\s+[0-9a-f]+\s+[0-9a-f]+\s+\d+ +\S.*:\(\.text\S*\)$", line) for line in file)
            return sorted({int(row.group(1), 16) for row in rows if row})


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    koord = os.path.join(root, "build", "koord")
    link = subprocess.run(["ninja", "-C", os.path.dirname(koord), "-t", "commands", "-s", "koord"], check=True,
                          capture_output=True, text=True).stdout.splitlines()[-1]
    with tempfile.TemporaryDirectory(prefix="koord-order.") as scratch:
        names = called(trace(koord, scratch))
    begins = sections(koord, link)
    chosen = {}
    for address, name in symbols(koord):
        if name not in names:
            continue
        section = bisect.bisect_right(begins, address)
        best = chosen.get(section)
        if best is None or len(name) < len(best):
            chosen[section] = name
    order = os.path.join(root, "packaging", "link_order.txt")
    with open(order, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(f"{name}\n" for _, name in sorted(chosen.items())))
    print(f"link-order: {len(chosen)} functions in packaging/link_order.txt", file=sys.stderr)


if __name__ == "__main__":
    main()
