#!/usr/bin/env python3
"""NVML's helper by itself, with a driver's library of the tests: it loads, answers each line that it reads, and ends with its input.
usage: nvml_program_test.py PROGRAM LIBRARY [EMULATOR...]"""
import os
import shutil
import subprocess
import sys
import tempfile

CARD = "0 GPU-a 00000000:3B:00.0 85899345920 0 NVIDIA A100-SXM4-80GB\n"
SAID = "card\t0\t0\tGPU-a\t00000000:3B:00.0\t85899345920\t0\tNVIDIA A100-SXM4-80GB"


def main(program, library, *emulator):
    with tempfile.TemporaryDirectory(prefix="koord-nvml.") as folder:
        own = shutil.copy(library, os.path.join(folder, "nvml.so"))
        with open(own + ".say", "w", encoding="ascii") as file:
            file.write(CARD)
        helper = subprocess.Popen([*emulator, program, own], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        try:
            for _ in range(2):
                helper.stdin.write("\n")
                lines = []
                while not lines or lines[-1] != "end":
                    line = helper.stdout.readline()
                    assert line, f"it ended: {lines}"
                    lines.append(line.rstrip("\n"))
                assert SAID in lines and lines[0].startswith("driver\t"), lines
            rest, _ = helper.communicate(timeout=60)
            assert rest == "" and helper.returncode == 0, (rest, helper.returncode)
        finally:
            helper.kill()
            helper.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
