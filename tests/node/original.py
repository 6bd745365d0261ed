"""The original koordlet as a process of a test. KOORDINATOR_BIN names the folder that has it, with all of Koordinator's
definitions in crds/: it measures nothing before it has listed objects of them."""
import os
import subprocess

from agent import Agent
from real_node import ASSETS, free_port

FOLDER = os.environ.get("KOORDINATOR_BIN", "")
ORIGINAL = os.path.join(FOLDER, "koordlet")


class Original(Agent):
    """Takes upstream's flags only."""

    def __init__(self, node, port):
        subprocess.run([os.path.join(ASSETS, "kubectl"), "--kubeconfig", node.kubeconfig, "apply", "--server-side",
                        "--force-conflicts", "-f", os.path.join(FOLDER, "crds")], check=True, stdout=subprocess.DEVNULL)
        super().__init__(node.janitor, os.path.join(node.dir, "original"), port, env={"NODE_NAME": node.name})
        self.command = [ORIGINAL, f"-kubeconfig={node.kubeconfig}", "-cgroup-root-dir=/sys/fs/cgroup/",
                        "-proc-root-dir=/proc/", "-sys-root-dir=/sys/", "-sys-fs-root-dir=/sys/fs/",
                        f"-var-run-root-dir={node.dir}/var-run/", f"-run-root-dir={node.dir}/var-run/",
                        f"-var-lib-kubelet-dir={node.kubelet_root}/", f"-tsdb-path={self.folder}/metrics",
                        f"-audit-log-dir={self.folder}/audit", f"-runtime-hooks-addr={self.folder}/hooks.sock",
                        f"-runtime-hooks-config-path={self.folder}/hooks"]
        os.makedirs(f"{self.folder}/hooks", exist_ok=True)


def either(node, name):
    """Not started yet: the original, or ours with the same places."""
    if name == "original":
        return Original(node, free_port())
    return Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                 f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run", env={"NODE_NAME": node.name})
