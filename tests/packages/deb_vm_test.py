#!/usr/bin/env python3
"""The deb in the virtual machine, in a Debian 12 that systemd has booted: `apt install` and `systemctl start koord-koordlet`
protect it without Kubernetes, and `koord top` shows it. An upgrade goes on with the new program and never lets go of a limit,
a removal sets all free, and a purge leaves nothing. The other roles' units run as who they should, and as kept in as they say."""
import os
import shutil
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "node"))
import debian  # noqa: E402
import vm  # noqa: E402

SCRIPT = """
mkdir /new
mount -t tmpfs -o size=700m tmpfs /new
tar -x -C /new </dev/nvme0n1 || exit 1
mount -t proc proc /new/proc
mount -t sysfs sysfs /new/sys
mount -t cgroup2 cgroup2 /new/sys/fs/cgroup
mount --bind /dev /new/dev
mount -t tmpfs tmpfs /new/run
echo vm >/new/etc/hostname
export container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin SYSTEMD_PAGER= DEBIAN_FRONTEND=noninteractive LC_ALL=C
ln -sf /dev/null /new/etc/systemd/system/systemd-logind.service
# As switch_root does it: a program in a mere chroot could not make user namespaces, which units ask for.
unshare -m -p -f sh -c 'mount --make-rprivate / && mount -t proc proc /new/proc && cd /new && mount --move . / && exec chroot . /lib/systemd/systemd \\
  --system --unit=multi-user.target --log-target=console --log-level=notice --show-status=no' >/tmp/systemd.log 2>&1 &
until [ -S /new/run/systemd/private ]; do sleep 0.2; done
first=$(pidof systemd | tr ' ' '\\n' | head -n 1)
in_() { nsenter -t $first -m -p -r "$@"; }
ctl() { in_ systemctl "$@"; }
limit() { cut -d' ' -f1 /sys/fs/cgroup/batch.slice/cpu.max; }
until_() { for i in $(seq $(($1 * 5))); do eval "$2" && return; sleep 0.2; done; echo "see what=waited for=$2" | tr ' ' '_'; }
apt() { in_ apt-get -y -q -o APT::Sandbox::User=root "$@" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }; }
units() { ctl list-units --no-legend --plain 'koord-*' | grep -c ' running'; }
until_ 60 'ctl is-system-running 2>/dev/null | grep -qE "running|degraded"'
find /new -xdev | sort >/tmp/before
apt install /packages/first.deb
echo "see what=installed running=$(units) enabled=$(ctl is-enabled koord-koordlet.service)"
in_ systemd-run -q --unit=batch --slice=batch.slice -p CPUWeight=100 sh -c 'while :; do :; done'
in_ systemd-run -q --unit=web --slice=web.slice -p CPUWeight=100 sleep 100000
ctl start koord-koordlet || { ctl status koord-koordlet; tail -n 30 /tmp/systemd.log; }
until_ 30 '[ $(limit) != max ]'
echo "see what=protected limit=$(limit) running=$(units)"
until_ 20 'in_ koord top --once >/tmp/top 2>&1 && grep -q batch /tmp/top'
sed 's/^/top /' /tmp/top
pid=$(ctl show -p MainPID --value koord-koordlet)
while :; do limit; usleep 50000; done >/tmp/limits &
watcher=$!
# systemd writes what a slice's unit says each time that it is told to read units, and the agent writes it again.
ctl daemon-reload
sleep 3
echo "see what=reloaded let_go=$(grep -c max /tmp/limits) looks=$(wc -l </tmp/limits)"
: >/tmp/limits
apt install /packages/second.deb
until_ 30 '[ $(ctl show -p MainPID --value koord-koordlet) != $pid ] && ctl is-active -q koord-koordlet'
sleep 3
kill $watcher
echo "see what=upgraded limit=$(limit) let_go=$(grep -c max /tmp/limits) looks=$(wc -l </tmp/limits) restarts=$(ctl show -p NRestarts --value koord-koordlet)" \\
  "freed=$(in_ journalctl -u koord-koordlet | grep -c 'on this host is held back by koord') program=$(readlink /proc/$(pidof koord)/exe | tr ' ' '_') version=$(in_ dpkg-query -W -f '${Version}' koord)"
ctl start koord-scheduler 2>/dev/null; echo "see what=without running=$(ctl is-active koord-scheduler)"
for role in scheduler manager descheduler koordlet; do
  printf 'apiVersion: v1\\nkind: Config\\nclusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]\\n' >/new/etc/koord/$role.kubeconfig
  printf 'contexts: [{name: c, context: {cluster: c, user: u}}]\\ncurrent-context: c\\nusers: [{name: u, user: {}}]\\n' >>/new/etc/koord/$role.kubeconfig
done
in_ systemd-tmpfiles --create koord.conf
for role in scheduler manager descheduler runtime-proxy device-daemon; do
  ctl start koord-$role
  sleep 2
  pid=$(ctl show -p MainPID --value koord-$role)
  echo "see what=$role active=$(ctl is-active koord-$role) restarts=$(ctl show -p NRestarts --value koord-$role)" \\
    "user=$(ctl show -p User --value koord-$role) seccomp=$(nsenter -t $first -m -p -r sed -n 's/^Seccomp:.//p' /proc/$pid/status)" \\
    "caps=$(nsenter -t $first -m -p -r sed -n 's/^CapBnd:.//p' /proc/$pid/status)"
  ctl stop koord-$role
done
# The agent with Kubernetes takes the place of the one without, which sets free; then back.
ctl start --no-block koord-koordlet-kubernetes
until_ 30 '[ $(limit) = max ] && ! ctl is-active -q koord-koordlet && [ $(ctl show -p MainPID --value koord-koordlet-kubernetes) != 0 ]'
sleep 5
pid=$(ctl show -p MainPID --value koord-koordlet-kubernetes)
echo "see what=kubernetes active=$(ctl is-active koord-koordlet-kubernetes) restarts=$(ctl show -p NRestarts --value koord-koordlet-kubernetes)" \\
  "node=$(nsenter -t $first -m -p -r cat /proc/$pid/environ | tr '\\0' '\\n' | sed -n 's/^NODE_NAME=//p') told=$(ls /new/etc/runtime/hookserver.d | grep -c koordlet.json)"
in_ journalctl --no-pager -u koord-koordlet-kubernetes | tail -n 12
ctl start koord-koordlet
until_ 60 '[ $(limit) != max ] && [ $(ctl is-active koord-koordlet-kubernetes) = inactive ]'
echo "see what=back limit=$(limit) other=$(ctl is-active koord-koordlet-kubernetes)"
ctl enable -q koord-koordlet
apt remove koord
echo "see what=removed limit=$(limit) processes=$(pidof koord | wc -w) links=$(ls /new/etc/systemd/system/multi-user.target.wants | grep -c koord)"
apt purge koord
find /new -xdev | sort >/tmp/after
diff /tmp/before /tmp/after | grep '^[+][^+]' | grep -vE '/new/(tmp|proc|sys|dev|var/(lib/(apt|dpkg|systemd)|cache|log/(apt|dpkg|journal|alternatives)|tmp))' | sed 's/^/left /'
echo "see what=purged user=$(grep -c koord /new/etc/passwd) run=$(ls /new/run | grep -c koord)"
tail -n 30 /tmp/systemd.log
"""


def archive(folder):
    """The Debian with both packages in /packages."""
    path = os.path.join(folder, "disk")
    shutil.copy(debian.ARCHIVE, path)
    with tarfile.open(path, "a") as tar:
        for name, version in (("first", "0.1.0"), ("second", "0.1.0+next")):
            package, = debian.build("deb", os.path.join(folder, name), f"--version={version}")
            tar.add(package, f"packages/{name}.deb")
    return path


def main():
    debian.skip_without_needs()
    if vm.missing():
        debian.skip(vm.missing())
    with tempfile.TemporaryDirectory(prefix="koord-deb-vm.") as folder:
        status, lines = vm.run(SCRIPT, {}, seconds=1100, disk=vm.DiskOf(archive(folder)))
    assert status == 0, f"the machine's script ended with {status}"
    rows = [dict(word.split("=", 1) for word in line.split()[1:]) for line in lines if line.startswith("see ")]
    seen = {row["what"]: row for row in rows}
    assert "waited" not in seen, f"it did not come: {seen['waited']}"
    assert (seen["installed"]["running"], seen["installed"]["enabled"]) == ("0", "disabled"), seen["installed"]
    assert seen["protected"]["limit"] != "max" and seen["protected"]["running"] == "1", seen["protected"]
    shown = [line for line in lines if line.startswith("top ")]
    assert any("batch" in line for line in shown) and any("web" in line for line in shown), shown
    row = seen["upgraded"]
    assert row["limit"] != "max" and row["freed"] == "0" and int(row["looks"]) > 20, f"the upgrade set free: {row}"
    assert row["restarts"] == "0" and row["program"].endswith("/usr/bin/koord") and row["version"] == "0.1.0+next", row
    assert seen["without"]["running"] == "inactive", "a scheduler runs without a kubeconfig"
    for role, user in (("scheduler", "koord"), ("manager", "koord"), ("descheduler", "koord"), ("runtime-proxy", ""), ("device-daemon", "")):
        row = seen[role]
        assert (row["active"], row["restarts"], row["user"]) == ("active", "0", user), row
        if role != "device-daemon":
            assert int(row["caps"], 16) == 0 and row["seccomp"] == "2", f"it is not kept in: {row}"
    row = seen["kubernetes"]
    assert row["active"] in ("active", "activating") and (row["restarts"], row["node"], row["told"]) == ("0", "vm", "1"), row
    assert seen["back"]["limit"] != "max" and seen["back"]["other"] == "inactive", seen["back"]
    assert (seen["removed"]["limit"], seen["removed"]["processes"], seen["removed"]["links"]) == ("max", "0", "0"), seen["removed"]
    assert (seen["purged"]["user"], seen["purged"]["run"]) == ("0", "0"), seen["purged"]
    assert not [line for line in lines if line.startswith("left ")], "a purge leaves files"
    print("the deb in the virtual machine: passed")


if __name__ == "__main__":
    main()
