#!/usr/bin/env python3
"""In the virtual machine, whose cores have two threads each: core scheduling cookies on a real kernel. Pods of a group share
one, another group's and a pod that is alone have others; processes with threads, which fork all the time, have theirs to the
last one; over a SIGKILL of the agent they stay; an agent that has a cookie itself takes them away; what somebody else gave stays.

Debian's kernels are built without core scheduling (CONFIG_SCHED_CORE): on one of these the agent says so once, and does what
else the policy asks for. KOORD_VM_KERNEL names one that has it, such as Ubuntu's.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_node  # noqa: E402
from agent import skip_without_role  # noqa: E402
from janitor import skip  # noqa: E402
from vm_node import Pod  # noqa: E402

FLAGS = ("--feature-gates=CoreSched=true,BECPUSuppress=false", "--kubelet-sync-interval=1s", "--runtime-hooks-reconcile-interval=1s")
GROUP, POLICY = "koordinator.sh/core-sched-group-id", "koordinator.sh/core-sched-policy"
LABELS = {"one": {GROUP: "g"}, "two": {GROUP: "g"}, "best": {GROUP: "g"}, "alone": {POLICY: "exclusive"}, "none": {POLICY: "none"},
          "system": {}, "own": {GROUP: "own"}}
CLASSES = {"best": "BE", "system": "SYSTEM"}
PODS = [Pod(name, CLASSES.get(name, "LS")) for name in LABELS]

SCRIPT = """
look() { for pod in NAMES; do echo "is $1 $pod $(/probe read $(cat /tmp/group.$pod))"; done; }
for pod in NAMES; do find $cg/kubepods -name main-$pod | sed "s#$cg/##" >/tmp/group.$pod; done
best=$cg/$(cat /tmp/group.best)/cpu.idle
kubelet
sandbox
if ! /probe; then
  echo "see cores=no"
  agent &
  until_ 30 '[ "$(cat $best)" = 1 ]'
  until_ 30 'grep -q "this machine has no core scheduling cookies" /tmp/agent.log'
  sleep 3
  echo "see idle=$(cat $best)$(cat $cg/kubepods/besteffort/cpu.idle) warnings=$(grep -c 'this machine has no core scheduling' /tmp/agent.log)"
  wget -q -O - http://127.0.0.1:9316/apis/v1/node | grep -o 'this machine has no core scheduling cookies: [^"]*'
  kill_agent
  agent --cleanup
  echo "see cleanup=$? after=$(cat $best)"
  exit 0
fi
echo "see cores=yes"
inside $(cat /tmp/group.one) '/probe load 8'
inside $(cat /tmp/group.own) '/probe bear /bin/sleep 100000'
one() { /probe read $(cat /tmp/group.one); }
sleep 1
look before
agent &
until_ 30 'one | grep -q "^[1-9][0-9]* "'
sleep 2
look first
kill_agent
sleep 1
agent &
until_ 20 'metrics | grep -q core_sched_cookie{'
inside $(cat /tmp/group.two) 'sleep 100000'
sleep 3
look again
echo "see shown=$(metrics | grep -c '^koordlet_container_core_sched_cookie{')"
echo "see idle=$(cat $best)$(cat $cg/kubepods/besteffort/cpu.idle)"
kill_agent
NODE_NAME=vm agent_mode=hostMode /probe bear /koord --role=koordlet --kubeconfig=/tmp/kubeconfig --addr=127.0.0.1:9316 \\
  --kubelet-insecure-tls --tsdb-path=/tmp/metrics --audit-log-dir=/tmp/audit --cleanup >>/tmp/agent.log 2>&1
echo "see cleanup=$? after=$(cat $best)"
look cleanup
grep -i core /tmp/agent.log | tail -5
"""


def manifest(pod):
    made = pod.manifest()
    made["metadata"]["labels"].update(LABELS[pod.name])
    return made


def check(seen):
    assert all(cookies == {"0"} for name, (cookies, _) in seen["before"].items() if name != "own"), seen["before"]
    own = seen["before"]["own"][0]
    assert own >= {"0"} and len(own) == 2, own
    first = {name: cookies for name, (cookies, _) in seen["first"].items()}
    for name in ("one", "two", "best", "alone"):
        assert len(first[name]) == 1 and first[name] != {"0"}, f"{name}: {first[name]}"
    assert first["one"] == first["two"], first
    assert len({*first["one"], *first["best"], *first["alone"]}) == 3, first
    assert first["none"] == first["system"] == {"0"}, first
    assert len(first["own"]) == 2 and first["own"] >= own - {"0"} and "0" not in first["own"], (own, first["own"])
    assert seen["first"]["one"][1] > 12, f"the load was not there: {seen['first']['one']}"
    assert {name: cookies for name, (cookies, _) in seen["again"].items()} == first, (first, seen["again"])
    after = {name: cookies for name, (cookies, _) in seen["cleanup"].items()}
    assert after.pop("own") == own and all(cookies == {"0"} for cookies in after.values()), seen["cleanup"]


def main():
    reason = vm.missing()
    if reason:
        skip(reason)
    skip_without_role()
    slo = vm_node.node_slo(resourceQOSStrategy={
        "policies": {"cpuPolicy": "coreSched"},
        "lsClass": {"cpuQOS": {"enable": True, "coreExpeller": True}},
        "beClass": {"cpuQOS": {"enable": True, "coreExpeller": False, "schedIdle": 1}}})
    with tempfile.TemporaryDirectory(prefix="koord-cores-vm.") as folder:
        files = vm_node.write(folder, {"objects.json": vm_node.objects(vm_node.node(), slo),
                                       "www/pods/index.html": vm_node.pod_list(map(manifest, PODS)),
                                       "www/configz": {"kubeletconfig": {"cpuManagerPolicy": "none"}}})
        files["probe"] = os.environ["CORE_SCHED_PROBE"]
        status, lines = vm.run(vm_node.setup(*FLAGS) + vm_node.make(PODS) + SCRIPT.replace("NAMES", " ".join(LABELS)), files, seconds=150)
    assert status == 0, f"the machine's test ended with {status}"
    told = vm_node.said(lines)
    assert "waited" not in told, f"what was waited for did not come: {told}"
    assert (told["cleanup"], told["idle"], told["after"]) == ("0", "10", "0"), told
    if told["cores"] == "no":
        assert told["warnings"] == "1", told
        assert any(line.startswith("this machine has no core scheduling cookies: the kernel has no") for line in lines), "its status"
        print("core scheduling in the virtual machine: passed, on a kernel without it")
        return
    seen = {}
    for line in lines:
        if line.startswith("is "):
            _, phase, name, cookies, threads = line.split(" ")
            seen.setdefault(phase, {})[name] = (set(cookies.split(",")), int(threads.partition("=")[2]))
    check(seen)
    # Five pods, each with a container and a sandbox.
    assert told["shown"] == "10", told
    print("core scheduling in the virtual machine: passed")


if __name__ == "__main__":
    main()
