"""systemd of this host in the virtual machine, first process of a namespace, with the units of packaging/ as they are."""
import os
import subprocess

import vm
import vm_node
from agent import KOORD, TREE, skip_without_role
from janitor import skip

PROGRAMS = ["/lib/systemd/systemd", "/usr/bin/systemctl", "/usr/bin/systemd-run"]
UNITS = "/etc/systemd/system"
PROXY_UNIT = "koord-runtime-proxy.service"

# The test's own settings: shorter waits, and a log where there is no journald.
DROP_IN = """[Service]
StandardOutput=append:/run/koord.log
StandardError=append:/run/koord.log
WatchdogSec=4
TimeoutStopSec=3
"""

# "service NAME COMMAND [SETTINGS]" writes a unit in a slice of its name; "systemd_" starts systemd; "ctl" and "run" ask it.
# Whoever asks it has to be in its namespace, too.
SETUP = """
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
service() { printf "[Unit]\\nDefaultDependencies=no\\n[Service]\\nSlice=$1.slice\\n$3\\nExecStart=/bin/sh -c '$2'\\n" \\
  >/etc/systemd/system/$1.service; }
systemd_() {
  export container=lxc PATH=/bin:/usr/bin SYSTEMD_PAGER=
  unshare -m -p -f --mount-proc /lib/systemd/systemd --system --log-target=console --log-level=notice --show-status=no >/run/systemd.log 2>&1 &
  until [ -S /run/systemd/private ]; do sleep 0.2; done
  first=$(pidof systemd | tr ' ' '\\n' | head -n 1)
}
ctl() { nsenter -t $first -m -p systemctl "$@"; }
run() { nsenter -t $first -m -p systemd-run "$@"; }
start() { for try in $(seq 20); do ctl start "$@" && return; sleep 0.3; done; exit 1; }
"""


def skip_without_needs():
    reason = vm.missing() or next((f"{path} is missing: run packaging/dev deps" for path in PROGRAMS if not os.path.exists(path)), None)
    if reason:
        skip(reason)
    skip_without_role()


def files(folder, config=os.path.join(TREE, "packaging", "standalone.example.yaml")):
    """Of the machine: koord, its unit, the file of --standalone-config, systemd's programs. `folder` is one of the test's."""
    koord, drop_in = (os.path.join(folder, name) for name in ("koord", "drop-in"))
    subprocess.run(["strip", "-o", koord, KOORD], check=True)
    with open(drop_in, "w", encoding="utf-8") as file:
        file.write(DROP_IN)
    found = {"/usr/bin/koord": koord, f"{UNITS}/koordlet.service.d/test.conf": drop_in,
             **{f"{UNITS}/{unit}": os.path.join(TREE, "packaging", unit) for unit in ("koordlet.service", PROXY_UNIT)},
             "/etc/koord/standalone.yaml": config}
    for program in PROGRAMS:
        found |= vm_node.closure(program)
    return found
