#!/usr/bin/env python3
"""Packages of koord: see `packaging/dev package`. usage: package.py --koord=FILE --out=FOLDER [KIND...]"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import deb  # noqa: E402
import image  # noqa: E402
import layout  # noqa: E402
import rpm  # noqa: E402

KINDS = {"deb": deb.build, "image": image.build, "rpm": rpm.build}
NEEDS = {"rpm": rpm.missing}  # beyond what the build needs


MACHINES = {62: "amd64", 183: "arm64"}  # of an ELF file: e_machine


def architecture_of(program):
    with open(program, "rb") as file:
        start = file.read(20)
    machine = int.from_bytes(start[18:20], "little") if start.startswith(b"\x7fELF") else None
    if machine not in MACHINES:
        raise ValueError(f"{program} is no program for {' or '.join(MACHINES.values())}")
    return MACHINES[machine]


def default_version():
    return re.search(r"version: '([^']+)'", layout.text_of(layout.TREE, "meson.build")).group(1)


def default_epoch():
    """Of SOURCE_DATE_EPOCH, the tree's commit, or its build file: never of the clock."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    asked = subprocess.run(["git", "-C", layout.TREE, "log", "-1", "--format=%ct"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, check=False)
    return int(asked.stdout) if asked.returncode == 0 else int(os.path.getmtime(os.path.join(layout.TREE, "meson.build")))


def arguments(words):
    parser = argparse.ArgumentParser(prog="packaging/dev package", description="Packages of build/koord.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; those that this machine can make where none is named")
    parser.add_argument("--arch", choices=MACHINES.values(), help="what machines it is for, built as `packaging/dev build --arch` does; this one's")
    parser.add_argument("--koord", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--libraries", default="/", help=argparse.SUPPRESS)
    parser.add_argument("--emulator", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--out", default="build/packages", help="the folder that they are written to (build/packages)")
    parser.add_argument("--version", default=default_version(), help="the version of the package; the program's")
    given = parser.parse_args(words)
    if not re.fullmatch(r"[0-9][0-9A-Za-z.+~]*", given.version):
        parser.error(f"--version: \"{given.version}\" is no version of a package: digits first, then letters, digits, '.', '+', '~'")
    has = architecture_of(given.koord)
    if given.arch not in (None, has):
        parser.error(f"--arch: {given.koord} is a program for {has}")
    given.arch = has
    for kind in given.kinds:
        if kind not in KINDS:
            parser.error(f"no kind \"{kind}\": there is {', '.join(KINDS)}")
        if kind in NEEDS and NEEDS[kind]():
            parser.error(NEEDS[kind]())
    return given


def main(words):
    given = arguments(words)
    epoch = default_epoch()
    os.makedirs(given.out, exist_ok=True)
    os.umask(0o022)
    made = layout.Build(given.koord, given.arch, given.libraries, given.emulator)
    with tempfile.TemporaryDirectory(prefix="koord-package.") as folder:
        program = os.path.join(folder, "koord")
        subprocess.run(["llvm-strip-16", "-s", "-o", program, given.koord], check=True)
        for kind in given.kinds or [kind for kind in KINDS if not NEEDS.get(kind, lambda: None)()]:
            stage = layout.Stage(os.path.join(folder, kind), made, program, epoch)
            path = KINDS[kind](stage, given.version, given.out)
            print(f"package: {path}, {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
