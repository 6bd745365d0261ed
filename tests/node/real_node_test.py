#!/usr/bin/env python3
"""The real node of the node tier itself: pods run, kubelet and API server are killed and come back, nothing stays."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from janitor import Unchanged  # noqa: E402
from real_node import RealNode, missing, skip, wait_for  # noqa: E402


def main():
    reason = missing()
    if reason:
        skip(reason)
    with Unchanged(), RealNode() as node:
        node.apply(node.pod("ls", "while :; do sleep 1; done", "LS", 100), node.pod("be", "sleep 100000", "BE"))
        pods = node.wait_running("ls", "be")
        assert pods["ls"]["status"]["qosClass"] == "Burstable" and pods["be"]["status"]["qosClass"] == "BestEffort"
        node.kill_kubelet()
        node.stop_apiserver()
        node.start_apiserver()
        node.start_kubelet()
        node.apply(node.pod("later", "sleep 100000"))
        node.wait_running("ls", "be", "later")
    print("real node: passed")


if __name__ == "__main__":
    main()
