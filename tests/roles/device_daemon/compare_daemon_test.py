#!/usr/bin/env python3
"""The original device daemon and koord's, one after the other, on the same random hosts: the same vendors' tools (scripts that print tables),
the same sysfs, the same /dev. What either writes in its file must be equal, value by value, while cards fall sick, recover and go; of a host
whose cards koord knows no more of than the original, to the byte.

Then koord's in the place of one that was killed, and back: who reads the file meanwhile never finds it missing, torn or saying
something else.

usage: compare_daemon_test.py      KOORDINATOR_BIN names the folder with the original's koord-device-daemon
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
import original_host  # noqa: E402
import originals  # noqa: E402
from sandbox import KOORD  # noqa: E402

NAME = "koord-device-daemon"
SEEDS = [int(seed) for seed in os.environ.get("KOORD_COMPARE_DAEMON_SEEDS", "1 2 3 4 5 6 7 8 9 10 11 12").split()]
LOOKS = 4  # of each host
NPU_CPUS = {"910B": 0, "910B2": 6, "910B3": 7, "910B4": 7}  # of these the tool is not asked
# A line of columns a card: the bus, the memory in the nineteenth and the model in the twenty-second.
XPU_LINE = "{bus} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 {memory} 19 20 {model} 22\n"


class Cards:
    """Of one vendor: what its tool prints, by its arguments, as the cards are by now."""
    VENDOR, PRODUCT, TOOL = "", "", ""

    def __init__(self, rand, buses):
        self.random = rand
        self.memory = rand.choice((16384, 24576, 32768, 65536, 98304))
        self.model = rand.choice(self.MODELS)
        self.cards = [{"bus": bus, "node": rand.choice((-1, 0, 1, 3)), "faults": 0} for bus in buses]

    def change(self):
        """Cards fall sick and recover; now and then the last one goes."""
        for card in self.cards:
            card["faults"] = self.random.choice((0, 0, 0, 1, 7))
        if len(self.cards) > 1 and self.random.random() < 0.3:
            self.cards.pop()

    def listed(self):
        return enumerate(self.cards)


class Npus(Cards):
    VENDOR, PRODUCT, TOOL = "19e5", "d802", "npu-smi"
    MODELS = ("310P3", "910A", *NPU_CPUS)

    def says(self):
        of = {"info -m": "\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n" + "".join(
            f"\t{i}   0   {i}   Ascend {self.model}\n" for i, _ in self.listed()),
            "info -l": f"\tTotal Count                    : {len(self.cards)}\n\n" + "".join(
                f"\tNPU ID                         : {i}\n\tChip Count                     : 1\n\n" for i, _ in self.listed())}
        memory = f"\tDDR Capacity(MB)               : 0\n\tHBM Capacity(MB)               : {self.memory}\n"
        for i, card in self.listed():
            of[f"info -t board -i {i}"] = (f"\tNPU ID                         : {i}\n\tPCIe Bus Info                  : {card['bus']}\n"
                                           f"\tChip Fault                     : {card['faults']}\n")
            of[f"info -t topo -i {i}"] = "not support\n"
            if self.model != "310P3":
                of[f"info -t common -i {i}"] = "\tAicore Count                   : 20\n"
                of[f"info -t memory -i {i}"] = memory
            if self.model not in NPU_CPUS:
                of[f"info -t cpu-num-cfg -i {i}"] = "\tAI CPU number                  : 5\n\tcontrol CPU number             : 1\n"
        if self.model != "310P3":  # the original asks so, of card 1 for all
            of["-t memory -i 1"] = memory
        return of

    def devices(self):
        return [f"davinci{i}" for i, _ in self.listed()] + ["davinci_manager"]


class Mlus(Cards):
    VENDOR, PRODUCT, TOOL = "cabc", "0370", "cnmon"
    MODELS = ("MLU370-X8", "MLU290", "MLU590-H8")

    def says(self):
        usage = f"    Physical Memory Usage          :\n        Total                      : {self.memory} MiB\n        Used : 0 MiB\n"
        of = {"-l": "".join(f"Card {i}: {self.model}    (UUID: {self.uuid(i)})\n" for i, _ in self.listed()), "info": usage}
        for i, card in self.listed():
            domain, bus, rest = card["bus"].split(":")
            of[f"info -c {i}"] = (
                f"Card {i}\n    Product Name                   : {self.model}\n    UUID                           : {self.uuid(i)}\n"
                f"    Device                         : {'Heartbeat lost' if card['faults'] else 'Good'}\n"
                f"    NUMA node id                   : {max(card['node'], 0)}\n{usage}    PCI                            :\n"
                f"        Domain ID                      : {domain}\n        Bus num                        : {bus}\n"
                f"        Device                         : {rest[:2]}\n        Function                       : {rest[3:]}\n")
        return of

    def uuid(self, number):
        return f"5c4a{number:04}-0000-0000-0000-000000000000"


class Xpus(Cards):
    VENDOR, PRODUCT, TOOL = "1d22", "3684", "xpu_smi"
    MODELS = ("P800", "R300", "K200")

    def says(self):
        lines = [XPU_LINE.format(bus=card["bus"], memory=self.memory, model=self.model) for _, card in self.listed()]
        return {"-m": "".join(lines), **{f"-m -d /dev/xpu{i}": line for i, line in enumerate(lines)}}


class Mxs(Cards):
    VENDOR, PRODUCT, TOOL = "9999", "4000", "mx-smi"
    MODELS = ("MXC500", "MXN260")

    def says(self):
        def hardware(i, card):
            return (f"GPU#{i} MetaX {card['bus']}\nSGPU#{i} x 0000:ff:00.0\n    Model Name       : {self.model}\n"
                    f"    Memory Capacity  : {self.memory // 1024}GB\n")
        of = {"--show-hwinfo": "".join(hardware(i, card) for i, card in self.listed()),
              "--list": "".join(f"SGPU#{i} a b c (UUID: GPU-none)\nGPU#{i} MetaX {self.model} {card['bus']} (UUID: GPU-{i:04})\n"
                                for i, card in self.listed())}
        for i, card in self.listed():
            of[f"--show-hwinfo -i {i}"] = hardware(i, card)
            # The original keeps the last of these counts alone.
            of[f"--count-ecc -i {i}"] = (f"SRAM Correctable : 7\nSRAM Uncorrectable : 0\nDRAM Uncorrectable : 0\n"
                                         f"Double Bit ECC : {card['faults']}\n")
        return of


class Host:
    """Its root at /hostfs of a folder in which the original is started."""

    def __init__(self, seed, vendors=None):
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="koord-compare-daemon.")
        self.root = os.path.join(self.folder, "hostfs")
        original_host.add_busybox(self.folder, "sh", "chroot", "grep", "awk", "head", "wc")
        original_host.add_busybox(self.root, "sh", "cat")
        original_host.add_pci_names(self.folder)
        self.original = original_host.add_program(self.folder, originals.program(NAME))
        for path in ("sys/bus/pci/devices", "dev", "out", "out-koord"):
            os.makedirs(os.path.join(self.folder, path))
        kinds = vendors or [kind for kind in (Npus, Mlus, Xpus, Mxs) if self.random.random() < 0.5]
        numbers = self.random.sample(range(16, 100), 40)  # of buses, without letters, which one of the tables has no room for
        self.kinds = [kind(self.random, [f"0000:{numbers.pop()}:00.{self.random.randrange(8)}" for _ in range(self.random.randrange(1, 9))])
                      for kind in kinds]
        for cards in self.kinds:
            for card in cards.cards:
                original_host.add_pci_card(self.folder, card["bus"], cards.VENDOR, cards.PRODUCT, original_host.ACCELERATOR, card["node"],
                                           self.random.choice(("pci0000:3a", "pci0000:d7")))
        original_host.add_pci_card(self.folder, "0000:00:1f.0", "8086", "a1c1", "0x060100", 0)
        original_host.add_pci_card(self.folder, "0000:01:00.0", "19e5", "1711", "0x030000", 0)

    def show(self):
        shutil.rmtree(os.path.join(self.root, "dev"), ignore_errors=True)
        for cards in self.kinds:
            lines = [f'"{arguments}") cat <<"END"\n{text}END\n;;' for arguments, text in cards.says().items()]
            path = os.path.join(self.root, "usr/local/bin", cards.TOOL)
            original_host.write(path, "\n".join(['#!/bin/sh', 'case "$*" in', *lines, "*) echo Command or option is not found; exit 1;;", "esac", ""]))
            os.chmod(path, 0o755)
        for place in (self.folder, self.root):
            shutil.rmtree(os.path.join(place, "dev"), ignore_errors=True)
            for name in ["null", *(name for cards in self.kinds if isinstance(cards, Npus) for name in cards.devices())]:
                original_host.write(os.path.join(place, "dev", name), "")

    def ask(self, name, *words):
        path = os.path.join(self.folder, name, "ic-device")
        done = subprocess.run([*words, "--oneshot"], capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "agent_mode": "hostMode"})
        if done.returncode or not os.path.exists(path):
            raise AssertionError(f"{words}: {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        os.unlink(path)
        return text

    def theirs(self):
        return self.ask("out", "chroot", self.folder, self.original, "--prints-output-file=/out/ic-device")

    def ours(self):
        return self.ask("out-koord", KOORD, "--role=device-daemon", f"--host-root={self.root}", f"--sys-root-dir={self.folder}/sys",
                        f"--prints-output-file={self.folder}/out-koord/ic-device")

    def serve(self, path):
        """koord's as it is deployed: it goes on."""
        return subprocess.Popen([KOORD, "--role=device-daemon", f"--host-root={self.root}", f"--sys-root-dir={self.folder}/sys",
                                 f"--prints-output-file={path}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def by_card(text):
    """Vendors come in any order."""
    return {(each["vendor"], each["minor"]): each for each in json.loads(text)}


class Compare(unittest.TestCase):
    maxDiff = None

    def test_the_same_file(self):
        seen = {"cards": 0, "sick": 0, "bytes": 0}
        for seed in SEEDS:
            host = Host(seed)
            self.addCleanup(shutil.rmtree, host.folder)
            for look in range(LOOKS):
                with self.subTest(seed=seed, look=look, vendors=[cards.TOOL for cards in host.kinds]):
                    host.show()
                    self.compare(host.theirs(), host.ours(), seen)
                for cards in host.kinds:
                    cards.change()
        print(f"compared: {seen}")
        self.assertTrue(all(seen.values()), f"nothing was compared of one of {seen}")

    def test_in_the_others_place(self):
        host = Host(1, [Mxs])
        self.addCleanup(shutil.rmtree, host.folder)
        host.show()
        theirs = host.theirs()
        path = os.path.join(host.folder, "out", "ic-device")
        original_host.write(path, theirs)
        os.utime(path, (1, 1))  # the original was killed and has left it; the new one writes at once
        daemon, read = host.serve(path), set()
        try:
            deadline = time.monotonic() + 60
            while os.stat(path).st_mtime == 1 and time.monotonic() < deadline:
                read.add(pathlib.Path(path).read_text(encoding="utf-8"))
            self.assertNotEqual(os.stat(path).st_mtime, 1, "koord's daemon has written nothing")
            read.add(pathlib.Path(path).read_text(encoding="utf-8"))
        finally:
            daemon.terminate()
            self.assertEqual(daemon.wait(30), 0)
        self.assertEqual(read, {theirs})
        self.assertFalse(os.path.exists(path), "either takes its file along when it is told to end")
        self.assertEqual(host.theirs(), theirs)

    def compare(self, theirs, ours, seen):
        original, koord = by_card(theirs), by_card(ours)
        for key, card in koord.items():
            if card["vendor"] == "cambricon":  # the original does not say where on the board one is: a line of COMPATIBILITY.md
                self.assertNotIn("pcieID", original[key]["topology"])
                self.assertTrue(card["topology"].pop("pcieID"))
        self.assertEqual(original, koord)
        seen["cards"] += len(koord)
        seen["sick"] += sum(not card["status"]["healthy"] for card in koord.values())
        if len({vendor for vendor, _ in koord}) < 2 and not any(vendor == "cambricon" for vendor, _ in koord):
            self.assertEqual(theirs, ours)
            seen["bytes"] += 1


if __name__ == "__main__":
    if lacks := originals.missing(NAME) or original_host.missing():
        print(f"skipped: {lacks}")
        sys.exit(77)
    unittest.main(verbosity=2, warnings="ignore")
