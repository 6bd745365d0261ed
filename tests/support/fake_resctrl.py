#!/usr/bin/env python3
"""A resctrl in user space, as the kernel has it: fake_resctrl.py FOLDER intel|amd CACHES, which it mounts by FUSE (root) and serves until it
is unmounted. Intel's bandwidth is in percent and in steps of 10, AMD's in eighths of GB/s, of which 2048 are all. Folders are groups: mkdir
makes one with all of cache and bandwidth, rmdir gives its tasks back to the root. `schemata` takes lines of caches and bandwidth, of which
those that make no sense are refused as the kernel does it; `tasks` takes one task a write, which leaves the group that it was in. It moves
nobody: a task's children are in the root until somebody writes them.
"""
import ctypes
import errno
import os
import re
import stat
import struct
import sys

MASK, GROUPS = 0x7FFF, 15
BANDWIDTH = {"intel": (10, 10, 100), "amd": (1, 1, 2048)}  # least, step, all
LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, RMDIR, OPEN, READ, WRITE, STATFS, RELEASE = 1, 2, 3, 4, 9, 11, 14, 15, 16, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, BATCH_FORGET = 25, 26, 27, 28, 29, 34, 42
HEAD, NO_CACHE = struct.Struct("<IIQQIIII"), 1
INFO = {"L3/cbm_mask": f"{MASK:x}", "L3/min_cbm_bits": "1", "L3/num_closids": str(GROUPS + 1), "L3/shareable_bits": "0",
        "MB/num_closids": str(GROUPS + 1), "MB/delay_linear": "1", "L3_MON/num_rmids": "176", "last_cmd_status": "ok"}
# What each group has counted, in each cache; it stays so.
COUNTERS = {"llc_occupancy": 1 << 20, "mbm_local_bytes": 7 << 20, "mbm_total_bytes": 9 << 20}


class Refused(OSError):
    pass


def refuse(code):
    raise Refused(code, os.strerror(code))


class Group:
    def __init__(self, bandwidth, caches):
        self.least, self.step, self.all = bandwidth
        self.cache, self.bandwidth, self.tasks = dict.fromkeys(range(caches), MASK), dict.fromkeys(range(caches), self.all), set()

    def schemata(self):
        lines = (("L3", {cache: f"{mask:x}" for cache, mask in self.cache.items()}), ("MB", self.bandwidth))
        return "".join(f"{name:>6}:{';'.join(f'{cache}={value}' for cache, value in values.items())}\n" for name, values in lines)

    def set(self, text):
        if not text.endswith("\n"):
            refuse(errno.EINVAL)
        for line in text.splitlines():
            name, _, fields = line.strip().partition(":")
            for field in fields.removesuffix(";").split(";"):
                cache, _, value = field.partition("=")
                if not cache.strip().isdigit() or int(cache) not in self.cache:
                    refuse(errno.EINVAL)
                self.set_one(name, int(cache), value.strip())

    def set_one(self, name, cache, value):
        if name == "L3" and re.fullmatch("[0-9a-fA-F]+", value):
            mask = int(value, 16)
            if mask == 0 or mask & ~MASK or "01" in f"{mask:b}":
                refuse(errno.EINVAL)
            self.cache[cache] = mask
        elif name == "MB" and value.isdigit() and self.least <= int(value) <= self.all:
            self.bandwidth[cache] = -(-int(value) // self.step) * self.step
        else:
            refuse(errno.EINVAL)


class Tree:
    """What is there, by path."""

    def __init__(self, vendor, caches):
        self.bandwidth, self.caches = BANDWIDTH[vendor], caches
        self.monitored = [f"mon_data/mon_L3_{cache:02}" for cache in range(caches)]
        self.info = {**INFO, "L3_MON/mon_features": "\n".join(COUNTERS), "MB/min_bandwidth": str(self.bandwidth[0]),
                     "MB/bandwidth_gran": str(self.bandwidth[1])}
        self.groups = {"": Group(self.bandwidth, self.caches)}

    def folders(self):
        found = {f"info/{os.path.dirname(name)}".rstrip("/") for name in self.info} | set(self.groups)
        return found | {os.path.join(group, name) for group in self.groups for name in ("mon_data", *self.monitored)}

    def files(self):
        own = ("schemata", "tasks", "mode", *(f"{folder}/{name}" for folder in self.monitored for name in COUNTERS))
        return {os.path.join(group, name) for group in self.groups for name in own} | {f"info/{name}" for name in self.info}

    def read(self, path):
        if path.startswith("info/"):
            return self.info[path[5:]] + "\n"
        group, name = os.path.split(path)
        if name == "schemata":
            return self.groups[group].schemata()
        if name == "mode":
            return "shareable\n"
        if name in COUNTERS:
            return f"{COUNTERS[name]}\n"
        return "".join(f"{task}\n" for task in sorted(self.groups[group].tasks) if os.path.exists(f"/proc/{task}"))

    def write(self, path, text):
        group, name = os.path.split(path)
        if path.startswith("info/") or name == "mode" or name in COUNTERS:
            refuse(errno.EACCES)
        if name == "schemata":
            return self.groups[group].set(text)
        if not text.strip().isdigit():
            refuse(errno.EINVAL)
        task = int(text)
        if not os.path.exists(f"/proc/{task}"):
            refuse(errno.ESRCH)
        for each in self.groups.values():
            each.tasks.discard(task)
        if group:
            self.groups[group].tasks.add(task)

    def make(self, path):
        if os.path.dirname(path):
            refuse(errno.EPERM)
        if path in self.folders():
            refuse(errno.EEXIST)
        if len(self.groups) > GROUPS:
            refuse(errno.ENOSPC)
        self.groups[path] = Group(self.bandwidth, self.caches)

    def remove(self, path):
        if path not in self.groups or not path:
            refuse(errno.EPERM)
        del self.groups[path]


class Server:
    """FUSE's own messages: include/uapi/linux/fuse.h."""

    def __init__(self, device, tree):
        self.device, self.tree = device, tree
        self.numbers, self.paths = {"": 1}, {1: ""}

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                return  # unmounted
            _, opcode, unique, number, *_ = HEAD.unpack_from(request)
            if opcode in (FORGET, BATCH_FORGET):
                continue
            try:
                code, answer = 0, self.answer(opcode, self.paths.get(number), request[HEAD.size:])
            except Refused as error:
                code, answer = -error.errno, b""
            try:
                os.write(self.device, struct.pack("<IiQ", 16 + len(answer), code, unique) + answer)
            except OSError as error:
                if error.errno != errno.ENOENT:  # who asked has gone
                    raise

    def number(self, path):
        if path not in self.numbers:
            self.numbers[path] = len(self.numbers) + 1
            self.paths[self.numbers[path]] = path
        return self.numbers[path]

    def attributes(self, path):
        if path in self.tree.folders():
            mode = stat.S_IFDIR | 0o755
        elif path in self.tree.files():
            mode = stat.S_IFREG | 0o644
        else:
            refuse(errno.ENOENT)
        return struct.pack("<6Q10I", self.number(path), 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, path, body):
        if opcode == INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 16, 12, 1 << 16, 1, 0, 0, *[0] * 8)
        if opcode in (LOOKUP, MKDIR, RMDIR):
            name = body[8 if opcode == MKDIR else 0:].split(b"\0", 1)[0].decode()
            inner = os.path.join(path, name)
            if opcode == RMDIR:
                return self.tree.remove(inner) or b""
            if opcode == MKDIR:
                self.tree.make(inner)
            return struct.pack("<4Q2I", self.number(inner), 0, 0, 0, 0, 0) + self.attributes(inner)
        if opcode in (GETATTR, SETATTR):
            return struct.pack("<QII", 0, 0, 0) + self.attributes(path)
        if opcode in (OPEN, OPENDIR):
            self.attributes(path)
            return struct.pack("<QII", 0, NO_CACHE, 0)
        if opcode in (READ, READDIR):
            offset, size = struct.unpack_from("<QI", body, 8)
            if opcode == READDIR:
                return self.entries(path, offset, size)
            self.attributes(path)
            return self.tree.read(path).encode()[offset:offset + size]
        if opcode == WRITE:
            size, = struct.unpack_from("<I", body, 16)
            self.attributes(path)
            self.tree.write(path, body[40:40 + size].decode())
            return struct.pack("<II", size, 0)
        if opcode == STATFS:
            return bytes(80)
        if opcode in (RELEASE, RELEASEDIR, FLUSH, ACCESS):
            return b""
        return refuse(errno.ENOSYS)

    def entries(self, path, offset, size):
        inside = sorted(one for one in self.tree.folders() | self.tree.files() if one and os.path.dirname(one) == path)
        answer = b""
        for at, one in enumerate(inside[offset:], offset + 1):
            name = os.path.basename(one).encode()
            kind = (stat.S_IFDIR if one in self.tree.folders() else stat.S_IFREG) >> 12
            entry = struct.pack("<QQII", self.number(one), at, len(name), kind) + name
            entry += bytes(-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer


def main():
    folder, vendor, caches = sys.argv[1:]
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"fake_resctrl", folder.encode(), b"fuse", 0, options) != 0:
        sys.exit(f"fake_resctrl: {folder}: {os.strerror(ctypes.get_errno())}")
    Server(device, Tree(vendor, int(caches))).serve()


if __name__ == "__main__":
    main()
