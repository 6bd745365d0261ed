"""Measurements do not rot: the ones in C++ compile and run, a little; the ones in Python import what there is, the shell's
parse. usage: benches_test.py PROGRAM... (all that meson.build makes)"""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# What a program is run with, and its exit status; those that want a server or much time say how they are used.
SMALL = {
    "cel_bench": (["10"], 0),
    "claims_bench": (["10"], 0),
    "cpus_bench": (["10"], 0),
    "decode_bench": (["50"], 0),
    "decode_bench_rapidjson": (["50"], 0),
    "descheduler_bench": (["20", "2"], 0),
    "devices_bench": (["10"], 0),
    "empty_webhook": ([], 2),
    "flood": (["--help"], 1),
    "heap_bench": (["300", "3000"], 0),
    "json_bench": (["10"], 0),
    "koordlet_bench": (["--help"], 2),
    "later_writes_bench": (["--help"], 2),
    "manager_bench": (["20", "3"], 0),
    "migration_bench": (["30", "60"], 0),
    "packing_bench": ([], 2),
    "proxy_bench": ([], 2),
    "protection_batch": (["--kind=none"], 2),
    "protection_service": (["--units=100", "--rate=2000", "--phases=-settle:0.05,steady:0.1,bursts:0.1:3:20:50"], 0),
    "quotas_bench": (["50"], 0),
    "review_flood": ([], 2),
    "scheduler_bench": (["--nodes=10", "--pods=20", "--classes=3"], 0),
}
PROGRAMS = sys.argv[1:]


def scripts():
    """(path, first line) of everything here that is no C++ and no build file."""
    for name in sorted(os.listdir(HERE)):
        path = os.path.join(HERE, name)
        if os.path.isfile(path) and not name.endswith((".cpp", ".hpp", ".build", "_test.py")):
            with open(path, encoding="utf-8") as file:
                yield path, file.readline()


class Benches(unittest.TestCase):
    def test_programs_run(self):
        self.assertEqual(sorted(map(os.path.basename, PROGRAMS)), sorted(SMALL), "every measurement in C++ has a row above")
        for program in PROGRAMS:
            arguments, wanted = SMALL[os.path.basename(program)]
            with self.subTest(program):
                done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, wanted, done.stdout)

    def test_scripts_can_start(self):
        for path, first in scripts():
            with self.subTest(path):
                if first.startswith("#!/bin/sh"):
                    subprocess.run(["sh", "-n", path], check=True)
                    continue
                loader = importlib.machinery.SourceFileLoader("bench_" + os.path.basename(path).replace(".", "_"), path)
                module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
                loader.exec_module(module)  # what it imports; main() waits for __main__
                self.assertTrue(callable(module.main), path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
