#!/usr/bin/env python3
"""The original koordlet and ours on the same real node, one after the other: their strategies do the same (strategies.py).
Needs the original's program; no part of CI.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import strategies  # noqa: E402
from agent import skip_without_role  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from original import ORIGINAL  # noqa: E402
from real_node import RealNode, missing  # noqa: E402


def main():
    reason = missing()
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet to compare with: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    with Unchanged(), RealNode() as node:
        strategies.prepare(node)
        theirs, ours = (strategies.observe(node, *strategies.agent_of(node, name)) for name in ("original", "ours"))
        wrong = [what for what in theirs if theirs[what] != ours[what]]
        for what, value in theirs.items():
            print(f"{what}: {value}", f"   DIFFERS   {ours[what]}" if what in wrong else "")
        assert not wrong, f"these differ: {wrong}"
        strategies.check(node, ours)
    print("comparison of strategies with the original: passed")


if __name__ == "__main__":
    main()
