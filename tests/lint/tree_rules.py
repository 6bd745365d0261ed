#!/usr/bin/env python3
"""Rules of the tree that no compiler knows: its top level, lengths of files, words that must not occur.

usage: tree_rules.py ROOT [FILE...]; without files, all that git tracks. Prints one line a violation, exits 1.
"""
import os
import re
import subprocess
import sys

TOP_LEVEL = {"meson.build", "src", "include", "proto", "roles", "packaging", "tests", "LICENSE", "README.md"}
LONGEST = 600
CODE = (".hpp", ".cpp", ".h", ".c", ".py", ".sh", ".build", ".bpf.c")
CXX = (".hpp", ".cpp", ".h")

# In C++: what hides an error or makes a test depend on luck.
FORBIDDEN_CODE = [
    (re.compile(r"\basio::detached\b|[,(]\s*detached\b"), "a detached coroutine: use a TaskGroup"),
    (re.compile(r"\bsleep_for\b|\bsleep_until\(std::chrono|\busleep\b|\bnanosleep\b"), "sleeps: wait on the Clock"),
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "an unfinished thought: finish it or drop it"),
]
BUCKETS = re.compile(r"^(utils?|helpers?|common|misc)\.(hpp|cpp|h|py|sh)$")
# Folders that only exist on one machine.
LOCAL_PATH = re.compile(r"(^|[^A-Za-z0-9_.])/(home|Users)/[A-Za-z0-9_.-]+/")
# Files whose length is data, not code.
DATA = ("tests/golden/", "tests/roots/", "tests/fuzz/corpus/", "packaging/crds/", "LICENSE")


def judge(path, text):
    """Yields (line, reason)."""
    top = path.split("/")[0]
    if top not in TOP_LEVEL and not top.startswith("."):
        yield 1, f"'{top}' is no entry of the tree's top level"
    if BUCKETS.match(os.path.basename(path)):
        yield 1, "a bucket of a file: name it after its subject"
    if path.startswith(DATA):
        return
    lines = text.splitlines()
    if path.endswith(CODE) and len(lines) > LONGEST:
        yield LONGEST + 1, f"{len(lines)} lines, the ceiling is {LONGEST}"
    lint_itself = path.startswith("tests/lint/")
    for number, line in enumerate(lines, 1):
        if path.endswith(CXX):
            for pattern, reason in FORBIDDEN_CODE:
                if pattern.search(line):
                    yield number, reason
        if not lint_itself and LOCAL_PATH.search(line):
            yield number, "a path of one machine"
        if path.endswith(CODE) and line != line.rstrip():
            yield number, "blanks at the end of the line"
    stem = os.path.splitext(os.path.basename(path))[0]
    own_header = re.compile(r'#include "(.*/)?' + re.escape(stem.removesuffix("_test")) + r'\.hpp"')  # its comment speaks for both
    if path.endswith(CXX) and lines and not lines[0].startswith(("//", "/*")) and not own_header.match(lines[0]):
        yield 1, "does not begin with a comment that says what it is"
    if path.endswith((".hpp", ".h")) and "#pragma once" not in text and not path.endswith(".bpf.h"):
        yield 1, "no #pragma once"


def main():
    root, paths = sys.argv[1], sys.argv[2:]
    if not paths:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True)
        paths = [path for path in listed.stdout.decode().split("\0") if path]
    failed = False
    for path in paths:
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError):
            text = ""
        for line, reason in judge(path, text):
            print(f"{path}:{line}: {reason}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
