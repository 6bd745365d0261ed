#!/usr/bin/env python3
"""On a real node: CPU burst of a throttled pod, settings of the machine, evictions by requests and for want of memory
through the API server, with their events; --cleanup (strategies.py)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import strategies  # noqa: E402
from agent import skip_without_role  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from real_node import RealNode, missing  # noqa: E402


def main():
    reason = missing()
    if reason:
        skip(reason)
    skip_without_role()
    with Unchanged(), RealNode() as node:
        strategies.prepare(node)
        strategies.check(node, strategies.observe(node, *strategies.agent_of(node, "ours")))
    print("strategies on a real node: passed")


if __name__ == "__main__":
    main()
