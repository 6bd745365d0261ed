#!/usr/bin/env python3
"""The include graph of the tree: dependencies point one way.

    base <- async <- json <- net <- api <- {cel, kube, host} <- runtime <- {rpc, scheduling} <- view <- {roles, sandbox} <- app <- main

Inside a module (of the roles each is one) the folders are its rooms, those of include/ and src/ counted together: no
include leads from a room back into it (a folder that holds others is a room of its own), a plugin includes no other
plugin, and a folder holds at most 30 files.

usage: include_graph.py ROOT. Prints each violation as `file:line: reason`, a knot of rooms with one line more for each
of its includes, and exits 1 if there is one.
"""
import collections
import os
import re
import sys

# What a module may include from: itself and those of a lower rank. Two of one rank don't see each other.
RANK = {"base": 0, "async": 1, "json": 2, "net": 3, "api": 4, "cel": 5, "kube": 5, "host": 5, "runtime": 6, "rpc": 7,
        "scheduling": 7, "view": 8, "roles": 9, "sandbox": 9, "app": 10}

# Heavy or replaceable libraries: the seams must not make every includer pay for them or depend on them.
FORBIDDEN_IN_SEAMS = re.compile(
    r"^(boost/beast|grpc|google/protobuf|rapidjson|yaml-cpp|ares|openssl|boost/asio/ssl|CLI/|spdlog)"
    r"|\.pb\.h$")
# Where a library's headers are included, tests not excepted: everybody else goes through what is made of it there. Who else
# may is named with his reason.
LIBRARY_HOMES = {
    "boost/beast/": ("src/net/",),
    "rapidjson/": ("src/json/",
                   "tests/bench/"),  # measures it beside our reader and writer
    "yaml-cpp/": ("src/json/",
                  "src/kube/config.cpp"),  # a kubeconfig's errors name lines, which a document does not keep
    "ares.h": ("src/async/",),
    "re2/": ("src/cel/library/",),
    "google/protobuf/": ("src/sandbox/protobuf/", "src/rpc/"),
    "grpc": ("src/rpc/",
             "tests/unit/rpc/",  # streams by another interface of gRPC's than the one that is tested
             "tests/bench/"),  # measures it beside ours
    "bpf/": ("src/host/bpf/",
             "tests/node/"),  # loads programs as the collectors do, and looks into their maps
}
# Asio's umbrella costs seconds in each file but the one that is parsed once.
UMBRELLA = re.compile(r"^boost/(asio|beast)\.hpp$")
# Parsed ahead of files (meson.build): they belong to the build, not to a module, and only one another includes them.
PRECOMPILED = re.compile(r"(^|[/_])precompiled\.hpp$")

# The scheduler's oracle must share no mistake with the engine that it judges.
ORACLE = "tests/support/reference/"
OF_THE_ORACLE = (ORACLE.removeprefix("tests/"), "koord/api/", "koord/base/", "koord/cel/")

# What a folder of sources may hold, its build file and README not counted: beyond that it wants rooms.
MOST_FILES = 30
NOT_COUNTED = ("meson.build", "README.md")

# What stood when the rules of rooms came. Rows are only taken out: one that no longer holds fails.
# Knots: the module, and the rooms of which each reaches each ('.' is the module's own folder).
KNOTS = []
# Plugins that include another: the module, who includes, and whom.
PLUGIN_PAIRS = [
    ("roles/koordlet", "cpu_blame", "cpu_suppress"),
]
# Folders below plugins/ that are no plugin but what several share, and why they lie there.
SHARED_BY_PLUGINS = {
    ("roles/koordlet", "evict"): "thresholds and victims of cpu_evict and memory_evict",
}
# Folders of more files than a room should hold, and how many they may hold.
CROWDED = {}

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
    folder = os.path.dirname(path)
    beside = os.path.normpath(os.path.join(folder, name)).replace(os.sep, "/")
    for candidate in (beside, "include/" + name, "src/" + name, name):
        if candidate in known:
            return candidate
    # A role's and a module's own folder are include paths of their build.
    while folder:
        if folder + "/" + name in known:
            return folder + "/" + name
        folder = os.path.dirname(folder)
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
        return f"includes {name}: the oracle has koord/api and koord/cel alone" if ours and not name.startswith(OF_THE_ORACLE) else None
    module = module_of(path)
    if path.startswith("include/") and FORBIDDEN_IN_SEAMS.search(name):
        return f"a seam includes {name}: keep it in src/"
    for library, homes in LIBRARY_HOMES.items():
        if not quoted and name.startswith(library) and not path.startswith(homes):
            return f"includes {name}: it is at home in {homes[0]} alone"
    if PRECOMPILED.search(path):
        return None
    if PRECOMPILED.search(name):
        return f"includes {name}: it is the build's: include what is used"
    if module is None:
        return None
    if UMBRELLA.match(name):
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


def room_of(path):
    """(module, room) of a file: in include/ and src/ the same room; None for what is in no module."""
    parts = path.split("/")
    module = module_of(path)
    if module in (None, "main"):
        return None
    first = 3 if parts[0] == "include" else 2
    if len(parts) <= first:
        return None
    return ("roles/" + parts[1] if module == "roles" else module), "/".join(parts[first:-1]) or "."


def plugin_of(path):
    """(module, plugin) of a file below a folder plugins/, or None."""
    place = room_of(path)
    parts = place[1].split("/") if place else []
    return (place[0], parts[1]) if len(parts) > 1 and parts[0] == "plugins" else None


def includes(files):
    """Every include of a file of the tree: yields (path, line, path of what is included)."""
    known = set(files)
    for path in sorted(files):
        for number, line in enumerate(files[path].splitlines(), 1):
            match = INCLUDE.match(line)
            if match and (match.group(1) == '"' or match.group(2).startswith("koord/")):
                target = resolve(path, match.group(2), known)
                if target in known:
                    yield path, number, target


def knotted(edges):
    """edges: {room: rooms that it includes}. The knots: sets of two rooms or more of which each reaches each."""
    reached = {}
    for room in edges:
        reached[room], ahead = set(), [room]
        while ahead:
            for other in edges.get(ahead.pop(), ()):
                if other not in reached[room]:
                    reached[room].add(other)
                    ahead.append(other)
    knots = {frozenset(other for other in reached[room] if room in reached.get(other, ())) for room in edges}
    return sorted((knot for knot in knots if knot), key=sorted)


def way_round(knot, edges):
    """A shortest way from a room of the knot back into it, as a list of rooms whose last is its first."""
    best = None
    for start in sorted(knot):
        ways, seen = collections.deque([[start]]), set()
        while ways and (best is None or len(ways[0]) + 1 < len(best)):
            way = ways.popleft()
            for other in sorted(edges.get(way[-1], ())):
                if other == start:
                    best = way + [start]
                    ways.clear()
                    break
                if other not in seen:
                    seen.add(other)
                    ways.append(way + [other])
    return best


def check_rooms(files, knots=(), pairs=(), shared=()):
    """Knots of rooms, and plugins that include another; but for the rows of the three tables, which must still hold."""
    lines = collections.defaultdict(lambda: collections.defaultdict(list))  # module: {(room, room): include lines}
    for path, number, target in includes(files):
        place, other = room_of(path), room_of(target)
        if place and other and place[0] == other[0] and place[1] != other[1]:
            lines[place[0]][place[1], other[1]].append((path, number, target))
    standing = set()
    for module in sorted(lines):
        edges = collections.defaultdict(set)
        for room, other in lines[module]:
            edges[room].add(other)
        for knot in knotted(edges):
            if (module, knot) in {(name, frozenset(rooms)) for name, rooms in knots}:
                standing.add((module, knot))
                continue
            way = way_round(knot, edges)
            ways = list(zip(way, way[1:]))
            path, number, _ = lines[module][ways[0]][0]
            yield (f"{path}:{number}: rooms of {module} form a knot: {' -> '.join(way)}"
                   + (f" (of {len(knot)} rooms: {', '.join(sorted(knot))})" if len(knot) + 1 > len(way) else ""))
            for room, other in ways:
                path, number, target = lines[module][room, other][0]
                more = len(lines[module][room, other]) - 1
                yield f"    {room} -> {other}: {path}:{number} includes {target}" + (f", and {more} more" if more else "")
    for module, rooms in knots:
        if (module, frozenset(rooms)) not in standing:
            yield f"tests/lint/include_graph.py:1: KNOTS: {module} has no knot of {', '.join(rooms)} any more: take the row out"
    yield from check_plugins(files, pairs, shared)


def check_plugins(files, pairs, shared):
    """Plugins that include another one's files; but for the rows, which must still hold."""
    held = set()
    for path, number, target in includes(files):
        place, other = plugin_of(path), plugin_of(target)
        if not place or not other or place == other or place[0] != other[0]:
            continue
        if other in shared:
            held.add(other)
            if place not in shared:
                continue
        if (place[0], place[1], other[1]) in pairs:
            held.add((place[0], place[1], other[1]))
            continue
        yield f"{path}:{number}: includes {target}: a plugin may not include another"
    for row in [*pairs, *shared]:
        if row not in held:
            yield f"tests/lint/include_graph.py:1: {' '.join(row)}: nothing of the tree needs this row any more: take it out"


def check_folders(paths, crowded=()):
    """Folders of include/, src/ and roles/ that hold more files than a room should."""
    held = collections.Counter(os.path.dirname(path) for path in paths
                               if path.startswith(("include/", "src/", "roles/")) and os.path.basename(path) not in NOT_COUNTED)
    for folder, count in sorted(held.items()):
        if count > dict(crowded).get(folder, MOST_FILES):
            yield f"{folder}:1: {count} files: a folder of more than {MOST_FILES} wants rooms"
    for folder in dict(crowded):
        if held[folder] <= MOST_FILES:
            yield f"tests/lint/include_graph.py:1: CROWDED: {folder} holds {held[folder]} files: take the row out"


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
    """({path: text} of the sources, paths of all files) below the folders that the rules bind."""
    files, paths = {}, []
    for top in ("include", "src", "roles", ORACLE):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                full = os.path.join(folder, name)
                paths.append(os.path.relpath(full, root).replace(os.sep, "/"))
                if name.endswith(SOURCE):
                    with open(full, encoding="utf-8") as file:
                        files[paths[-1]] = file.read()
    return files, paths


def main():
    files, paths = read_tree(sys.argv[1])
    found = [*check(files), *check_rooms(files, KNOTS, PLUGIN_PAIRS, SHARED_BY_PLUGINS), *check_folders(paths, CROWDED)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
