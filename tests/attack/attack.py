#!/usr/bin/env python3
"""Attacks koord's programs on loopback, bounded in count and time: a throw-away sandbox, a scheduler's ports, programs that
are given bad servers and files. One line an attack: the verdict, the longest wait of a well-behaved client that asks every
port meanwhile (prober.py), how late the machine itself was at most, and the memory that is kept afterwards. A wait of more than
a second fails.

usage: attack.py [--short] [NAME...]
"""
import os
import sys
import time

import bombs
import crowds
import docker
import files
import framing
import pages
import queries
import reviews
import servers
import sockets
from ground import AIM, CEILING, Ground, Prober, expect, rss_mib

KEPT_MIB = 384  # memory that one attack may leave behind: the sandbox's history of 256 MiB, and what an allocator keeps
SETTLE = 3.0
ATTACKS = [*reviews.ATTACKS, *framing.ATTACKS, *crowds.ATTACKS, *bombs.ATTACKS, *servers.ATTACKS, *files.ATTACKS, *queries.ATTACKS, *sockets.ATTACKS,
           *docker.ATTACKS, *pages.ATTACKS]


def run(attack, ground, short):
    """(reason of its failure, seconds, what the well-behaved client found, kept MiB)"""
    before = {name: rss_mib(pid) for name, pid in ground.pids().items()}
    prober = Prober([*ground.ports, *ground.sockets, ground.docker])
    began, reason = time.monotonic(), ""
    try:
        attack(ground, short)
    except AssertionError as error:
        reason = str(error)
    except Exception as error:  # pylint: disable=broad-except: whatever it was, the next attack goes on
        reason = f"{type(error).__name__}: {error}"
    took = time.monotonic() - began
    found = prober.finish()
    kept = 0.0
    end = time.monotonic() + SETTLE
    while True:
        kept = max(rss_mib(pid) - before[name] for name, pid in ground.pids().items())
        if kept < KEPT_MIB / 4 or time.monotonic() > end:
            break
        time.sleep(0.2)
    try:
        gone = ground.alive()
        expect(not gone, f"ended: {', '.join(gone)}")
        expect(not found["unanswered"], f"nobody answered on {', '.join(sorted(set(found['unanswered'])))}")
        expect(found["longest"] < AIM and found["raw"] < CEILING,
               f"somebody else waited {found['raw']:.2f} s at {found['port']}, the machine's own lateness in it")
        expect(kept < KEPT_MIB, "memory is kept")
    except AssertionError as error:
        reason = f"{error}; {reason}" if reason else str(error)
    return reason, took, found, kept


def main():
    words = sys.argv[1:]
    short = "--short" in words
    names = [word for word in words if word != "--short"]
    chosen = [attack for attack in ATTACKS if not names or attack.__name__ in names]
    unknown = set(names) - {attack.__name__ for attack in ATTACKS}
    if unknown or any(word.startswith("-") for word in names):
        print(f"attack: no {', '.join(sorted(unknown))}; there are: {' '.join(attack.__name__ for attack in ATTACKS)}", file=sys.stderr)
        return 2
    failed = 0
    print(f"{'attack':32} {'verdict':8} {'seconds':>8} {'wait ms':>8} {'machine':>8} {'kept MiB':>9}", flush=True)
    ground = Ground()
    try:
        for attack in chosen:
            if ground.alive():  # one that ended must not hide what the others find
                ground.close()
                ground = Ground()
            reason, took, found, kept = run(attack, ground, short)
            failed += bool(reason)
            print(f"{attack.__name__:32} {'FAILED' if reason else 'ok':8} {took:8.1f} {found['longest'] * 1000:8.0f} "
                  f"{found['machine'] * 1000:8.0f} {kept:9.1f}", flush=True)
            if reason:
                print(f"    {reason[:3000]}", flush=True)
    finally:
        ground.close()
    print(f"{len(chosen) - failed} survived, {failed} not", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
