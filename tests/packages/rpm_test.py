#!/usr/bin/env python3
"""The rpm in a clean Debian with a database of rpm's own, where stubs stand for what it requires: the same bytes when built
twice; installed, upgraded and taken away again, and nothing is left but what somebody changed.
Rpmlint, where it is installed, has nothing to say but what rpmlint.toml gives reasons for."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian  # noqa: E402

STUB = """Name: stubs
Version: 1
Release: 1
Summary: What the Debian has by other means
License: Apache-2.0
BuildArch: noarch
Provides: systemd, /bin/sh, /usr/sbin/userdel
%description
Stubs.
%files
"""


def stub(folder):
    spec = os.path.join(folder, "stubs.spec")
    with open(spec, "w", encoding="utf-8") as file:
        file.write(STUB)
    subprocess.run(["rpmbuild", "-bb", "--quiet", "--define", f"_topdir {folder}/top", "--define", f"_rpmdir {folder}",
                    "--define", "_build_name_fmt %%{NAME}.rpm", spec], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "stubs.rpm")


def main():
    debian.skip_without_needs()
    if shutil.which("rpmbuild") is None:
        debian.skip("rpmbuild is missing: apt-get install rpm")
    with tempfile.TemporaryDirectory(prefix="koord-rpm-test.") as folder:
        first, = debian.build("rpm", os.path.join(folder, "first"))
        again, = debian.build("rpm", os.path.join(folder, "again"))
        second, = debian.build("rpm", os.path.join(folder, "second"), "--version=0.1.1")
        assert debian.content(first) == debian.content(again), "built twice it is another"
        if shutil.which("rpmlint") is not None:
            said = subprocess.run(["rpmlint", "--config", os.path.join(debian.HERE, "rpmlint.toml"), first], stdout=subprocess.PIPE, text=True,
                                  check=False).stdout
            assert "0 errors, 0 warnings" in said, said
        system = debian.Debian(os.path.join(folder, "root"))

        def rpm(*words, check=True):
            done = subprocess.run(["rpm", f"--root={system.folder}", "--dbpath=/var/lib/rpm", *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            assert not check or done.returncode == 0, f"rpm {' '.join(words)}: {done.stdout}"
            return done.stdout

        def state():
            return {path: said for path, said in system.state().items() if not path.startswith("var/lib/rpm")}

        before = state()
        assert "is needed by koord" in rpm("-i", first, check=False), "it requires nothing"
        rpm("-i", stub(folder))
        rpm("-i", first)
        own = set(rpm("-ql", "koord").split())
        others = [line for line in debian.differences(before, state())
                  if f"/{line[2:]}" not in own and not os.path.isdir(system.path(line[2:]))]
        assert others == ["~ etc/group", "~ etc/gshadow", "~ etc/passwd", "~ etc/shadow"], others
        assert rpm("-V", "koord") == ""
        assert system.prints("kubectl-koord", "version").startswith("koord ")
        system.prints("systemctl", "enable", "koord-koordlet.service")
        with open(system.path("etc/koord/flags.env"), "a", encoding="utf-8") as file:
            file.write("# mine\n")
        os.makedirs(system.path("var/lib/koord"))
        with open(system.path("var/lib/koord/journal"), "w", encoding="utf-8") as file:
            file.write("kept\n")
        kept = state()
        rpm("-U", second)
        assert "koord-0.1.1-1" in rpm("-q", "koord") and debian.differences(kept, state()) == [], debian.differences(kept, state())
        rpm("-e", "koord")
        left = debian.differences(before, state())
        assert left == ["+ etc/koord", "+ etc/koord/flags.env.rpmsave"], left
        shutil.rmtree(system.path("etc/koord"))
        rpm("-i", second)
        rpm("-e", "koord")
        assert debian.differences(before, state()) == [], debian.differences(before, state())
    print("the rpm: passed")


if __name__ == "__main__":
    main()
