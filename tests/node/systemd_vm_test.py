#!/usr/bin/env python3
"""In the virtual machine, under the systemd of this host: packaging/koordlet.service as it is. The limits that the agent
has set outlast a restart, a crash, an agent that hangs and one that ends by itself; systemctl stop sets free."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_node  # noqa: E402
from agent import KOORD, TREE, skip_without_role  # noqa: E402
from janitor import skip  # noqa: E402

PROGRAMS = ["/lib/systemd/systemd", "/usr/bin/systemctl"]

# The test's own settings: shorter waits, and a log where there is no journald.
DROP_IN = """[Service]
StandardOutput=append:/run/koord.log
StandardError=append:/run/koord.log
WatchdogSec=4
TimeoutStopSec=3
"""

# systemd is the first process of a namespace. Whoever asks it has to be in there, too.
SCRIPT = """
mount -t tmpfs tmpfs /run
rm -rf /var/run
ln -s /run /var/run
mkdir -p /var/lib /var/log /var/tmp /root /home
ln -s /bin/busybox /usr/bin/sleep
echo root:x:0:0:root:/root:/bin/sh >/etc/passwd
echo root:x:0: >/etc/group
: >/etc/machine-id
chmod 644 /etc/systemd/system/*.service /etc/systemd/system/koordlet.service.d/*
for name in sysinit basic shutdown local-fs default sockets timers paths slices umount; do
  printf '[Unit]\\nDefaultDependencies=no\\n' >/etc/systemd/system/$name.target
done
service() { printf "[Unit]\\nDefaultDependencies=no\\n[Service]\\nSlice=$1.slice\\nCPUWeight=100\\nExecStart=/bin/sh -c '$2'\\n" \\
  >/etc/systemd/system/$1.service; }
service batch "while :; do :; done"
service web "sleep 100000"
export container=lxc PATH=/bin:/usr/bin SYSTEMD_PAGER=
unshare -m -p -f --mount-proc /lib/systemd/systemd --system --log-target=console --log-level=notice --show-status=no >/run/systemd.log 2>&1 &
until [ -S /run/systemd/private ]; do sleep 0.2; done
first=$(pidof systemd | tr ' ' '\\n' | head -n 1)
ctl() { nsenter -t $first -m -p systemctl "$@"; }
limit() { cut -d' ' -f1 /sys/fs/cgroup/batch.slice/cpu.max; }
see() { echo "see what=$1 limit=$(limit) freed=$(grep -c 'is throttled any more' /run/koord.log)" \\
  $(ctl show -p ActiveState,NRestarts koordlet.service); }
comes_back() { until [ "$(ctl show -p ActiveState,NRestarts --value koordlet.service | tr '\\n' ' ')" = "$1 active " ]; do sleep 0.2; done; }
until ctl start batch.service web.service; do sleep 0.2; done
ctl start koordlet.service
while [ $(limit) = max ]; do sleep 0.2; done
see throttled
ctl restart koordlet.service
see restarted
kill -9 $(pidof koord)
comes_back 1
see crashed
kill -STOP $(pidof koord)
comes_back 2
see hung
kill -TERM $(pidof koord)
comes_back 3
see ended
ctl stop koordlet.service
see stopped
cat /run/koord.log | tail -n 20
cat /run/systemd.log
"""


def main():
    reason = vm.missing() or next((f"{path} is missing: run packaging/dev deps" for path in PROGRAMS if not os.path.exists(path)), None)
    if reason:
        skip(reason)
    skip_without_role()
    units = "/etc/systemd/system"
    with tempfile.TemporaryDirectory(prefix="koord-systemd.") as folder:
        koord, drop_in = (os.path.join(folder, name) for name in ("koord", "drop-in"))
        subprocess.run(["strip", "-o", koord, KOORD], check=True)
        with open(drop_in, "w", encoding="utf-8") as file:
            file.write(DROP_IN)
        files = {"/usr/bin/koord": koord, f"{units}/koordlet.service.d/test.conf": drop_in,
                 f"{units}/koordlet.service": os.path.join(TREE, "packaging", "koordlet.service"),
                 "/etc/koord/standalone.yaml": os.path.join(TREE, "packaging", "standalone.example.yaml")}
        for program in PROGRAMS:
            files |= vm_node.closure(program)
        status, lines = vm.run(SCRIPT, files, seconds=240)
    assert status == 0, f"the machine's script ended with {status}"
    seen = {row["what"]: row for row in (dict(word.split("=", 1) for word in line.split()[1:]) for line in lines if line.startswith("see "))}
    for what, restarts in (("throttled", "0"), ("restarted", "0"), ("crashed", "1"), ("hung", "2"), ("ended", "3")):
        row = seen[what]
        assert row["limit"] != "max", f"{what}: nothing is held back any more"
        assert (row["freed"], row["ActiveState"], row["NRestarts"]) == ("0", "active", restarts), f"{what}: {row}"
    assert (seen["stopped"]["limit"], seen["stopped"]["freed"], seen["stopped"]["ActiveState"]) == ("max", "1", "inactive"), seen["stopped"]
    assert any("Watchdog timeout" in line for line in lines), "the agent that hung was not ended by the watchdog"
    print("systemd: passed")


if __name__ == "__main__":
    main()
