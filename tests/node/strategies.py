"""What the strategies of a node agent do on a real node, the same for the original and for ours: what CPU burst gives to a
throttled pod, what batch pods are given, which settings of the machine are written, who is evicted and in which order, by
requests and for want of memory, and what the events say. The settings are those of a /proc and a /sys of the test's own, the
evicted are its own pods.
"""
import glob
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent import Agent, wait_for  # noqa: E402
from host_tree import Group  # noqa: E402
from node_slo import SLO, make_objects  # noqa: E402
from original import Original  # noqa: E402
from real_node import NAME, free_port  # noqa: E402

FLAGS = ("-feature-gates=AuditEvents=true,SystemConfig=true,BEMemoryEvict=true,CPUAllocatableEvict=true,BECPUSuppress=false",
         "-only-evict-by-api=true", "-cpu-evict-cool-time-seconds=3", "-memory-evict-cool-time-seconds=3")
# Name: (priority, thousandths of a batch CPU, MiB that it holds, its eviction-priority; None: by use only).
PODS = {"low-30": (5000, 0, 30, None), "low-60": (5000, 0, 60, None), "high-90": (5500, 0, 90, None),
        "asks-2": (5000, 2000, 10, 0), "asks-3": (5000, 3000, 40, 0), "first": (5500, 1000, 50, -5),
        "unasked": (5000, 1000, 20, None)}
LENT = 6000  # 7000 are asked for: beyond 80%, and 60% of it are 3400 less
BURST = {"policy": "auto", "cpuBurstPercent": 100, "cfsQuotaBurstPercent": 150, "sharePoolThresholdPercent": 1000}
SYSTEM = {"minFreeKbytesFactor": 77, "watermarkScaleFactor": 33, "memcgReapBackGround": 1, "schedGroupIdentityEnabled": 1,
          "schedIdleSaverWmark": 4000000, "pageCacheLimitEnabled": 1, "schedFeatures": {"HRTICK": True}}
SETTINGS = {"proc/sys/vm/min_free_kbytes": "67584", "proc/sys/vm/watermark_scale_factor": "10",
            "proc/sys/kernel/sched_group_identity_enabled": "0", "proc/sys/kernel/sched_idle_saver_wmark": "0",
            "sys/kernel/mm/memcg_reaper/reap_background": "0", "sys/kernel/mm/pagecache_limit/enabled": "0",
            "sys/kernel/debug/sched_features": "NO_HRTICK"}
LIMITS = (("cpu", "cpu.shares"), ("cpu", "cpu.cfs_quota_us"), ("memory", "memory.limit_in_bytes"))
MEMORY = 1 << 30  # what each asks for that asks for any
LIMIT, QUOTA = "200m", 20000


def shares(milli_cpu):
    return max(2, milli_cpu * 1024 // 1000)


def overlay(folder, path, own):
    """A folder that has what `path` has, by links, but for the files `own` (paths below it) and the folders of them."""
    os.makedirs(folder)
    below = {}
    for name, text in own.items():
        head, _, rest = name.partition("/")
        below.setdefault(head, {})[rest] = text
    if path != "/sys/kernel/debug":
        for name in os.listdir(path):
            if name not in below and not (path == "/proc" and name.isdigit()):
                os.symlink(os.path.join(path, name), os.path.join(folder, name))
    for head, files in below.items():
        if "" in files:
            with open(os.path.join(folder, head), "w", encoding="utf-8") as file:
                file.write(files[""] + "\n")
        elif os.path.isdir(os.path.join(path, head)):
            overlay(os.path.join(folder, head), os.path.join(path, head), files)
        else:
            for name, text in files.items():
                os.makedirs(os.path.join(folder, head, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(folder, head, name), "w", encoding="utf-8") as file:
                    file.write(text + "\n")


def roots(folder):
    for name in ("proc", "sys"):
        overlay(os.path.join(folder, name), f"/{name}",
                {path.split("/", 1)[1]: text for path, text in SETTINGS.items() if path.startswith(f"{name}/")})


def settings(folder):
    found = {}
    for path in SETTINGS:
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            found[path] = file.read().strip()
    return found


def prepare(node):
    """The objects that pods and agents need."""
    make_objects(node)
    os.makedirs(os.path.join(node.dir, "var-run"))
    connection = node.api.connect()
    for priority in (5000, 5500, 9500):
        connection.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"of-{priority}"},
            "value": priority})


def agent_of(node, name):
    """The agent `name`, "original" or "ours", and the folder that has its /proc and /sys."""
    folder = os.path.join(node.dir, f"roots-{name}")
    roots(folder)
    flags = [f"-proc-root-dir={folder}/proc/", f"-sys-root-dir={folder}/sys/", *FLAGS]
    if name == "original":
        agent = Original(node, free_port())
        agent.command += flags
        return agent, folder
    return Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                 f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/var-run", *flags,
                 env={"NODE_NAME": node.name}), folder


def pods(node):
    for name, (priority, cpu, mib, first) in PODS.items():
        terms = {} if first is None else {"labels": {"koordinator.sh/eviction-enabled": "true"},
                                          "annotations": {"koordinator.sh/eviction-priority": str(first)}}
        pod = node.pod(name, f"dd if=/dev/zero bs={mib}M count=1 | sleep 1000000", "BE", cpu, **terms)
        for amounts in pod["spec"]["containers"][0]["resources"].values():
            amounts["kubernetes.io/batch-memory"] = str(MEMORY)
        pod["spec"]["priorityClassName"] = f"of-{priority}"
        yield pod
    web = node.pod("web", "while :; do :; done", "LS", 100)
    web["spec"]["containers"][0]["resources"]["limits"] = {"cpu": LIMIT}
    web["spec"]["priorityClassName"] = "of-9500"
    yield web


def lend(node, milli_cpu):
    amounts = {"kubernetes.io/batch-cpu": str(milli_cpu), "kubernetes.io/batch-memory": str(MEMORY * len(PODS))}
    node.patch(f"/api/v1/nodes/{NAME}/status", {"status": {"capacity": amounts, "allocatable": amounts}})


def told(node):
    """What is said of evictions: (reason, pod, message)."""
    events = node.get("/api/v1/namespaces/default/events")["items"]
    return sorted((event["reason"], event["involvedObject"]["name"], event["message"]) for event in events
                  if event["reason"].startswith("evictPod"))


def evicted(agent):
    """Names in order: of the original from its log, since its audit is behind; of ours from the audit."""
    if isinstance(agent, Original):
        with open(agent.log, encoding="utf-8", errors="replace") as file:
            return re.findall(r"evict pod default/(\S+) success", file.read())
    rows = []
    for name in sorted(glob.glob(os.path.join(agent.folder, "audit", "audit*.log"))):
        with open(name, encoding="utf-8") as file:
            rows += [json.loads(line) for line in file if line.endswith("\n") and '"evicted"' in line]
    return [row["name"] for row in rows]


def observe(node, agent, folder):
    """Runs the agent through all of it and kills it. Returns what it did, by a name."""

    def slo(**spec):
        node.patch(f"{SLO}/nodeslos/{NAME}", {"spec": spec})

    threshold = {"enable": True, "cpuSuppressPolicy": "cpuset", "memoryEvictThresholdPercent": None,
                 "memoryEvictLowerPercent": None, "cpuAllocatableEvictThresholdPercent": None,
                 "cpuAllocatableEvictLowerPercent": None, "allocatableEvictPriorityThreshold": None}
    slo(resourceUsedThresholdWithBE=threshold, cpuBurstStrategy=BURST, systemStrategy=SYSTEM)
    lend(node, 20000)
    node.apply(*pods(node))
    running = node.wait_running(*PODS, "web")
    lend(node, LENT)
    pod = Group(f"kubepods/burstable/pod{running['web']['metadata']['uid']}")
    container = running["web"]["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    group = Group(os.path.join(pod.relative, container))

    def knobs():
        return [int(one.read("cpu", name)) for one in (pod, group) for name in ("cpu.cfs_quota_us", "cpu.cfs_burst_us")]

    def batch_limits():
        """Of each best-effort pod and its container: shares, quota and limit of memory."""
        found = {}
        for name in PODS:
            status = running[name]["status"]["containerStatuses"][0]
            whole = f"kubepods/besteffort/pod{running[name]['metadata']['uid']}"
            found[name] = [tuple(int(Group(one).read(*file)) for file in LIMITS)
                           for one in (whole, os.path.join(whole, status["containerID"].split("//")[1]))]
        return found

    assert knobs() == [QUOTA, 0, QUOTA, 0], f"the kubelet gave {knobs()}"
    result = {}
    agent.start()
    try:
        wait_for("CPU burst", lambda: knobs()[1] and knobs()[3] and knobs()[2] > QUOTA, 90)
        wait_for("the quota stays", lambda: knobs()[2] == QUOTA * BURST["cfsQuotaBurstPercent"] // 100, 60)
        wait_for("settings", lambda: settings(folder) != SETTINGS, 30)
        wait_for("what batch pods ask for", lambda: all(one[0] == shares(PODS[name][1])
                                                        for name, both in batch_limits().items() for one in both), 30)
        result["batch"] = batch_limits()
        slo(resourceUsedThresholdWithBE={**threshold, "cpuAllocatableEvictThresholdPercent": 80,
                                         "cpuAllocatableEvictLowerPercent": 60, "allocatableEvictPriorityThreshold": 5999})
        wait_for("evictions by requests", lambda: len(evicted(agent)) >= 2, 90)
        time.sleep(8)  # longer than the cool-down: nobody else goes
        result["by requests"] = evicted(agent)
        result["burst"] = knobs()  # the pod's quota and burst, its container's
        result["settings"] = settings(folder)
        slo(resourceUsedThresholdWithBE={**threshold, "memoryEvictThresholdPercent": 1, "memoryEvictLowerPercent": 0})
        wait_for("evictions for want of memory", lambda: len(evicted(agent)) >= len(PODS), 90)
        time.sleep(4)
        result["for want of memory"] = evicted(agent)[len(result["by requests"]):]
        result["events"] = told(node)
        result["left"] = sorted(one["metadata"]["name"] for one in node.get("/api/v1/namespaces/default/pods")["items"]
                                if not one["metadata"].get("deletionTimestamp"))
    except AssertionError as error:
        raise AssertionError(f"{error}\n{evicted(agent)}\n{told(node)}\n{agent.log_tail(60)}") from None
    agent.kill()
    if not isinstance(agent, Original):
        agent.cleanup()
        assert knobs() == [QUOTA, 0, QUOTA, 0] and settings(folder) == SETTINGS, "--cleanup does not put back what it found"
    node.delete_all()
    node.api.connect().request("DELETE", "/api/v1/namespaces/default/events")
    return result


def check(node, result):
    """That it is what the documents say."""
    assert result["by requests"] == ["first", "asks-3"], result["by requests"]
    assert result["for want of memory"] == ["low-60", "low-30", "unasked", "asks-2", "high-90"], result["for want of memory"]
    assert result["left"] == ["web"]
    assert [(reason, pod) for reason, pod, _ in result["events"]] == [("evictPodSuccess", name) for name in sorted(PODS)]
    for name, both in result["batch"].items():
        cpu = PODS[name][1]
        limits = (cpu * 100, MEMORY) if cpu else (-1, both[0][2])
        assert set(both) == {(shares(cpu), *limits)} and (cpu or both[0][2] >= 1 << 62), f"{name} has {both}"
    assert result["burst"] == [QUOTA * BURST["cfsQuotaBurstPercent"] // 100, QUOTA] * 2, result["burst"]
    kib = int(node.get(f"/api/v1/nodes/{NAME}")["status"]["capacity"]["memory"].removesuffix("Ki"))
    wanted = [str(kib * SYSTEM["minFreeKbytesFactor"] // 10000), "33", "1", "4000000", "1", "1", "HRTICK"]
    assert list(result["settings"].values()) == wanted, result["settings"]
