#!/usr/bin/env python3
"""The deb in a clean Debian 12: the same bytes when built twice; installed, upgraded, removed, purged, and nothing is left.
Lintian, where it is installed, has nothing to say. tests/packages/deb_vm_test.py does it where systemd runs."""
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian  # noqa: E402

sys.path.insert(0, os.path.join(debian.TREE, "packaging", "package"))
import layout  # noqa: E402

UNITS = "/lib/systemd/system"
# How exposed `systemd-analyze security` says each unit is, of 10, at most. The node agent and the device daemon have to have
# CAP_SYS_ADMIN, cgroups to write and all of the machine to see: their units say what for.
EXPOSED = {"koord-koordlet": 4.7, "koord-koordlet-kubernetes": 4.7, "koord-device-daemon": 5.0, "koord-runtime-proxy": 2.1,
           "koord-scheduler": 1.3, "koord-manager": 1.3, "koord-descheduler": 1.3}


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="koord-deb.")
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = cls.holder.name
        cls.first, = debian.build("deb", os.path.join(cls.folder, "first"))
        cls.second, = debian.build("deb", os.path.join(cls.folder, "second"), "--version=0.1.0+next")

    def test_is_the_same_when_built_twice(self):
        again, = debian.build("deb", os.path.join(self.folder, "again"))
        self.assertEqual(debian.content(again), debian.content(self.first))
        other, = debian.build("deb", os.path.join(self.folder, "other"), epoch=1_000_000_000)
        self.assertNotEqual(debian.content(other), debian.content(self.first), "SOURCE_DATE_EPOCH is not heeded")

    def test_lintian_has_nothing_to_say(self):
        if shutil.which("lintian") is None:
            self.skipTest("no lintian is here")
        said = subprocess.run(["lintian", "--fail-on=none", "--allow-root", self.first], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(said, "")

    def test_comes_changes_and_goes(self):
        system = debian.Debian(os.path.join(self.folder, "root"))
        before = system.state()
        system.install(self.first)
        self.check_installed(system, before)
        self.check_units(system)

        # An upgrade keeps what is written of koord and about it.
        flags = system.path("etc/koord/flags.env")
        with open(flags, "a", encoding="utf-8") as file:
            file.write("# mine\n")
        for path in ("var/lib/koord", "var/log/koord", "run/koord", "run/koordlet", "etc/runtime/hookserver.d"):
            os.makedirs(system.path(path), exist_ok=True)
        for path in ("var/lib/koord/journal", "var/log/koord/audit.log", "etc/koord/scheduler.kubeconfig"):
            with open(system.path(path), "w", encoding="utf-8") as file:
                file.write("kept\n")
        system.prints("systemctl", "enable", "koord-koordlet.service", "koord-scheduler.service")
        kept = system.state()
        system.install(self.second)
        self.assertIn("0.1.0+next", system.prints("dpkg-query", "-W", "koord"))
        self.assertEqual([line for line in debian.differences(kept, system.state()) if "/doc/" not in line], [])
        system.prints("dpkg-reconfigure", "-f", "noninteractive", "koord")
        self.assertEqual([line for line in debian.differences(kept, system.state()) if "/doc/" not in line], [])
        system.install(self.first)  # and back
        self.assertEqual(debian.differences(kept, system.state()), [])

        self.check_refused(system)
        system.prints("dpkg", "--remove", "koord")
        left = [line[2:] for line in debian.differences(before, system.state()) if not os.path.isdir(system.path(line[2:]))]
        self.assertEqual(sorted(path for path in left if not path.startswith("etc/koord/")),
                         ["etc/group", "etc/gshadow", "etc/passwd", "etc/shadow", "var/lib/koord/journal", "var/log/koord/audit.log"])
        system.install(self.second)
        self.assertIn("# mine", system.prints("cat", "/etc/koord/flags.env"))
        os.makedirs(system.path("etc/systemd/system/koord-scheduler.service.d"))
        system.prints("dpkg", "--purge", "koord")
        self.assertEqual(debian.differences(before, system.state()), [])
        self.check_others_things_stay(system)
        self.assertEqual(system.run("dpkg", "--purge", "koord")[0], 0)

    def check_refused(self, system):
        """With a systemd that is played: the proxy runs, and nothing that is asked for comes of it."""
        os.makedirs(system.path("run/systemd/system"))
        os.mkdir(system.path("tmp/played"))
        with open(system.path("tmp/played/systemctl"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n[ "$1" != is-active ] || { echo active; exit 0; }\nexit 1\n')
        os.chmod(system.path("tmp/played/systemctl"), 0o755)
        played = ("env", "PATH=/tmp/played:/usr/sbin:/usr/bin:/sbin:/bin")
        said = system.prints(*played, "dpkg-reconfigure", "-f", "noninteractive", "koord")
        self.assertIn("koord: a unit did not come back", said)
        for path, mode in (("etc/koord", 0o750), ("etc/koord/scheduler.kubeconfig", 0o640)):
            info = os.stat(system.path(path))
            self.assertEqual((info.st_mode & 0o777, info.st_uid, info.st_gid > 0), (mode, 0, True), path)
        for path in ("etc/systemd/system/kubelet.service.d/50-koord-proxy.conf", "etc/default/kubelet", "var/lib/kubelet/config.yaml"):
            os.makedirs(os.path.dirname(system.path(path)), exist_ok=True)
            with open(system.path(path), "w", encoding="utf-8") as file:
                file.write(layout.text_of(debian.TREE, "packaging", "kubelet-through-proxy.conf"))
            status, said = system.run(*played, "dpkg", "--remove", "koord", check=False)
            os.remove(system.path(path))
            self.assertNotEqual(status, 0, said)
            self.assertIn(f"through koord-runtime-proxy, by /{path}", said)
            self.assertIn(" ok installed", system.prints("dpkg-query", "-W", "-f", "${Status}", "koord"))
        os.rmdir(system.path("etc/systemd/system/kubelet.service.d"))
        os.rmdir(system.path("var/lib/kubelet"))
        shutil.rmtree(system.path("tmp/played"))
        os.rmdir(system.path("run/systemd/system"))

    def check_others_things_stay(self, system):
        """A purge beside a DaemonSet's agent, units of others, and a user of that name."""
        lock, journal, drop_in = (system.path(path) for path in (
            "run/koordlet/koord.lock", "run/koordlet/prediction-checkpoints/koord/journal", "etc/systemd/system/koord-others.service.d/mine.conf"))
        system.install(self.first)
        system.prints("userdel", "koord")
        system.prints("useradd", "-d", "/home/koord", "-s", "/bin/sh", "koord")
        for path in (lock, journal, drop_in):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("others'\n")
        others = system.state()
        with open(lock, encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            system.prints("dpkg", "--purge", "koord")
            after = system.state()
        for path in ("run/koordlet/koord.lock", "run/koordlet/prediction-checkpoints/koord/journal", "etc/passwd", "etc/group",
                     "etc/systemd/system/koord-others.service.d/mine.conf"):
            self.assertEqual(after.get(path), others[path], path)
        system.prints("sh", "-ec", layout.script("purge"))  # as it would have been without that agent
        self.assertEqual((os.path.exists(lock), os.path.exists(journal)), (False, True))

    def check_installed(self, system, before):
        came = debian.differences(before, system.state())
        listed = set(system.prints("dpkg", "-L", "koord").split())
        own = {f"+ {path.lstrip('/')}" for path in listed}
        others = [line for line in came if line not in own and line.replace("+ usr/lib/", "+ lib/") not in own]
        self.assertEqual(others, ["~ etc/group", "~ etc/gshadow", "~ etc/passwd", "~ etc/shadow"], "files that are not the package's")
        self.assertIn("koord 0.1.0", system.prints("koord", "--version").replace(" v", " "))
        self.assertEqual(system.prints("kubectl-koord", "version"), system.prints("koord", "version"))
        self.assertRegex(system.prints("getent", "passwd", "koord"), r"^koord:x:\d+:\d+:koord:/nonexistent:/usr/sbin/nologin\n")
        self.assertEqual(system.prints("dpkg", "--verify", "koord"), "")
        for path in ("/usr/share/man/man1/koord.1.gz", "/usr/share/bash-completion/completions/koord"):
            self.assertIn(path, listed)
        whole = system.prints("/bin/bash", "-ec", ". /usr/share/bash-completion/completions/koord; complete -p koordlet")
        self.assertIn("_koord", whole)

    def check_units(self, system):
        """systemd takes them as they are; none is switched on; each is kept in."""
        units = [f"{UNITS}/{unit}" for unit in layout.ALL_UNITS]
        self.assertEqual(sorted(EXPOSED), sorted(unit.removesuffix(".service") for unit in layout.ALL_UNITS))
        said = system.run("systemd-analyze", "verify", "--man=no", *units, check=False)[1]
        self.assertEqual([line for line in said.splitlines() if "koord" in line], [])
        for unit in units:
            name = os.path.basename(unit).removesuffix(".service")
            with self.subTest(name):
                self.assertEqual(system.run("systemctl", "is-enabled", name, check=False)[1].strip(), "disabled")
                said = system.run("systemd-analyze", "security", "--offline=yes", unit, check=False)[1]
                level = re.search(r"exposure level for \S+: ([\d.]+)", said)
                self.assertIsNotNone(level, said)
                print(f"{name}: exposure {level.group(1)}")
                self.assertLessEqual(float(level.group(1)), EXPOSED[name])


class KubernetesUnit(unittest.TestCase):
    def test_is_the_standalone_one_but_for_where_pods_come_from(self):
        unit = layout.kubernetes_unit(layout.text_of(debian.TREE, "packaging", "koordlet.service"))
        self.assertNotIn("--standalone", unit)
        self.assertEqual(unit.count("--kubeconfig=/etc/koord/koordlet.kubeconfig"), 2)
        self.assertRegex(unit, r"(?m)^ExecStart=(.*\\\n)*.*true \$KOORDLET_FLAGS$", "flags of the administrator are last, and win")
        self.assertIn("--kubeconfig=/etc/koord/koordlet.kubeconfig $$KOORDLET_FLAGS --cleanup &&", unit)

    def test_a_unit_that_is_another_is_refused(self):
        with self.assertRaisesRegex(ValueError, "koordlet.service: expected once"):
            layout.kubernetes_unit("[Service]\n")


if __name__ == "__main__":
    debian.skip_without_needs()
    unittest.main(verbosity=2)
