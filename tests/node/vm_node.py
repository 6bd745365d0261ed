"""The virtual machine as a node of Kubernetes: a sandbox is the API server, files that busybox serves are the kubelet's
answers, pods are groups of cgroup v2 with the values that a kubelet gives them and a process that sleeps in each of them.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from agent import KOORD  # noqa: E402
from check_placement import quantity  # noqa: E402

NAME = "vm"
KOORDINATOR = "koordinator.sh/"
PERIOD = 100000

# What a script begins with. "agent" runs ours with the words it is given and those of AGENT.
SETUP = """
cg=/sys/fs/cgroup
echo "+cpu +cpuset +memory" >$cg/cgroup.subtree_control || exit 1
group() { mkdir -p $cg/$1; [ -z "$2" ] || echo "+cpu +cpuset +memory" >$cg/$1/cgroup.subtree_control; }
inside() { path=$1; shift; sh -c 'echo $$ >'$cg/$path/cgroup.procs"; $*" & }
up() { cut -d' ' -f1 /proc/uptime; }
until_() { for i in $(seq $(($1 * 5))); do eval "$2" && return; usleep 200000; done; echo "see waited=$1 for=$2"; }
kubelet() { httpd -p 127.0.0.1:10255 -h /www; }
sandbox() { # The files of objects to begin with. MEMORY in them is what the machine has.
  memory=$(sed -n 's/MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo)
  sed "s/MEMORY/${memory}Ki/g" /objects.json >/tmp/objects.json
  /koord sandbox --nodes=0 --roles= --load=$1/tmp/objects.json --kubeconfig=/tmp/kubeconfig >/tmp/sandbox.log 2>&1 &
  until_ 20 '[ -s /tmp/kubeconfig ]'
}
agent() {
  NODE_NAME=vm agent_mode=hostMode /koord --role=koordlet --kubeconfig=/tmp/kubeconfig --addr=127.0.0.1:9316 \\
    --kubelet-insecure-tls --tsdb-path=/tmp/metrics --audit-log-dir=/tmp/audit AGENT "$@" >>/tmp/agent.log 2>&1
}
kill_agent() { for pid in $(pidof koord); do grep -q role=koordlet /proc/$pid/cmdline && kill -9 $pid; done; }
metrics() { wget -q -O - http://127.0.0.1:9316/metrics; }
"""


def setup(*flags):
    return SETUP.replace("AGENT", " ".join(flags))


def container(name="main", **resources):
    """Resources as `requests` and `limits`."""
    return {"name": name, "image": "none", "resources": resources}


def sums(containers, kind, resource):
    return sum(quantity(one["resources"].get(kind, {}).get(resource, 0)) for one in containers)


class Pod:
    """A pod that runs, with a sandbox. `qos` is Koordinator's class or None; `sidecars` are init containers that go on."""

    def __init__(self, name, qos, *containers, priority=None, annotations=None, sidecars=()):
        self.name, self.qos, self.containers, self.sidecars = name, qos, containers or (container(),), sidecars
        self.priority, self.annotations = priority, annotations or {}

    @property
    def all(self):
        return (*self.containers, *self.sidecars)

    @property
    def kube_qos(self):
        asked = [(sums([one], kind, resource)) for one in self.all for kind in ("requests", "limits")
                 for resource in ("cpu", "memory")]
        if not any(asked):
            return "BestEffort"
        same = all(sums([one], "requests", resource) == sums([one], "limits", resource) > 0
                   for one in self.all for resource in ("cpu", "memory"))
        return "Guaranteed" if same else "Burstable"

    @property
    def group(self):
        folder = {"Guaranteed": "", "Burstable": "burstable/", "BestEffort": "besteffort/"}[self.kube_qos]
        return f"kubepods/{folder}pod{self.name}"

    def group_of(self, one):
        return f"{self.group}/{one['name']}-{self.name}"

    def manifest(self):
        def status(one):
            return {"name": one["name"], "containerID": f"containerd://{one['name']}-{self.name}", "ready": True,
                    "started": True, "state": {"running": {}}}

        spec = {"nodeName": NAME, "containers": self.containers}
        running = {"phase": "Running", "qosClass": self.kube_qos, "containerStatuses": list(map(status, self.containers))}
        if self.sidecars:
            spec["initContainers"] = [{**one, "restartPolicy": "Always"} for one in self.sidecars]
            running["initContainerStatuses"] = list(map(status, self.sidecars))
        if self.priority is not None:
            spec["priority"] = self.priority
        labels = {f"{KOORDINATOR}qosClass": self.qos} if self.qos else {}
        return {"metadata": {"name": self.name, "namespace": "default", "uid": self.name, "labels": labels,
                             "annotations": self.annotations}, "spec": spec, "status": running}

    def values(self):
        """(group, file, value) as a kubelet writes them."""
        def of(group, containers):
            shares = max(2, int(sums(containers, "requests", "cpu") * 1024))
            yield group, "cpu.weight", weight(shares)
            for resource, file, scale in (("cpu", "cpu.max", PERIOD), ("memory", "memory.max", 1)):
                limited = all(sums([one], "limits", resource) for one in containers)
                limit = int(sums(containers, "limits", resource) * scale) if limited else "max"
                yield group, file, f"{limit} {PERIOD}" if file == "cpu.max" else limit

        yield from of(self.group, self.all)
        for one in self.all:
            yield from of(self.group_of(one), [one])

    def resize(self):
        """Shell lines that write them."""
        return [f"echo '{value}' >$cg/{group}/{file}" for group, file, value in self.values()]

    def make(self):
        """Shell lines that make the groups. The sandbox's is not that of any container."""
        lines = [f"group {self.group} x", *(f"group {self.group_of(one)}" for one in self.all), f"group {self.group}/sandbox"]
        return [*lines, *self.resize(), *(f"inside {path} 'sleep 100000'" for path in
                                          (*map(self.group_of, self.all), f"{self.group}/sandbox"))]


def weight(shares):
    return 1 + (shares - 2) * 9999 // 262142


def make(pods):
    """Shell lines that make the kubelet's folders and all pods."""
    lines = ["group kubepods x", "group kubepods/besteffort x", "group kubepods/burstable x",
             "echo 1 >$cg/kubepods/besteffort/cpu.weight"]
    return "\n".join(lines + [line for pod in pods for line in pod.make()])


def node(**metadata):
    amounts = {"cpu": "8", "memory": "MEMORY", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, **metadata}, "status": {
        "capacity": amounts, "allocatable": amounts, "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}}


def node_slo(**spec):
    return {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": NAME}, "spec": spec}


def pod_list(manifests):
    return {"apiVersion": "v1", "kind": "PodList", "items": list(manifests)}


def write(folder, contents):
    """Files in the machine, from their names there to what they hold, written to `folder`; koord is among them."""
    files = {"koord": KOORD}
    for number, (name, content) in enumerate(contents.items()):
        files[name] = os.path.join(folder, str(number))
        with open(files[name], "w", encoding="utf-8") as file:
            json.dump(content, file)
    return files


def objects(*items):
    return {"apiVersion": "v1", "kind": "List", "items": items}


def closure(program, name=None):
    """The files that a program is loaded with, at their paths; itself at `name`."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {name or program: program} | {path: path for path in re.findall(r"(/\S+) \(0x", listed)}


def said(lines):
    """What the script told as "see NAME=VALUE ..."."""
    return dict(word.split("=", 1) for line in lines if line.startswith("see ") for word in line.split()[1:] if "=" in word)
