#!/usr/bin/env python3
"""Rules of the tree that no compiler knows: its top level, lengths of files, words that must not occur, a test for each
plugin, how many texts are joined with `+`, passages that stand in two modules, tables whose rows name tests, READMEs that
name files.

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
# In production: pages are not of 4 KiB everywhere.
PAGE_LITERAL = re.compile(r"[pP]age\w*\s*=\s*4'?096\b|[*/%]\s*4'?096\b|\b4'?096\s*[*/]")
# Koordinator's labels, annotations and resources are spelled in one place, with the structs that they carry. Texts for
# people (with a blank), versions of an API and the sandbox's own words are others'.
WIRE_WORDS = ("include/koord/api/koordinator/", "src/api/koordinator/")
WIRE_WORD = re.compile(r'"([^"\s]*(?:\bkoordinator\.sh/|\bkubernetes\.io/(?:(?:batch|mid)-|(?:gpu|rdma|fpga)\b)'
                       r'|\bpod-group\.scheduling\.sigs\.k8s\.io|\bhuawei\.com/npu-)[^"\s]*)"')
NO_WIRE_WORD = re.compile(r"/v\d+((alpha|beta)\d+)?$|\bsandbox\.koordinator\.sh/")
BUCKETS = re.compile(r"^(utils?|helpers?|common|misc)\.(hpp|cpp|h|py|sh)$")
# Folders that only exist on one machine.
LOCAL_PATH = re.compile(r"(^|[^A-Za-z0-9_.])/(home|Users)/[A-Za-z0-9_.-]+/")
# Files whose length is data, not code.
DATA = ("tests/golden/", "tests/fuzz/corpus/", "packaging/crds/", "LICENSE")
# A plugin's or strategy's folder.
PLUGIN = re.compile(r"^(?:roles|src)/([^/]+)/(?:plugins|strategies)/([^/]+)/")
# Texts are put together with fmt. The ceiling only ever sinks.
JOIN = re.compile(r'" \+ |\+ "')
PRODUCTION = ("include/", "src/", "roles/")
MOST_JOINS = 100
# Tables of which each row names the tests that hold it, and the folder that a path in it begins at.
TABLES = {"packaging/COMPATIBILITY.md": "", "packaging/docs/SPECIFICATION.md": "", "tests/FAULTS.md": "tests/"}
# A row is the other's double when so many of its first words are.
BEGINNING = 8
TEST_FILE = re.compile(r"[\w./-]+\.(?:cpp|py)\b")
# The same, or in quotes the name of a case in the file before it.
TEST_CASE = re.compile(rf'({TEST_FILE.pattern})|"([^"]+)"')
# What a README names in backticks: a file of code, of which it may say the end of the path, and what it links to. A word in
# capitals (NAME_test.cpp) stands for any.
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:hpp|cpp|bpf\.c|py|sh))`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANY_NAME = re.compile(r"[A-Z]{3,}")
# A sorted vector into which others' data goes one by one takes n * n: a set, or build and sort once.
PLACED = re.compile(r"\b(\w+)\s*=\s*[^;=]*\b(?:lower|upper)_bound\(")
INSERTED = re.compile(r"\.(?:insert|emplace)\(\s*(\w+)")
# No passage of so many lines stands in two modules, to the letter. Comments, includes and lone punctuation do not count.
PASSAGE = 5
THIN = re.compile(r"^\s*($|//|#|[\W_]+$|(inline )?namespace\b|using namespace\b)")


def untested_plugins(known):
    """Yields (path, line, reason) for each plugin without a test file of its own; `known` are the tree's paths."""
    wanted = {match.groups(): path for path in sorted(known, reverse=True) if (match := PLUGIN.match(path))}
    for (role, name), path in sorted(wanted.items()):
        if not any(other.startswith(f"tests/unit/{role}/") and other.endswith(f"/{name}_test.cpp") for other in known):
            yield path, 1, f"plugin '{name}' has no test: tests/unit/{role}/plugins/{name}_test.cpp"


def too_many_joins(texts, most):
    """Yields one violation when the production code among `texts` (path to text) has more than `most` lines of joins."""
    joins = [(path, number) for path, text in sorted(texts.items()) if path.startswith(PRODUCTION) and path.endswith(CXX)
             for number, line in enumerate(text.splitlines(), 1) if JOIN.search(line)]
    if len(joins) > most:
        path, number = joins[-1]
        yield path, number, f"{len(joins)} lines join texts with '+', the ceiling is {most}: use fmt::format"


def has_case(text, name):
    """Whether a test's text has a case of that name, or of one that begins or goes on like that."""
    return name in re.sub(r'"\s*\n\s*"', "", text) or name.replace(" ", "_") in text


def untrue_rows(texts, known, text_of=None):
    """Yields (path, line, reason) for each row of TABLES that begins as an earlier one, names no test, one that is not in
    `known` (the tree's paths), or a case that is not in `text_of(test)`."""
    for path, base in TABLES.items():
        first, header = {}, True  # how a row begins: its line; the row above `|---|` has names of columns
        for number, line in enumerate(texts.get(path, "").splitlines(), 1):
            if not line.startswith("|"):
                header = True
                continue
            if header or line.startswith("|---"):
                header = False
                continue
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            beginning = " ".join(cells[0].split()[:BEGINNING])
            if beginning in first:
                yield path, number, f"begins as line {first[beginning]} does: say each difference once"
            first.setdefault(beginning, number)
            tests = TEST_FILE.findall(cells[-1])
            if not tests:
                yield path, number, "names no test"
            test = None
            for file, case in TEST_CASE.findall(cells[-1]):
                test = base + file if file else test
                if file and test not in known:
                    yield path, number, f"'{test}' does not exist"
                elif case and text_of and test in known and not has_case(text_of(test), case):
                    yield path, number, f"'{test}' has no case \"{case}\""


def untrue_names(texts, known):
    """Yields (path, line, reason) for each file that a README of `texts` names and that is not in `known` (the tree's paths)."""
    ends = {"/".join(parts[at:]) for parts in (path.split("/") for path in known) for at in range(len(parts))}
    folders = {"/".join(parts[:at]) for parts in (path.split("/") for path in known) for at in range(1, len(parts))}
    for path, text in sorted(texts.items()):
        for number, line in enumerate(text.splitlines(), 1):
            for name in NAMED_FILE.findall(line):
                beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
                if not ANY_NAME.search(name) and name not in ends and beside not in known and not name.startswith("/"):
                    yield path, number, f"'{name}' does not exist"
            for name in LINK.findall(line):
                to = os.path.normpath(os.path.join(os.path.dirname(path), name))
                if ":" not in name and to not in known and to not in folders:
                    yield path, number, f"'{name}' leads nowhere"


def module_of(path):
    parts = path.removeprefix("include/koord/").removeprefix("src/").split("/")
    return "/".join(parts[:2]) if parts[0] == "roles" else parts[0]


def repeated_passages(texts):
    """Yields (path, line, reason) for each passage of the production code among `texts` (path to text) that an earlier file
    of another module has, too."""
    first = {}  # PASSAGE lines together: where they stand first
    for path in sorted(path for path in texts if path.startswith(PRODUCTION) and path.endswith(CXX)):
        lines = [(number, " ".join(line.split())) for number, line in enumerate(texts[path].splitlines(), 1)
                 if not THIN.match(line)]
        end = 0  # of the passage that was told last
        for at in range(len(lines) - PASSAGE + 1):
            other, line = first.setdefault(tuple(text for _, text in lines[at:at + PASSAGE]), (path, lines[at][0]))
            if module_of(other) == module_of(path):
                continue
            if at >= end:
                yield path, lines[at][0], f"a passage of {other}:{line} again: both are to use one"
            end = at + PASSAGE


def inserted_in_order(text):
    """Yields the lines on which something goes into a vector at a place that a search found."""
    places = set(PLACED.findall(text)) | {"lower_bound", "upper_bound"}
    for number, line in enumerate(text.splitlines(), 1):
        for name in INSERTED.findall(line.replace("std::", "").replace("ranges::", "")):
            if name in places:
                yield number


def wire_words(path, text):
    """Yields (line, word) for each of Koordinator's labels, annotations and resources that is spelled out of its place."""
    if not path.startswith(PRODUCTION) or path.startswith(WIRE_WORDS) or not path.endswith(CXX):
        return
    for number, line in enumerate(text.splitlines(), 1):
        for word in WIRE_WORD.findall(re.sub(r"(^|\s)//.*", "", line)):
            if not NO_WIRE_WORD.search(word):
                yield number, word


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
    if path.startswith(PRODUCTION) and path.endswith(CXX):
        for number in inserted_in_order(text):
            yield number, "insertion in order, n * n for n of them: a set, or build and sort once"
    for number, word in wire_words(path, text):
        yield number, f"'{word}' is spelled in koord/api/koordinator/ alone"
    lint_itself = path.startswith("tests/lint/")
    for number, line in enumerate(lines, 1):
        if path.endswith(CXX):
            for pattern, reason in FORBIDDEN_CODE:
                if pattern.search(line):
                    yield number, reason
        if path.endswith(CXX) and path.startswith(PRODUCTION) and PAGE_LITERAL.search(line.split("//")[0]):
            yield number, "a page of 4 KiB: ask host::page_size()"
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


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                            capture_output=True)
    return [path for path in listed.stdout.decode().split("\0") if path and os.path.exists(os.path.join(root, path))]


def read(root, path):
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def main():
    root = sys.argv[1]
    known = tracked(root)
    violations = [(path, line, reason) for path in sys.argv[2:] or known for line, reason in judge(path, read(root, path))]
    violations += untested_plugins(known)
    production = {path: read(root, path) for path in known if path.startswith(PRODUCTION)}
    violations += too_many_joins(production, MOST_JOINS)
    violations += untrue_rows({path: read(root, path) for path in TABLES}, set(known), lambda path: read(root, path))
    pages = (path for path in known if path.startswith("packaging/docs/") and path.endswith(".md") or os.path.basename(path) == "README.md")
    violations += untrue_names({path: read(root, path) for path in pages}, set(known))
    violations += repeated_passages(production)
    for path, line, reason in violations:
        print(f"{path}:{line}: {reason}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
