"""The original koordlet as a process of a test. KOORDINATOR_BIN names the folder that has it."""
import os

from agent import Agent

ORIGINAL = os.path.join(os.environ.get("KOORDINATOR_BIN", ""), "koordlet")


class Original(Agent):
    """Takes upstream's flags only."""

    def __init__(self, node, port):
        super().__init__(node.janitor, os.path.join(node.dir, "original"), port, env={"NODE_NAME": node.name})
        self.command = [ORIGINAL, f"-kubeconfig={node.kubeconfig}", "-cgroup-root-dir=/sys/fs/cgroup/",
                        "-proc-root-dir=/proc/", "-sys-root-dir=/sys/", "-sys-fs-root-dir=/sys/fs/",
                        f"-var-run-root-dir={node.dir}/var-run/", f"-run-root-dir={node.dir}/var-run/",
                        f"-var-lib-kubelet-dir={node.kubelet_root}/", f"-tsdb-path={self.folder}/metrics",
                        f"-audit-log-dir={self.folder}/audit"]
