"""Random clusters and probe pods that touch every rule about volumes; the same ones for the same seed.

Probes bring claims of their own: each scheduler's twin gets claims of the same spec under its own name.
"""
import random

from schedulers import node, pod
from volumes import HOSTNAME, LOCAL, NOW, WAIT, ZONES, claim, csi_node, storage_class, volume

from provisioner import ZONE

NODES, PLACED = 8, 16
WAIT_ALLOWED, NEVER, STATIC = "volumes-wait-allowed", "volumes-never", "volumes-static"
RESTRICTED_DISKS = [
    {"gcePersistentDisk": {"pdName": "disk-1"}},
    {"awsElasticBlockStore": {"volumeID": "disk-2"}},
    {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:disk", "lun": 0}},
    {"rbd": {"monitors": ["10.0.0.2:6789"], "image": "disk-4", "pool": "rbd"}},
]


class VolumeCluster:
    def __init__(self, seed, namespace):
        self.random, self.namespace = random.Random(seed), namespace
        self.nodes = [node(f"node-{seed}-{index}", self.random.choice(["2", "8"]), "16Gi", 110,
                           {"disk": self.random.choice(["ssd", "hdd"]),
                            **({ZONE: self.random.choice(ZONES)} if self.chance(0.9) else {})})
                      for index in range(NODES)]
        self.names = [item["metadata"]["name"] for item in self.nodes]
        self.bound = [f"bound-{index}" for index in range(8)]
        self.zoned = [f"zoned-{index}" for index in range(4)]
        self.single = "single"  # a claim for one pod alone, which a placed pod uses

    def chance(self, probability):
        return self.random.random() < probability

    def classes(self):
        return [storage_class(NOW), storage_class(WAIT, waits=True),
                storage_class(WAIT_ALLOWED, waits=True, zones=ZONES[:2]),
                storage_class(LOCAL, "kubernetes.io/no-provisioner", waits=True),
                storage_class(STATIC, "kubernetes.io/no-provisioner"), storage_class(NEVER, "nobody.tests.koord")]

    def csi_nodes(self):
        return [csi_node(name, self.random.choice([1, 2, 3])) for name in self.names if self.chance(0.7)]

    def free_volumes(self):
        """Of the class that waits: what a scheduler may choose from."""
        choose = self.random.choice
        found = []
        for index in range(10):
            place = {HOSTNAME: choose(self.names)} if self.chance(0.6) else {ZONE: choose(ZONES)}
            modes = ["ReadWriteOnce"] if self.chance(0.7) else ["ReadWriteOnce", "ReadWriteMany"]
            found.append(volume(f"free-{index}", LOCAL, place, choose(["1Gi", "3Gi", "5Gi"]),
                                {"tier": choose(["fast", "slow"])}, modes))
        return found

    def zoned_volumes(self):
        """Volumes that say their zones in labels, as those of old do, for claims by name."""
        found = []
        for index, name in enumerate(self.zoned):
            item = volume(f"zoned-{index}", STATIC, labels={ZONE: self.random.choice(["a", "b", "b__c"])})
            item["spec"]["claimRef"] = {"namespace": self.namespace, "name": name}
            found.append(item)
        return found

    def claims(self):
        return ([claim(name, self.namespace, NOW) for name in self.bound]
                + [claim(name, self.namespace, STATIC) for name in self.zoned]
                + [claim(self.single, self.namespace, NOW, modes=["ReadWriteOncePod"]),
                   claim("never", self.namespace, NEVER), claim("going", self.namespace, NOW)])

    def disks(self):
        return self.random.choices(RESTRICTED_DISKS, [5, 1, 1, 1])[0]  # one is nearly everywhere

    def placed(self):
        """One pod with the single claim, others with bound claims and disks."""
        found = []
        for index in range(PLACED):
            volumes = []
            if index == 0:
                volumes = [self.claimed(self.single)]
            elif self.chance(0.7):
                volumes = [self.claimed(name) for name in self.random.sample(self.bound, self.random.choice([1, 2]))]
            if self.chance(0.8):
                volumes.append({"name": "disk", **self.disks()})
            found.append(pod(f"placed-{index}", "nobody", self.namespace, nodeName=self.random.choice(self.names),
                             volumes=volumes))
        return found

    @staticmethod
    def claimed(name):
        return {"name": name, "persistentVolumeClaim": {"claimName": name}}

    def own(self):
        """The spec of a claim that a probe brings along."""
        choose = self.random.choice
        more = {}
        name = choose([WAIT, WAIT, WAIT_ALLOWED, LOCAL, LOCAL, LOCAL, LOCAL])
        if name == LOCAL and self.chance(0.3):
            more["selector"] = {"matchLabels": {"tier": choose(["fast", "slow"])}}
        modes = ["ReadWriteMany"] if self.chance(0.2) else ["ReadWriteOnce"]
        return claim("", self.namespace, name, choose(["1Gi", "2Gi", "4Gi", "9Gi" if name == LOCAL else "1Gi"]), modes,
                     **more)["spec"]

    def probe(self, name, scheduler):
        """The pod, and the specs of its own claims: the volume `own-N` of the pod is the Nth one's."""
        choose = self.random.choice
        volumes, own = [], []
        for _ in range(choose([1, 1, 2])):
            kind = choose(["own", "own", "own", "bound", "bound", "zoned", "zoned", "disk", "disk", "single", "odd"])
            if kind == "own":
                volumes.append({"name": f"own-{len(own)}", "persistentVolumeClaim": {"claimName": ""}})
                own.append(self.own())
            elif kind in ("bound", "zoned"):
                volumes.append(self.claimed(choose(self.bound if kind == "bound" else self.zoned)))
            elif kind == "disk":
                volumes.append({"name": "disk", **self.disks()})
            elif kind == "single":
                volumes.append(self.claimed(self.single))
            elif self.chance(0.4):
                volumes.append(self.claimed(choose(["never", "going", "missing"])))
        volumes = list({each["name"]: each for each in volumes}.values())
        spec = {"volumes": volumes}
        if self.chance(0.3):
            spec["nodeSelector"] = {"disk": choose(["ssd", "hdd"])}
        if self.chance(0.2):
            spec["nodeSelector"] = {ZONE: choose(ZONES)}
        return pod(name, scheduler, self.namespace, choose(["100m", "1"]), **spec), own
