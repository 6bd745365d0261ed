"""A small virtual machine with what the test host lacks: cgroup v2, PSI, 2 sockets x 2 cores x 2 threads, 2 NUMA nodes.

QEMU in software emulation boots a Debian kernel with an initramfs that is written here: a static busybox, the files
that a test names, and an init that runs the test's shell script. What the script prints comes back over the serial
line; its exit status is the last line. No network, no privilege, and a disk only where a test asks for one.

usage by hand: vm.py SCRIPT [NAME=FILE...]     runs SCRIPT with each FILE at /NAME
"""
import ctypes
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import busybox  # noqa: E402

CACHE = os.environ.get("KOORD_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "koord")
KERNEL = os.environ.get("KOORD_VM_KERNEL") or os.path.join(CACHE, "vm", "vmlinuz")
MEMORY_MIB = 1024
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|c)")  # the firmware clears the screen
VERDICT = re.compile(r"^vm: verdict (\d+)\s*$")
LOCKUP = re.compile(r"watchdog: BUG: soft lockup - CPU#\d+ stuck for (\d+)s!")

# QEMU 7.2 translates code on several threads, and now and then a processor keeps a translation of what the kernel has
# patched since (static branches, tracepoints): it meets a breakpoint that is gone, for ever, and with it the machine
# stops. About one boot in twenty. The machine tells that it lives; one that has stopped is started anew. So is one that
# lives on some processors only, and whose kernel says of others that they are stuck. A program that hangs in it is another
# thing: the machine goes on telling, and its kernel has nothing to say.
ALIVE = "vm: alive"
SILENCE = 30  # seconds
# Until it begins to tell: other kernels than Debian's for clouds have drivers of real hardware in them, which look for it.
SILENCE_AT_BOOT = 120 if "KOORD_VM_KERNEL" in os.environ else SILENCE
STUCK = 50  # seconds; the kernel says it first after 26, which a busy host alone can bring about
ATTEMPTS = 4

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /bin /proc /sys /dev /tmp /run /etc /var/run
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /tmp
ip link set lo up
echo 127.0.0.1 localhost >/etc/hosts
cd /
echo
while sleep 2; do echo "ALIVE"; done &
setsid sh /test.sh </dev/null 2>&1
echo "vm: verdict $?"
poweroff -f
""".replace("ALIVE", ALIVE)


def missing():
    """The first need of the virtual machine that this machine lacks, or None."""
    if shutil.which("qemu-system-x86_64") is None:
        return "qemu-system-x86_64 is missing: run packaging/dev deps"
    if busybox.missing():
        return busybox.missing()
    if not os.path.isfile(KERNEL):
        return f"no kernel for the virtual machine at {KERNEL}: run packaging/dev vm-kernel"
    return None


def tsc_khz():
    """The emulated time-stamp counter is the host's. The machine would measure its rate while it boots, and on a busy
    host be wrong by a multiple: clocks would run at a wrong speed. So it is measured here and told."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("0f3148c1e2204809d0c3"))  # rdtsc; shl rdx, 32; or rax, rdx; ret
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def both():  # the closest of some tries: nothing came between the two clocks
        tries = []
        for _ in range(50):
            before, ticks, after = time.monotonic_ns(), read(), time.monotonic_ns()
            tries.append((after - before, before, ticks))
        return min(tries)[1:]

    began, first = both()
    while time.monotonic_ns() - began < 100_000_000:
        pass
    ended, last = both()
    return (last - first) * 1_000_000 // (ended - began)


def entry(number, name, mode, data=b""):
    """One file of a cpio archive in the 'newc' format."""
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def initramfs(path, files):
    """`files`: names in the archive to bytes; all are executable."""
    folders = sorted({"/".join(name.split("/")[:depth]) for name in files for depth in range(1, name.count("/") + 1)})
    with open(path, "wb") as archive:
        number = 0
        for name in folders:
            number += 1
            archive.write(entry(number, name, 0o040755))
        for name, data in files.items():
            number += 1
            archive.write(entry(number, name, 0o100755, data))
        archive.write(entry(0, "TRAILER!!!", 0))


class Watchdog:
    """Ends a machine that is silent, or not through in time."""

    def __init__(self, machine, seconds):
        self.machine, self.ends, self.silent_at = machine, time.monotonic() + seconds, time.monotonic() + SILENCE_AT_BOOT
        self.silence = SILENCE_AT_BOOT
        self.stopped = False  # it fell silent, or a processor of it is stuck
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def heard(self, lives):
        if lives:  # what the firmware says is no sign of the kernel's
            self.silence = SILENCE
        self.silent_at = time.monotonic() + self.silence

    def stuck(self):
        self.stopped = True
        self.machine.kill()

    def watch(self):
        while not self.done.wait(min(self.ends, self.silent_at) - time.monotonic()):
            now = time.monotonic()
            if now >= min(self.ends, self.silent_at):
                self.stopped = now >= self.silent_at
                self.machine.kill()
                return

    def stop(self):
        self.done.set()
        self.thread.join()


class Disk:
    """An empty disk, /dev/nvme0n1, that takes and gives no more than so much a second."""

    def __init__(self, mib, mib_a_second):
        self.mib, self.mib_a_second = mib, mib_a_second

    def options(self, folder):
        path = os.path.join(folder, "disk")
        with open(path, "wb") as file:
            file.truncate(self.mib << 20)
        return ["-drive", f"file={path},format=raw,if=none,id=disk,cache=unsafe,throttling.bps-total={self.mib_a_second << 20}",
                "-device", "nvme,drive=disk,serial=koord"]


class DiskOf(Disk):
    """A disk, /dev/nvme0n1, that begins with what a file of this machine holds. What is written to it is lost."""

    def __init__(self, path):
        super().__init__(0, 0)
        self.path = path

    def options(self, folder):
        return ["-drive", f"file={self.path},format=raw,if=none,id=disk,cache=unsafe,snapshot=on", "-device", "nvme,drive=disk,serial=koord"]


def run(script, files, seconds=120, echo=True, disk=None):
    """Runs a shell script with files (name in the machine to path here), from the beginning again where the emulator
    stopped. Returns (exit status, output lines); the status is None if the machine did not come to an end in time."""
    for attempt in range(ATTEMPTS):
        status, lines, stopped = run_once(script, files, seconds, echo, disk)
        if status is not None or not stopped:
            break
        print(f"vm: the emulator has stopped, attempt {attempt + 1} of {ATTEMPTS}", flush=True)
    return status, lines


def run_once(script, files, seconds, echo, disk):
    def content(name):
        with open(name, "rb") as file:
            return file.read()

    packed = {"init": INIT.encode(), "test.sh": script.encode(), "bin/busybox": busybox.content()}
    packed.update({name.lstrip("/"): content(path) for name, path in files.items()})
    half = MEMORY_MIB // 2
    with tempfile.TemporaryDirectory(prefix="koord-vm.") as folder:
        archive = os.path.join(folder, "initramfs")
        initramfs(archive, packed)
        machine = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-m", str(MEMORY_MIB),
             "-smp", "8,sockets=2,cores=2,threads=2",
             "-object", f"memory-backend-ram,id=m0,size={half}M", "-numa", "node,nodeid=0,cpus=0-3,memdev=m0",
             "-object", f"memory-backend-ram,id=m1,size={half}M", "-numa", "node,nodeid=1,cpus=4-7,memdev=m1",
             *(disk.options(folder) if disk else []),
             "-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-serial", "stdio",
             "-kernel", KERNEL, "-initrd", archive, "-append", f"console=ttyS0 quiet loglevel=1 panic=-1 psi=1 tsc_early_khz={tsc_khz()}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        watchdog = Watchdog(machine, seconds)
        status, lines = None, []
        try:
            for raw in machine.stdout:
                line = ESCAPES.sub("", raw.decode(errors="replace")).rstrip("\r\n")
                watchdog.heard(lives=line == ALIVE)
                if line == ALIVE:
                    continue
                lockup = LOCKUP.search(line)
                if lockup and int(lockup.group(1)) >= STUCK:
                    watchdog.stuck()
                found = VERDICT.match(line)
                if found:
                    status = int(found.group(1))
                lines.append(line)
                if echo:
                    print("  vm|", line, flush=True)
        finally:
            watchdog.stop()
            machine.kill()
            machine.wait()
    return status, lines, watchdog.stopped


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    reason = missing()
    if reason:
        print(f"vm: {reason}", file=sys.stderr)
        return 77
    with open(sys.argv[1], encoding="utf-8") as file:
        script = file.read()
    status, _ = run(script, dict(word.split("=", 1) for word in sys.argv[2:]))
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main())
