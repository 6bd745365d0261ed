#!/usr/bin/env python3
"""The original koordlet and ours on cgroup v2, in two virtual machines that are the same: the same pods, the same values
of a kubelet, the same NodeSLO and its changes. Every file of every group is compared after every change: memory QoS, sets
of CPUs, batch resources, CPU normalization, CPU burst, group identity. Needs the original's program; no part of CI.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_node  # noqa: E402
from agent import skip_without_role  # noqa: E402
from janitor import skip  # noqa: E402
from original import FOLDER, ORIGINAL  # noqa: E402
from vm_node import Pod, container  # noqa: E402

PROGRAMS = ["/usr/bin/curl", "/usr/bin/lscpu"]
FILES = ("cpu.max", "cpu.weight", "cpu.idle", "cpu.max.burst", "cpuset.cpus", "memory.min", "memory.low", "memory.high",
         "memory.max", "memory.oom.group")
GATES = "-feature-gates=BECPUSuppress=false,CgroupReconcile=true,CPUNormalization=true,CPUBurst="
FLAGS = ("-kubelet-sync-interval=2s",
         "-runtime-hooks-reconcile-interval=2s", "-kubelet-insecure-tls", "-addr=127.0.0.1:9316")
STATUS = "scheduling.koordinator.sh/resource-status"
SPEC = "node.koordinator.sh/extended-resource-spec"
MEMORY_QOS = "koordinator.sh/memoryQOS"
RATIO = "node.koordinator.sh/cpu-normalization-ratio"
MIB = 1 << 20


def batch(cpu, memory, kind="batch"):
    amounts = {f"kubernetes.io/{kind}-cpu": str(cpu), f"kubernetes.io/{kind}-memory": memory}
    return {"requests": amounts, "limits": amounts}


def both(cpu, memory):
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}


def asks(cpu, memory, *limits):
    return {"requests": {"cpu": cpu, "memory": memory}} | ({"limits": dict(zip(("cpu", "memory"), limits))} if limits else {})


def pods(later):
    """The node's pods; some are resized later."""
    def said(**annotations):
        return {"annotations": {name: json.dumps(value) for name, value in annotations.items()}}

    return [
        Pod("lsr", "LSR", container(**both("2", "64Mi")), **said(**{STATUS: {"cpuset": "2-4" if later else "2-3"}})),
        Pod("lse", "LSE", container(**both("1", "32Mi")), **said(**{STATUS: {"cpuset": "7"}})),
        Pod("ls", "LS", container(**asks("500m", "64Mi", *(("2", "192Mi") if later else ("1", "128Mi")))),
            container("side", **asks("100m", "16Mi"))),
        Pod("ls-numa", "LS", container(**asks("1", "32Mi", "2", "64Mi")),
            **said(**{STATUS: {"numaNodeResources": [{"node": 1, "resources": {"cpu": "1"}}]}})),
        Pod("ls-fixed", "LS", container(**both("500m", "32Mi"))),
        Pod("ls-sidecar", "LS", container(**asks("200m", "16Mi", "400m", "48Mi")),
            sidecars=(container("proxy", **asks("100m", "8Mi", "200m", "24Mi")),)),
        Pod("plain", None, container(**asks("200m", "16Mi", "400m", "48Mi"))),
        Pod("plain-fixed", None, container(**both("300m", "24Mi"))),
        Pod("idle", None),
        Pod("system", "SYSTEM", container(**asks("100m", "16Mi"))),
        Pod("auto", "LS", container(**asks("100m", "32Mi", "200m", "64Mi")), **said(**{MEMORY_QOS: {"policy": "auto"}})),
        Pod("none", "LS", container(**asks("100m", "32Mi", "200m", "64Mi")), **said(**{MEMORY_QOS: {"policy": "none"}})),
        Pod("own", "LS", container(**asks("100m", "32Mi", "200m", "64Mi")),
            **said(**{MEMORY_QOS: {"minLimitPercent": 40, "lowLimitPercent": 30, "throttlingPercent": 50, "oomKillGroup": 0}})),
        Pod("be", "BE", container(**batch(500 if later else 1000, "48Mi" if later else "32Mi"))),
        Pod("be-two", "BE", container(**batch(700, "32Mi")), container("free"), priority=5500),
        Pod("be-spec", "BE", **said(**{SPEC: {"containers": {"main": batch(1500, "40Mi")}}})),
        Pod("be-nothing", "BE"),
        Pod("mid", "LS", container(**batch(800, "24Mi", "mid")), priority=7500),
    ]


def memory_qos(least, low, throttling, **more):
    return {"enable": True, "minLimitPercent": least, "lowLimitPercent": low, "throttlingPercent": throttling, **more}


def classes(cpu=True, **memory):
    of = {f"{name}Class": {"memoryQOS": value} for name, value in memory.items()}
    for name, bvt in (("lsr", 2), ("ls", 2), ("be", -1)):
        of[f"{name}Class"]["cpuQOS"] = {"enable": cpu, "groupIdentity": bvt}
    return of


THRESHOLD = {"enable": True, "cpuSuppressPolicy": "cfsQuota"}
FIRST = {"resourceQOSStrategy": classes(lsr=memory_qos(80, 90, 0), ls=memory_qos(50, 60, 80, oomKillGroup=1), be=memory_qos(20, 10, 60)),
         "cpuBurstStrategy": {"policy": "cpuBurstOnly", "cpuBurstPercent": 200}}
# Name, what is patched (path, body), whether the pods are those of later. After "calm" the agents are started again without
# CPU burst: the original's and its CPU normalization write over each other.
CHANGES = (
    ("first", [], False),
    ("less", [("nodeslo", {"spec": {
        "resourceQOSStrategy": classes(lsr=memory_qos(40, 40, 90), ls=memory_qos(0, 30, 50, oomKillGroup=0), be=memory_qos(0, 0, 0)),
        "cpuBurstStrategy": {"cpuBurstPercent": 50}}})], False),
    ("resized", [], True),
    ("calm", [("nodeslo", {"spec": {"cpuBurstStrategy": {"policy": "none"}}})], True),
    ("faster", [("node", {"metadata": {"annotations": {RATIO: "1.25"}}})], True),
    ("slower", [("node", {"metadata": {"annotations": {RATIO: None}}}),
                ("nodeslo", {"spec": {"resourceUsedThresholdWithBE": THRESHOLD}})], True),
    ("off", [("nodeslo", {"spec": {"resourceQOSStrategy": classes(cpu=False, **{
        name: {"enable": False} for name in ("lsr", "ls", "be")})}})], True),
)
PATHS = {"node": f"/api/v1/nodes/{vm_node.NAME}", "nodeslo": f"/apis/slo.koordinator.sh/v1alpha1/nodeslos/{vm_node.NAME}"}

# What differs, and why: each is a line of packaging/COMPATIBILITY.md. (phase, pod, who, file, ours): whether it is that;
# who is the container, "" the pod.
LISTED = {
    "mid pods get what they ask of mid resources":
        lambda phase, pod, who, file, ours: pod == "mid" and file in ("cpu.weight", "cpu.max", "memory.max"),
    "memory.oom.group is never set for the kubelet's folders":
        lambda phase, pod, who, file, ours: pod == "" and file == "memory.oom.group" and ours == "0",
    "sidecars have memory QoS, too":
        lambda phase, pod, who, file, ours: who == "proxy" and file.startswith("memory."),
    "CPU burst where the kernel takes none above the quota, and of sidecars":
        lambda phase, pod, who, file, ours: file == "cpu.max.burst" and phase in ("first", "less", "resized"),
    "containers of best-effort pods are idle where the kernel has no group identity":
        lambda phase, pod, who, file, ours: pod in IDLE and who != "" and phase != "off" and (
            (file, ours) in (("cpu.idle", "1"), ("cpu.weight", "0"))),
    "a CPU normalization ratio that is none counts as absent":
        lambda phase, pod, who, file, ours: phase in ("slower", "off") and pod in NORMALIZED and file == "cpu.max",
    "CPU normalization sets no quota for a pod of which a container has none":
        lambda phase, pod, who, file, ours: (phase, pod, who, file) == ("faster", "ls", "", "cpu.max") and ours == "max 100000",
}
NORMALIZED = ("plain", "plain-fixed", "ls", "ls-numa", "ls-fixed", "ls-sidecar", "auto", "none", "own")
IDLE = ("be", "be-two", "be-spec", "be-nothing")

SCRIPT = """
patch() { curl -s -S -k -o /dev/null -w 'patched %{http_code}\\n' -X PATCH -H "Authorization: Bearer $token" \\
  -H 'Content-Type: application/merge-patch+json' --data @$2 $server$1; }
values() { (cd $cg; find kubepods -type f | grep -E '/(FILES)$' | sort | xargs grep -H '' | sed 's,/\\([^/:]*\\):, \\1 ,'); }
settle() { # until nothing has changed for 9 s
  same=0
  for i in $(seq 20); do
    values >/tmp/values
    if cmp -s /tmp/values /tmp/before; then same=$((same + 1)); else same=0; fi
    [ $same -ge 3 ] && break
    cp /tmp/values /tmp/before
    sleep 3
  done
  echo "see phase=$1 at=$(up) same=$same"
  sed "s/^/is $1 /" /tmp/values
}
mkdir -p /tmp/hooks /tmp/prediction /var/run
sandbox "$(ls /crds/* | tr '\\n' ',')"
server=$(sed -n 's/.*server: *//p' /tmp/kubeconfig | tr -d '"')
token=$(sed -n 's/.*token: *//p' /tmp/kubeconfig | tr -d '"')
values | sed 's/^/is kubelet /'
kubelet
export NODE_NAME=vm agent_mode=hostMode
begin() { # whether with CPU burst
  AGENT -kubeconfig=/tmp/kubeconfig FLAGS GATES$1 -tsdb-path=/tmp/metrics -audit-log-dir=/tmp/audit \\
    -prediction-checkpoint-filepath=/tmp/prediction >>/tmp/agent.log 2>&1 &
  agent=$!
  sleep 10
}
begin true
PHASES
kill -0 $agent || echo "see waited=for=the-agent-that-has-ended"
tail -15 /tmp/agent.log
"""
AGENTS = {"original": "/koordlet -cgroup-root-dir=/sys/fs/cgroup/ -proc-root-dir=/proc/ -sys-root-dir=/sys/ -sys-fs-root-dir=/sys/fs/ "
                      "-runtime-hooks-addr=/tmp/hooks.sock -runtime-hooks-config-path=/tmp/hooks",
          "ours": "/koord --role=koordlet"}


def script(agent, contents):
    phases = []
    for name, patches, later in CHANGES:
        for number, (what, body) in enumerate(patches):
            contents[f"patches/{name}-{number}"] = body
            phases.append(f"patch {PATHS[what]} /patches/{name}-{number}")
        if name == "resized":
            before = set(line for pod in pods(False) for line in pod.resize())
            phases += [line for pod in pods(later) for line in pod.resize() if line not in before]
            phases.append("cp /later.json /www/pods/index.html")
        phases.append(f"settle {name}")
        if name == "calm":
            phases += ["kill -9 $agent", "begin false"]
    text = vm_node.setup() + vm_node.make(pods(False)) + SCRIPT
    for name, value in (("AGENT", AGENTS[agent]), ("GATES", GATES), ("FLAGS", " ".join(FLAGS)), ("FILES", "|".join(FILES)), ("PHASES", "\n".join(phases))):
        text = text.replace(name, value)
    return text


def observe(agent, folder):
    """What all files are: phase to (group, file) to value."""
    contents = {
        "objects.json": vm_node.objects(vm_node.node(), vm_node.node_slo(**FIRST)),
        "www/pods/index.html": vm_node.pod_list(pod.manifest() for pod in pods(False)),
        "later.json": vm_node.pod_list(pod.manifest() for pod in pods(True)),
        "www/configz": {"kubeletconfig": {"cpuManagerPolicy": "none", "cgroupDriver": "cgroupfs"}},
    }
    os.mkdir(folder)
    text = script(agent, contents)
    files = vm_node.write(folder, contents)
    files |= {f"crds/{os.path.basename(path)}": path for path in glob.glob(os.path.join(FOLDER, "crds", "*.yaml"))}
    for program in PROGRAMS:
        files |= vm_node.closure(program)
    if agent == "original":
        stripped = os.path.join(folder, "koordlet")
        subprocess.run(["strip", "-o", stripped, ORIGINAL], check=True)
        files |= vm_node.closure(stripped, "koordlet")
    status, lines = vm.run(text, files, seconds=700, echo=False)
    found = {}
    for line in lines:
        match = re.match(r"is (\S+) (\S+) (\S+) ?(.*)$", line)
        if match:
            phase, group, file, value = match.groups()
            found.setdefault(phase, {})[group, file] = value
    told = "\n".join(line for line in lines if not line.startswith("is "))
    assert status == 0 and "waited" not in vm_node.said(lines), f"{agent}: {status}\n{told}"
    assert set(found) == {"kubelet", *(name for name, _, _ in CHANGES)}, f"{agent}: {sorted(found)}\n{told}"
    print(f"{agent}:\n{told}", flush=True)
    return found


def main():
    reason = vm.missing() or next((f"{path} is missing" for path in PROGRAMS if not os.path.exists(path)), None)
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet to compare with: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    with tempfile.TemporaryDirectory(prefix="koord-compare-v2.") as folder:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            theirs, ours = pool.map(lambda agent: observe(agent, os.path.join(folder, agent)), AGENTS)
    assert theirs["kubelet"] == ours["kubelet"], "the machines do not begin alike"
    wrong, reasons = [], {}
    for phase, values in theirs.items():
        changed = sum(theirs["kubelet"][key] != value for key, value in values.items())
        print(f"{phase}: {len(values)} values, of which the original has changed {changed}")
        for (group, file), value in values.items():
            mine = ours[phase][group, file]
            if mine == value:
                continue
            match = re.search(r"/pod([a-z-]+)(?:/([a-z]+))?", group)
            pod, who = (match[1], match[2] or "") if match else ("", "")
            listed = [why for why, fits in LISTED.items() if fits(phase, pod, who, file, mine)]
            reasons.setdefault(listed[0] if listed else "NOT LISTED", []).append(f"{phase} {group} {file}: {value} and {mine}")
            wrong += [] if listed else [(phase, group, file)]
    for why, rows in reasons.items():
        print(f"{why}: {len(rows)} values", *rows, sep="\n    ")
    unseen = [why for why in LISTED if why not in reasons]
    assert not wrong, f"{len(wrong)} values differ"
    assert not unseen, f"these do not differ: {unseen}"
    print("comparison with the original on cgroup v2: passed")


if __name__ == "__main__":
    main()
