#!/usr/bin/env python3
"""The original koordlet and ours, one after the other, as NRI plugin of containerd on a real node: what containers get of the GPUs and
RDMA devices of their pods' annotations, random ones among them: environment, mounts, device files and the right to use them, as
containerd wrote them into the runtime's configuration. Drivers and cards are files of the test's own, which the agents alone see.
Needs the original's program; no part of CI. 40 seconds.

KOORDINATOR_BIN names the folder with `koordlet`.
"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import containerd  # noqa: E402
from agent import TREE, Agent, skip_without_role, wait_for  # noqa: E402
from janitor import Unchanged, skip  # noqa: E402
from node_slo import make_objects  # noqa: E402
from original import ORIGINAL, Original  # noqa: E402
from real_node import RealNode, free_port, missing  # noqa: E402

import original_host  # noqa: E402

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
ISOLATED = {"koordinator.sh/gpu-isolation-provider": "HAMi-core"}
GATES = "GPUEnvInject=true,RDMADeviceInject=true,HamiCoreVGPUMonitor=true,BECPUSuppress=false"
LOCK = "/tmp/vgpulock"  # as both have it
GPUS, CARDS, FUNCTIONS = 8, 4, 3
VERBS_MAJOR = 231
SEED, RANDOM_PODS = 1, 12
# In the agent's mount namespace alone: a /dev with RDMA's files, cards on the PCI bus, NVIDIA's driver; the host's root is this one.
STAGE = """set -e
mount -t tmpfs dev {dir}/dev
for one in null zero urandom; do cp -a /dev/$one {dir}/dev/; done
mkdir {dir}/dev/infiniband
mknod {dir}/dev/infiniband/rdma_cm c 10 58
for one in {verbs}; do mknod {dir}/dev/infiniband/uverbs$one c {major} $((192 + one)); done
mount --rbind {dir}/dev /dev
mount --bind {dir}/bus /sys/bus/pci/devices
mount -t tmpfs driver /proc/driver
mkdir /proc/driver/nvidia
echo version >/proc/driver/nvidia/version
mount -t tmpfs one /proc/1
cp /proc/self/mountinfo /proc/self/cgroup /proc/1/
ln -s / /proc/1/root
exec "$@"
"""


class AskingNode(RealNode):
    drop_in = os.path.join(TREE, "packaging", "containerd-nri.toml")


def bus_of(card):
    return f"0000:{0x30 + card * 16:02x}:00.0"


def function_of(card, number):
    return f"0000:{0x30 + card * 16:02x}:00.{number + 1}"


def make_host(folder):
    """Returns the library of HAMi-core."""
    bus = os.path.join(folder, "bus")
    for name in ("dev", "bus", "hami", "xpu"):
        os.makedirs(os.path.join(folder, name))
    for card in range(CARDS):
        for number in (None, *range(FUNCTIONS)):
            name = bus_of(card) if number is None else function_of(card, number)
            place = original_host.add_pci_card(os.path.join(folder, "board"), name, "15b3", "101d", original_host.NET_CLASS, 0)
            verbs = card if number is None else CARDS + card * FUNCTIONS + number
            for kind in (f"infiniband/mlx5_{verbs}", f"infiniband_verbs/uverbs{verbs}"):
                os.makedirs(os.path.join(place, kind))
            os.symlink(place, os.path.join(bus, name))
            if number is None:
                original_host.write(os.path.join(place, "sriov_numvfs"), f"{FUNCTIONS}\n")
            else:
                os.symlink(os.path.join(bus, bus_of(card)), os.path.join(place, "physfn"))
                os.symlink(place, os.path.join(bus, bus_of(card), f"virtfn{number}"))
    cards = [{"vendor": "nvidia", "model": "T4", "uuid": f"GPU-{i}", "minor": str(i),
              "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}} for i in range(GPUS)]
    original_host.write(os.path.join(folder, "xpu", "cards"), json.dumps(cards))
    library = os.path.join(folder, "hami", "libvgpu.so")
    original_host.write(library, "")
    return library


def gpus(*minors, core=None, ratio=None, memory=None):
    resources = {f"koordinator.sh/gpu-{name}": value for name, value in (("core", core), ("memory-ratio", ratio), ("memory", memory))
                 if value is not None}
    return {"gpu": [{"minor": minor, **({"resources": resources} if resources else {})} for minor in minors]}


def rdma(*cards):
    """Whole ones by their number, functions of one by (card, number, ...)."""
    found = []
    for card in cards:
        first, *functions = card if isinstance(card, tuple) else (card,)
        one = {"minor": first, "id": bus_of(first), "resources": {"koordinator.sh/rdma": "100" if not functions else "1"}}
        if functions:
            one["extension"] = {"vfs": [{"minor": -1, "busID": function_of(first, each)} for each in functions]}
        found.append(one)
    return {"rdma": found}


def cases():
    """{name: (annotation, labels)}; together they ask for no device twice."""
    return {
        "one": (gpus(0, core="100", ratio="100"), {}),
        "two": (gpus(2, 1, core="100", ratio="100"), {}),
        "half": (gpus(3, core="50", ratio="50", memory="8Gi"), ISOLATED),
        "other-half": (gpus(3, ratio="50", memory="8Gi"), ISOLATED),
        "whole-isolated": (gpus(4, core="100", ratio="100", memory="16Gi"), ISOLATED),
        "half-alone": (gpus(5, core="50", ratio="50", memory="8Gi"), {}),
        "card": (rdma(0), {}),
        "functions": (rdma((1, 0, 2)), {}),
        "card-and-functions": ({**rdma((1, 1), 2), **gpus(6, core="100", ratio="100")}, {}),
        "nothing": ({}, {}),
    }


def random_cases(seed):
    chance = random.Random(seed)
    minors, cards, functions = list(range(GPUS)), list(range(CARDS)), [*range(FUNCTIONS)]
    for each in (minors, cards):
        chance.shuffle(each)
    found = {}
    for number in range(RANDOM_PODS):
        allocated, labels = {}, {}
        if minors and chance.random() < 0.7:
            mine = [minors.pop() for _ in range(min(len(minors), chance.choice((1, 1, 2))))]
            ratio = chance.choice(("100", str(chance.randrange(1, 100))))
            memory = chance.choice(("4Gi", "1000Mi", "8000000000"))
            allocated.update(gpus(*mine, core=chance.choice((None, ratio)), ratio=ratio, memory=memory))
            labels = chance.choice(({}, ISOLATED))
        if cards and chance.random() < 0.6:
            card = cards.pop()
            allocated.update(rdma(chance.choice((card, (card, *chance.sample(functions, chance.randrange(1, FUNCTIONS + 1)))))))
        found[f"random-{number}"] = (allocated, labels)
    return found


def seen_by(node, pod):
    """Of its container's configuration what a plugin can have added; whose uid it is, is not told."""
    uid, status = pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]
    done = node.ctr("containers", "info", "--spec", status["containerID"].split("//")[1])
    assert done.returncode == 0, done.stderr
    spec = json.loads(done.stdout.replace(uid, "UID"))
    env = dict(one.split("=", 1) for one in spec["process"]["env"])
    mounts = {one["destination"]: (one["source"], one.get("type"), sorted(one.get("options", []))) for one in spec["mounts"]
              if "hami" in one["destination"] or one["destination"] == LOCK}
    order = [one["destination"] for one in spec["mounts"] if "hami" in one["destination"]]  # the folder before the library in it
    devices = [(one["path"], one["type"], one["major"], one["minor"], one.get("fileMode"), one.get("uid"), one.get("gid"))
               for one in spec["linux"].get("devices", [])]
    rights = sorted(json.dumps(one, sort_keys=True) for one in spec["linux"]["resources"].get("devices", []))
    return {"env": {name: value for name, value in env.items() if name.startswith(("NVIDIA", "CUDA", "LD_"))}, "mounts": mounts,
            "order": order, "devices": devices, "rights": rights}


def observe(node, name, host, library):
    flags = [f"-hami-core-library-directory-path={library}", f"-feature-gates={GATES}", "-runtime-hooks-nri-socket-path=nri.sock",
             "-xpu-device-infos-dir=" + os.path.join(host, "xpu")]
    if name == "original":
        agent = Original(node, free_port())
        agent.command = [word.replace(f"={node.dir}/var-run/", f"={node.dir}/") for word in agent.command]
        flags.pop()
    else:
        agent = Agent(node.janitor, os.path.join(node.dir, "agent"), free_port(), f"--kubeconfig={node.kubeconfig}",
                      f"--var-lib-kubelet-dir={node.kubelet_root}", f"--var-run-root-dir={node.dir}/", "--runtime-hooks-addr=",
                      "--node-topology-sync-interval=1s", env={"NODE_NAME": node.name})
    script = STAGE.format(dir=host, major=VERBS_MAJOR, verbs=" ".join(map(str, range(CARDS * (1 + FUNCTIONS)))))
    agent.command = ["unshare", "-m", "sh", "-c", script, "sh", *agent.command, *flags]
    seen = {}
    agent.start()
    try:
        wait_for("the runtime asks the agent", lambda: asked(node), 120)
        for annotated in (cases(), random_cases(SEED)):
            pods = [node.pod(one, "sleep 100000", "LS", labels=labels, annotations={ALLOCATED: json.dumps(allocated)} if allocated else {})
                    for one, (allocated, labels) in annotated.items()]
            node.apply(*pods)
            running = node.wait_running(*annotated, seconds=120)
            seen.update({one: seen_by(node, running[one]) for one in annotated})
            node.delete(*annotated)
            print(f"{name}: {len(annotated)} pods", flush=True)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{agent.log_tail()}") from None
    finally:
        agent.kill()
    return seen


def asked(node):
    """A pod that is made has what its annotation says."""
    asked.count = getattr(asked, "count", 0) + 1
    name = f"asks-{asked.count}"
    node.apply(node.pod(name, "sleep 100000", "LS", annotations={ALLOCATED: json.dumps(gpus(7))}))
    found = seen_by(node, node.wait_running(name)[name])
    node.delete(name)
    return found["env"].get("NVIDIA_VISIBLE_DEVICES") == "7"


def known(theirs, library):
    """The original's, with what COMPATIBILITY.md says that ours has in its place."""
    mounts = dict(theirs["mounts"])
    home = os.path.dirname(library)
    for place, more in ((library, ["ro"]), (home, ["nodev", "nosuid"])):
        if place in mounts:
            source, kind, options = mounts[place]
            mounts[place] = (source, kind, sorted([*options, *more]))
    return {**theirs, "mounts": mounts}


def main():
    reason = missing(containerd.CURRENT) or original_host.missing()
    if reason:
        skip(reason)
    if not os.access(ORIGINAL, os.X_OK):
        skip("no original koordlet to compare with: KOORDINATOR_BIN names the folder that has it")
    skip_without_role()
    with Unchanged(), AskingNode(containerd.CURRENT) as node:
        make_objects(node)
        os.makedirs(os.path.join(node.dir, "var-run"))
        host = os.path.join(node.dir, "host")
        library = make_host(host)
        # The original does not begin on a node without pods.
        node.apply(node.pod("first", "sleep 100000"))
        node.wait_running("first")
        if not os.path.isdir(LOCK):
            os.mkdir(LOCK)
            node.janitor.folder(LOCK)
        theirs, ours = (observe(node, name, host, library) for name in ("original", "ours"))
    wrong = []
    for name, found in theirs.items():
        wanted = known(found, library)
        for what in wanted:
            if ours[name][what] != wanted[what]:
                wrong.append(f"{name}: {what}: the original {wanted[what]}, ours {ours[name][what]}")
    print(*(f"{name}: {each}" for name, each in ours.items()), sep="\n")
    assert not wrong, "\n".join(["these differ:", *wrong])
    given = sum(bool(each["devices"]) for each in ours.values()), sum(bool(each["mounts"]) for each in ours.values())
    assert all(number >= 3 for number in given), f"too few had device files or mounts: {given}"
    print(f"comparison of {len(ours)} pods' devices with the original: passed; {given[0]} with device files, {given[1]} with mounts")


if __name__ == "__main__":
    main()
