"""The device daemon as a process: on a host's root with fake vendors' tools and a fake sysfs, through everything that may happen to it."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
from sandbox import KOORD, TREE, free_port, wait_for  # noqa: E402

BUSYBOX = "/bin/busybox"
NVIDIA_QUERY = "--query-gpu=index,uuid,gpu_name,memory.total,pci.bus_id --format=csv,noheader"
IX = ("0, GPU-a, Iluvatar BI-V150, 32768 MiB, 00000000:4B:00.0", "1, GPU-b, Iluvatar BI-V150, 32768 MiB, 00000000:4C:00.0")


def why_not():
    if os.geteuid() != 0:
        return "only root changes its root"
    if not os.path.exists(BUSYBOX):
        return "busybox is missing: run packaging/dev deps"
    return None


@unittest.skipIf(why_not(), why_not())
class DeviceDaemon(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="koord-devices.")
        self.root, self.sys = (os.path.join(self.folder, name) for name in ("host", "sys"))
        self.file = os.path.join(self.folder, "infos", "ic-device")
        for path in ("bin", "usr/local/bin", "dev"):
            os.makedirs(os.path.join(self.root, path))
        shutil.copy(BUSYBOX, os.path.join(self.root, "bin/sh"))
        os.makedirs(os.path.join(self.sys, "bus/pci/devices"))
        self.port, self.process = free_port(), None
        self.log = os.path.join(self.folder, "log")

    def tearDown(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder)

    def card(self, bus, vendor, product="0x0001", node=0):
        folder = os.path.join(self.sys, "bus/pci/devices", bus)
        os.makedirs(folder, exist_ok=True)
        for name, text in (("vendor", vendor), ("device", product), ("numa_node", str(node))):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text + "\n")

    def tool(self, name, script):
        path = os.path.join(self.root, "usr/local/bin", name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)

    def ixsmi(self, *lines):
        self.tool("ixsmi", f'[ "$*" = "{NVIDIA_QUERY}" ] || exit 1\n' + "\n".join(f"echo '{line}'" for line in lines))

    def start(self, *flags, env=None):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [KOORD, "--role=device-daemon", f"--host-root={self.root}", f"--sys-root-dir={self.sys}", f"--prints-output-file={self.file}",
                 f"--addr=127.0.0.1:{self.port}", *flags], stdout=log, stderr=log, env={**os.environ, **(env or {})})

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(60)

    def output(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def devices(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.file, encoding="utf-8") as file:
                return json.load(file)  # whole at each moment, or this fails
        return None

    def known(self):
        """(vendor, uuid, healthy) of each."""
        return [(each["vendor"], each["uuid"], each["status"]["healthy"]) for each in self.devices() or []]

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            return response.read().decode()

    def metric(self, series):
        return next((float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics").splitlines() if line.startswith(series)), None)

    def test_devices_come_fail_and_go(self):
        self.start("--sleep-interval=1s")
        wait_for("a file without devices", lambda: self.devices() == [])
        self.get("/readyz")
        self.card("0000:4b:00.0", "0x1e3e", node=1)
        self.ixsmi(*IX)
        wait_for("both", lambda: len(self.known()) == 2)
        first = self.devices()[0]
        self.assertEqual((first["model"], first["minor"], first["resources"], first["topology"]), (
            "Iluvatar-BI-V150", "0", {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "32768Mi"},
            {"socketID": "-1", "nodeID": "1", "busID": "0000:4b:00.0"}))
        # One vendor's tool that fails keeps no other from the file; and its own cards are not taken away.
        self.card("0000:0d:00.0", "0x1d22")
        self.tool("ixsmi", "echo driver mismatch >&2; exit 9")
        columns = " ".join(str(at) for at in range(1, 18))
        self.tool("xpu_smi", f"echo 0000:0d:00.0 {columns} 98304 19 20 P800")
        wait_for("the other vendor", lambda: ("kunlun", "xpu-0", True) in self.known())
        wait_for("unhealthy, for nobody knows", lambda: ("iluvatar", "GPU-a", False) in self.known())
        self.assertIn("exit status 9: driver mismatch", self.output())
        self.assertGreaterEqual(self.metric('koord_device_daemon_failures_total{vendor="iluvatar"}'), 2)
        self.assertEqual(self.metric('koord_device_daemon_devices{vendor="iluvatar",healthy="false"}'), 2)
        self.ixsmi(IX[1])
        wait_for("healthy again, but for the one that has gone", lambda: self.known() == [
            ("kunlun", "xpu-0", True), ("iluvatar", "GPU-b", True)])
        shutil.rmtree(os.path.join(self.sys, "bus/pci/devices/0000:0d:00.0"))
        wait_for("off the bus", lambda: self.known() == [("iluvatar", "GPU-b", True)])
        self.assertEqual(self.end(), 0)
        self.assertEqual(os.listdir(os.path.dirname(self.file)), [])

    def test_killed_the_file_stays_and_the_next_one_goes_on(self):
        self.card("0000:4b:00.0", "0x1e3e")
        self.ixsmi(*IX)
        self.start()
        wait_for("both", lambda: len(self.known()) == 2)
        self.end(signal.SIGKILL)
        self.assertEqual(len(self.known()), 2)
        self.ixsmi(IX[0])
        self.start()
        wait_for("one", lambda: len(self.known()) == 1)
        self.end(signal.SIGQUIT)
        self.assertIsNone(self.devices())

    def test_a_tool_that_hangs_floods_or_is_somebody_elses(self):
        self.card("0000:4b:00.0", "0x1e3e")
        self.card("0000:3d:00.0", "0xcabc")
        self.card("0000:0d:00.0", "0x1d22")
        self.card("0000:2a:00.0", "0x9999")
        self.tool("ixsmi", "sh -c 'while :; do :; done' & while :; do :; done")
        self.tool("cnmon", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done")
        self.tool("xpu_smi", "echo no")
        os.chmod(os.path.join(self.root, "usr/local/bin/xpu_smi"), 0o777)
        self.start("--command-timeout=1s", "--sleep-interval=1h")
        wait_for("its file", lambda: self.devices() == [])
        said = self.output()
        for words in ("ixsmi: not done after 1000 ms", "cnmon: it prints more than 1048576 bytes",
                      "xpu_smi: not used, for others than root may write this file", "mx-smi: not in /usr/local/sbin"):
            self.assertIn(words, said)
        # Nothing that they started lives on.
        mine = [name for name in os.listdir("/proc") if name.isdigit() and os.path.exists(f"/proc/{name}/root") and self.is_inside(name)]
        self.assertEqual(mine, [])
        began = time.monotonic()
        self.assertEqual(self.end(), 0)
        self.assertLess(time.monotonic() - began, 20)

    def is_inside(self, process):
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{process}/root") == self.root
        return False

    def test_once(self):
        self.card("0000:4b:00.0", "0x1e3e")
        self.ixsmi(*IX)
        self.start("-oneshot")
        self.assertEqual(self.process.wait(60), 0)
        self.assertEqual(len(self.known()), 2)
        # Where the file cannot be written, that is an error.
        os.unlink(self.file)
        os.mkdir(self.file)
        self.start(env={"KDD_ONESHOT": "true"})
        self.assertEqual(self.process.wait(60), 1)
        self.assertIn("ic-device", self.output())

    def test_settings_are_read_again(self):
        config = os.path.join(self.folder, "kdd.yaml")

        def write(text):
            with open(config, "w", encoding="utf-8") as file:
                file.write(text)

        other = os.path.join(self.folder, "infos", "other")
        write("version: v1\nflags:\n  kdd:\n    sleepInterval: 1h\n")
        self.start(f"--config-file={config}")
        wait_for("a file", lambda: self.devices() == [])
        self.card("0000:4b:00.0", "0x1e3e")
        self.ixsmi(*IX)
        self.process.send_signal(signal.SIGHUP)
        wait_for("another look", lambda: len(self.known()) == 2)
        write("version: v1\nflags:\n  kdd:\n    sleepIntervall: 1h\n")
        self.process.send_signal(signal.SIGHUP)
        wait_for("the mistake", lambda: "the settings stay as they were" in self.output())
        self.assertIn("kdd.yaml:4", self.output())
        self.assertIsNone(self.process.poll())
        self.end()
        # Its own file's name from the file, where no flag says it.
        write(f"flags: {{kdd: {{printsOutputFile: {other}}}}}\n")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([KOORD, "--role=device-daemon", f"--host-root={self.root}", f"--sys-root-dir={self.sys}",
                                             f"--config-file={config}"], stdout=log, stderr=log)
        wait_for("the other file", lambda: os.path.exists(other))
        write(f"flags: {{kdd: {{printsOutputFile: {self.file}}}}}\n")
        self.process.send_signal(signal.SIGHUP)
        wait_for("moved", lambda: len(self.known()) == 2 and not os.path.exists(other))

    def test_the_shipped_files_start_it(self):
        with open(os.path.join(TREE, "packaging", "koord-device-daemon.service"), encoding="utf-8") as file:
            unit = next(line for line in file if line.startswith("ExecStart=")).split()[1:]
        with open(os.path.join(TREE, "packaging", "examples", "device-daemon.yaml"), encoding="utf-8") as file:
            pod = [line.strip()[2:] for line in file if line.startswith("        - --")]
        self.assertTrue(unit and pod)
        for arguments in (unit, pod):
            self.assertIn("--role=device-daemon", arguments)
            self.start(*(each for each in arguments if not each.startswith(("--role", "--host-root", "--sys-root-dir"))), "--oneshot")
            self.assertEqual(self.process.wait(60), 0, self.output())
            self.assertEqual(self.devices(), [])

    def test_settings_that_make_no_sense(self):
        for flags, words in ((["--vendors=hauwei"], "did you mean huawei?"), (["--sleep-interval=-1s"], "--sleep-interval: less than 1s")):
            self.start(*flags)
            self.assertEqual(self.process.wait(60), 2)
            self.assertIn(words, self.output())


if __name__ == "__main__":
    unittest.main()
