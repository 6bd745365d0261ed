#!/usr/bin/env python3
"""The include graph of the tree: dependencies point one way.

    base <- async <- json <- net <- api <- {kube, host} <- runtime <- {roles, sandbox} <- app <- main

usage: include_graph.py ROOT. Prints one line a violation, `file:line: reason`, and exits 1 if there is one.
"""
import os
import re
import sys

# What a module may include from: itself and those of a lower rank. Two of one rank don't see each other.
RANK = {"base": 0, "async": 1, "json": 2, "net": 3, "api": 4, "kube": 5, "host": 5, "runtime": 6, "roles": 7, "sandbox": 7,
        "app": 8}

# Heavy or replaceable libraries: the seams must not make every includer pay for them or depend on them.
FORBIDDEN_IN_SEAMS = re.compile(
    r"^(boost/beast|grpc|google/protobuf|rapidjson|yaml-cpp|ares|openssl|boost/asio/ssl|CLI/|spdlog)"
    r"|\.pb\.h$")
# Asio's umbrella costs seconds in each file but the one that is parsed once.
UMBRELLA = re.compile(r"^boost/(asio|beast)\.hpp$")

# The scheduler's oracle must share no mistake with the engine that it judges.
ORACLE = "tests/support/reference/"
OF_THE_ORACLE = (ORACLE.removeprefix("tests/"), "koord/api/", "koord/base/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCE = (".hpp", ".cpp", ".h", ".cc")


def module_of(path):
    """The module that a file of the tree belongs to, or None for those that the rule does not bind."""
    parts = path.split("/")
    if parts[:2] == ["include", "koord"] and len(parts) > 3:
        return parts[2]
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else "main"
    if parts[0] == "roles":
        return "roles"
    return None


def resolve(path, name, known):
    """The file of the tree that `#include "name"` in `path` means, or None for a library's."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name)).replace(os.sep, "/")
    for candidate in (beside, "include/" + name, "src/" + name, name):
        if candidate in known:
            return candidate
    # Found through an include path of the build: a private header all the same.
    for candidate in sorted(known):
        if candidate.startswith("src/") and candidate.endswith("/" + name):
            return candidate
    # A header that is generated or missing: the name says what it claims to be.
    return "include/" + name if name.startswith("koord/") else None


def judge(path, name, quoted, known):
    """Why this include is wrong, or None."""
    if path.startswith(ORACLE):
        ours = quoted or name.startswith("koord/")
        return f"includes {name}: the oracle has koord/api alone" if ours and not name.startswith(OF_THE_ORACLE) else None
    module = module_of(path)
    if module is None:
        return None
    if path.startswith("include/") and FORBIDDEN_IN_SEAMS.search(name):
        return f"a seam includes {name}: keep it in src/"
    if UMBRELLA.match(name) and path != "src/precompiled.hpp":
        return f"includes the umbrella {name}: include what is used"
    target = resolve(path, name, known) if quoted or name.startswith("koord/") else None
    if target is None:
        return None
    to = module_of(target)
    if to == "main":
        return f"includes {target}: nothing may"
    if to is not None and to not in RANK:
        return f"includes {target}: module '{to}' has no place in the order of modules"
    if target.startswith("roles/"):
        if module in ("app", "main") or (module == "roles" and path.split("/")[1] == target.split("/")[1]):
            return None
        return f"includes {target}: only app and the role itself may"
    if to is None:
        return f"includes {target}: no module of the tree"
    if module == "main":
        return None if to == "app" else f"includes {target}: main is one call into app"
    if to != module and RANK[to] >= RANK[module]:
        return f"includes {target}: {module} may not depend on {to}"
    if target.startswith("src/") and to != module and module != "app":
        return f"includes {target}: a private header of {to}"
    if target.startswith("src/") and path.startswith("include/"):
        return f"includes {target}: a seam may not include a private header"
    return None


def check(files):
    """files: {path: text}. Yields `path:line: reason`."""
    known = set(files)
    for path in sorted(files):
        module = module_of(path)
        if module is not None and module != "main" and module not in RANK:
            yield f"{path}:1: module '{module}' has no place in the order of modules"
            continue
        for number, line in enumerate(files[path].splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                reason = judge(path, match.group(2), match.group(1) == '"', known)
                if reason:
                    yield f"{path}:{number}: {reason}"


def read_tree(root):
    files = {}
    for top in ("include", "src", "roles", ORACLE):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith(SOURCE):
                    full = os.path.join(folder, name)
                    with open(full, encoding="utf-8") as file:
                        files[os.path.relpath(full, root).replace(os.sep, "/")] = file.read()
    return files


def main():
    found = list(check(read_tree(sys.argv[1])))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
