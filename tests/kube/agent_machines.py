"""Random hosts for compare_agent_test.py, in one folder each: processors and memory nodes with huge pages, disks, network cards with functions,
files of accelerators, kidled's counts. What the original asks programs for (lscpu, lsblk, ...) they print from the same facts."""
import json
import os
import random
import shutil

import fake_node
import original_host
from fake_node import MI, write

KIDLED_ROWS = "csei dsei cfei dfei csui dsui cfui dfui csea dsea cfea dfea csua dsua cfua dfua slab".split()
KIDLED_HEAD = ("# version: 1.0\n# page_scans: 24\n# slab_scans: 0\n# scan_period_in_seconds: 120\n# use_hierarchy: 1\n"
               "# buckets: 1,2,5,15,30,60,120,240\n#\n#   _-----=> clean/dirty\n#  / _----=> swap/file\n# | / _---=> evict/unevict\n"
               "# || / _--=> inactive/active\n# ||| / _-=> slab\n# |||| /\n# |||||  [1,2)  [2,5)  [5,15)  [15,30)  [30,60)  [60,120)  [120,240)  [240,+inf)\n")
LIMITS = [*(f"blkio.throttle.{way}_{what}_device" for way in ("read", "write") for what in ("bps", "iops")), "blkio.cost.weight"]
DISKS = {"vda": 252, "vdb": 253, "sdc": 8}  # their majors


class Machine(fake_node.FakeRoot):
    """`seed`: all of it; two of one seed are alike."""

    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.nodes, self.cores, self.threads = self.random.choice((1, 2, 4)), self.random.choice((1, 2, 4)), self.random.choice((1, 2))
        self.CPUS = self.nodes * self.cores * self.threads
        self.pages, self.cards, self.gone = {}, [], set()
        super().__init__(folder)
        self.infos = os.path.join(folder, "infos")
        os.makedirs(self.infos)
        os.makedirs(os.path.join(folder, "host-var-lib"))
        os.makedirs(os.path.join(folder, "var/lib/terway"))
        for name, text in (("scan_period_in_seconds", "0"), ("use_hierarchy", "0")):
            write(os.path.join(folder, "sys/kernel/mm/kidled", name), text)
        write(os.path.join(self.proc, "cmdline"), "quiet\n")
        self.make_processors()
        self.make_memory()
        self.make_cards()
        self.make_disks()
        self.write_cold("")

    # -- processors and memory

    def place(self, cpu):
        """(node, core): threads of a core are as far apart as they can be."""
        core = cpu % (self.nodes * self.cores)
        return core // self.cores, core

    def make_processors(self):
        cores = self.nodes * self.cores
        table = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n"
        for cpu in range(self.CPUS):
            node, core = self.place(cpu)
            folder = os.path.join(self.folder, f"sys/devices/system/cpu/cpu{cpu}")
            siblings = ",".join(str(core + cores * thread) for thread in range(self.threads))
            write(os.path.join(folder, "topology/core_id"), f"{core % self.cores}\n")
            write(os.path.join(folder, "topology/physical_package_id"), f"{node}\n")
            write(os.path.join(folder, "topology/thread_siblings_list"), f"{siblings}\n")
            for level, shared in ((2, siblings), (3, self.cpus_of(node))):
                write(os.path.join(folder, f"cache/index{level}/level"), f"{level}\n")
                write(os.path.join(folder, f"cache/index{level}/shared_cpu_list"), f"{shared}\n")
            table += f"{cpu} {node} {node} {core} {core}:{core}:{core}:{node} yes\n"
        write(os.path.join(self.folder, "sys/devices/system/cpu/smt/active"), f"{int(self.threads > 1)}\n")
        self.print_by("lscpu", table)
        self.print_by("getconf", "100\n")

    def cpus_of(self, node):
        return ",".join(str(cpu) for cpu in range(self.CPUS) if self.place(cpu)[0] == node)

    def make_memory(self):
        below = os.path.join(self.folder, "sys/devices/system/node")
        write(os.path.join(below, "online"), f"0-{self.nodes - 1}\n" if self.nodes > 1 else "0\n")
        for node in range(self.nodes):
            total = 16384 * 1024 // self.nodes
            lines = {"MemTotal": total, "MemFree": total // 2, "MemUsed": total // 2, "Active(file)": 2048, "Inactive(file)": 1024,
                     "SReclaimable": 512}
            write(os.path.join(below, f"node{node}/meminfo"), "".join(f"Node {node} {name}:       {kib} kB\n" for name, kib in lines.items()))
            write(os.path.join(below, f"node{node}/cpulist"), self.cpus_of(node) + "\n")
            link = os.path.join(self.folder, "sys/bus/node/devices", f"node{node}")
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(f"../../../devices/system/node/node{node}", link)
        self.change_pages()

    def change_pages(self):
        """Huge pages, which node 0 has, of another number each time."""
        for node in range(self.nodes):
            for size in (2048, 1048576):
                count = self.random.choice((0, 1))
                if size == 2048:
                    count = self.random.randrange(1, 1000)
                self.pages[node, size] = count
                write(os.path.join(self.folder, f"sys/devices/system/node/node{node}/hugepages/hugepages-{size}kB/nr_hugepages"), f"{count}\n")

    def write_cold(self, group):
        """What kidled has found in a group's file pages; less than it uses."""
        rows = {name: [self.random.randrange(64) * 4096 for _ in range(8)] for name in KIDLED_ROWS}
        self.replace(os.path.join(self.cgroup, "memory", group, "memory.idle_page_stats"),
                     KIDLED_HEAD + "".join(f"  {name} {' '.join(map(str, row))}\n" for name, row in rows.items()))

    # -- groups

    def write_group(self, group):
        super().write_group(group)
        for name in LIMITS:
            write(os.path.join(self.cgroup, "blkio", group, name), "")
        self.write_cold(group)

    def limits(self, group):
        found = {}
        for name in LIMITS:
            with open(os.path.join(self.cgroup, "blkio", group, name), encoding="utf-8") as file:
                found[name] = file.read().split()
        return found

    # -- disks

    def make_disks(self):
        """Each with a partition; the last one's has the volumes of a group, which pods' volumes are."""
        disks, names, self.mounts = "", list(DISKS), []
        for name, major in DISKS.items():
            folder = os.path.join(self.folder, "sys/block", name)
            write(os.path.join(folder, "dev"), f"{major}:0\n")
            write(os.path.join(folder, f"{name}1/dev"), f"{major}:1\n")
            write(os.path.join(folder, f"{name}1/partition"), "1\n")
            disks += f'NAME="{name}" TYPE="disk" MAJ:MIN="{major}:0"\nNAME="{name}1" TYPE="part" MAJ:MIN="{major}:1"\n'
        for number in range(2):
            folder = os.path.join(self.folder, "sys/block", f"dm-{number}")
            write(os.path.join(folder, "dev"), f"254:{number}\n")
            write(os.path.join(folder, "dm/name"), f"pool--a-vol{number}\n")
            write(os.path.join(folder, "dm/uuid"), f"LVM-abc{number}\n")
            os.makedirs(os.path.join(folder, "slaves", f"{names[-1]}1"))
            disks += f'NAME="pool--a-vol{number}" TYPE="lvm" MAJ:MIN="254:{number}"\n'
        self.print_by("lsblk", disks)
        self.print_by("vgs", f"  pool-a 1 /dev/{names[-1]}1\n")
        self.print_by("lvs", "".join(f"  vol{number} pool-a\n" for number in range(2)))
        self.mount()

    def mount(self, uid=None, volume=None):
        """A logical volume in a pod."""
        if uid:
            self.mounts.append(f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~csi/{volume}/mount")
        table = "".join(f"{40 + i} 1 254:{i % 2} / {place} rw - ext4 /dev/mapper/pool--a-vol{i % 2} rw\n" for i, place in enumerate(self.mounts))
        write(os.path.join(self.folder, "proc/1/mountinfo"), f"22 1 252:1 / / rw - ext4 /dev/vda1 rw\n{table}")
        self.print_by("findmnt", 'TARGET="/" SOURCE="/dev/vda1"\n' + "".join(
            f'TARGET="{place}" SOURCE="/dev/mapper/pool--a-vol{i % 2}"\n' for i, place in enumerate(self.mounts)))

    # -- network cards

    def make_cards(self):
        """Of Mellanox, some with functions; others that know no RDMA; a disk's controller."""
        self.add_card("0000:00:1f.0", "8086", "0x010802", 0)
        self.add_card("0000:02:00.0", "8086", original_host.NET_CLASS, 0)
        functions = 0
        for number in range(self.random.randrange(1, 5)):
            bus = f"0000:{0x30 + number * 16:02x}:00.0"
            place = self.add_card(bus, "15b3", original_host.NET_CLASS, self.random.choice((-1, *range(self.nodes))))
            self.add_verbs(place, number, self.random.choice((1, 1, 2)))
            self.cards.append((bus, number))
            count = self.random.choice((0, 0, 2, 3))
            write(os.path.join(place, "sriov_totalvfs"), "8\n")
            write(os.path.join(place, "sriov_numvfs"), f"{count}\n")
            for function in range(count):
                own = f"{bus[:-4]}{function // 7 + 1:02x}.{function % 7}"
                below = self.add_card(own, "15b3", original_host.NET_CLASS, 0)
                self.add_verbs(below, 40 + functions, 1)
                functions += 1
                os.symlink(f"../{own}", os.path.join(place, f"virtfn{function}"))
                os.symlink(f"../{bus}", os.path.join(below, "physfn"))

    def add_card(self, bus, vendor, kind, node):
        return original_host.add_pci_card(self.folder, bus, vendor, "101d", kind, node)

    def add_verbs(self, place, number, ports):
        os.makedirs(os.path.join(place, f"infiniband/mlx5_{number}"))
        os.makedirs(os.path.join(place, f"infiniband_verbs/uverbs{number}"))
        for port in range(1, ports + 1):
            write(os.path.join(self.folder, f"sys/class/infiniband/mlx5_{number}/ports/{port}/state"), "4: ACTIVE\n")

    def change_cards(self):
        """A port's cable is drawn or put in; a card goes from the bus or comes back."""
        bus, number = self.random.choice(self.cards)
        state = os.path.join(self.folder, f"sys/class/infiniband/mlx5_{number}/ports/1/state")
        write(state, self.random.choice(("1: DOWN\n", "4: ACTIVE\n")))
        bus, number = self.random.choice(self.cards)
        link = os.path.join(self.folder, "sys/bus/pci/devices", bus)
        if os.path.islink(link):
            os.unlink(link)
        else:
            os.symlink(f"../../../devices/pci0000:3a/{bus}", link)

    # -- accelerators

    def change_accelerators(self, mark):
        """Files of one or two vendors; `mark` is the first device's id, by which it is known that somebody has read them."""
        shutil.rmtree(self.infos)
        os.makedirs(self.infos)
        minors = list(range(self.random.randrange(1, 9)))
        self.random.shuffle(minors)
        vendor = self.random.choice(("huawei", "cambricon", "kunlun", "metax"))
        devices = [self.accelerator(vendor, minor, f"{vendor}-{minor}") for minor in minors]
        devices[0]["uuid"] = mark
        cut = self.random.randrange(1, len(devices) + 1)
        for name, part in (("a", devices[:cut]), ("b", devices[cut:])):
            path = os.path.join(self.folder, f"{name}.new")
            write(path, json.dumps(part))
            os.chmod(path, 0o644)
            os.rename(path, os.path.join(self.infos, name))

    def accelerator(self, vendor, minor, uuid):
        chance = self.random
        memory = chance.choice(("24576Mi", "64Gi", "98304Mi", "34359738368"))
        device = {"vendor": vendor, "model": f"{vendor}-X{chance.choice((1, 2))}", "uuid": uuid, "minor": str(minor),
                  "resources": chance.choice(({"koordinator.sh/gpu-memory": memory, "koordinator.sh/gpu-core": "100"},
                                              {"gpu-memory": memory, "gpu-core": "100"},
                                              {"koordinator.sh/gpu-memory": memory, "huawei.com/npu-core": "20", "huawei.com/npu-dvpp": "100"}, {}))}
        if chance.random() < 0.8:
            links = [{"peerMinor": ",".join(str(other) for other in chance.sample(range(8), chance.choice((1, 1, 3)))), "type": kind}
                     for kind in chance.choice(([], ["HCCS"], ["NVLink", "HCCS"]))]
            device["topology"] = {"socketID": "-1", "nodeID": chance.choice(("", "0", "1", "3")), "pcieID": chance.choice(("", "pci0000:3a")),
                                  "busID": f"0000:{minor + 16:02x}:00.0", **({"p2pLinks": links} if links else {}),
                                  **({"mustHonorPartition": True} if chance.random() < 0.3 else {})}
        if chance.random() < 0.8:
            device["status"] = {"healthy": True} if chance.random() < 0.6 else {
                "healthy": False, **chance.choice(({}, {"errCode": "ECC_error"}, {"errMessage": "7 chip faults"},
                                                   {"errCode": "chip_error", "errMessage": "NPU index 1 has 1 chip faults"}))}
        return device

    # -- programs

    def print_by(self, name, text):
        """What a program of the host prints, whatever it is asked."""
        write(os.path.join(self.folder, "printed", name), text)
        path = os.path.join(self.folder, "bin", name)
        write(path, f"#!/bin/sh\nexec /bin/cat /printed/{name}\n")
        os.chmod(path, 0o755)


def memory_of(pod_number):
    """What a pod uses, more than anything that is cold."""
    return (256 + 64 * pod_number) * MI
