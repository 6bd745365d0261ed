"""The protection benchmark on a real node: two pods that do nothing, into whose cgroups the service and the best-effort work
are put, and agents as they run on nodes, koord's and the original's (KOORDINATOR_BIN)."""
import os
import shutil

import arms
import stage
from agent import Agent
from host_tree import Group
from node_slo import SLO, make_objects
from original import ORIGINAL, Original
from real_node import RealNode, free_port

DOES_NOTHING = "sleep 1000000"
SERVICE, BATCH = "service", "batch"


class Node:
    """with Node(scratch, milli_cpu) as stage: `milli_cpu` is what the service's pod asks for."""
    name, arms, overload, kinds = "node", arms.NODE, (), ("spinners",)
    most_others = 0.25  # API server, etcd, kubelet and containerd are at work

    def __init__(self, scratch, milli_cpu):
        self.scratch, self.milli_cpu, self.agents, self.agent = scratch, milli_cpu, 0, None
        self.ls, self.be = Group("kubepods/burstable"), Group("kubepods/besteffort")

    def __enter__(self):
        self.node = RealNode().__enter__()
        try:
            make_objects(self.node)
            os.makedirs(os.path.join(self.node.dir, "var-run"))
            self.node.apply(self.node.pod(SERVICE, DOES_NOTHING, "LS", self.milli_cpu),
                            self.node.pod(BATCH, DOES_NOTHING, "BE"))
            pods = self.node.wait_running(SERVICE, BATCH)
            self.join_ls, self.join_be = (stage.joiner(self.container(tier, pods[name])) for tier, name in (
                (self.ls, SERVICE), (self.be, BATCH)))
            self.original = Original(self.node, free_port()) if os.access(ORIGINAL, os.X_OK) else None
        except BaseException:
            self.node.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self.node.__exit__(*_)

    @staticmethod
    def container(tier, pod):
        identity = pod["status"]["containerStatuses"][0]["containerID"].partition("://")[2]
        return f"{tier.relative}/pod{pod['metadata']['uid']}/{identity}"

    def can(self, arm):
        return self.original is not None or not arm.original

    def prepare(self, arm):
        """Returns when the arm's agent, if it has one, has begun to steer."""
        if arm.slo is None:
            return
        self.node.patch(f"{SLO}/nodeslos/{self.node.name}", {"spec": arm.slo})
        if arm.original:
            self.agent = self.original
            self.agent.start()
        else:
            self.agents += 1
            self.agent = Agent(self.node.janitor, os.path.join(self.scratch, f"node-agent-{self.agents}"), free_port(),
                               f"--kubeconfig={self.node.kubeconfig}", f"--var-lib-kubelet-dir={self.node.kubelet_root}",
                               f"--var-run-root-dir={self.node.dir}/var-run", "--kubelet-sync-interval=2s", *arm.flags,
                               env={"NODE_NAME": self.node.name})
            self.agent.start_and_wait()
        stage.wait_steered(self.agent, arm, self.be, 90)

    def clear(self):
        agent, self.agent = self.agent, None
        if agent is not None:
            agent.kill()
            if agent is not self.original:
                agent.cleanup()
                shutil.rmtree(agent.folder, ignore_errors=True)
        stage.limit(self.be, None)
