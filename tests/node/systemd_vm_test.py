#!/usr/bin/env python3
"""In the virtual machine, under the systemd of this host: packaging/koordlet.service as it is. The limits that the agent
has set outlast a restart, a crash, an agent that hangs and one that ends by itself; systemctl stop sets free. And
packaging/koord-runtime-proxy.service, with its sandbox: it serves its socket, and comes back."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vm  # noqa: E402
import vm_systemd  # noqa: E402

SCRIPT = vm_systemd.SETUP + """
service batch "while :; do :; done" CPUWeight=100
service web "sleep 100000" CPUWeight=100
systemd_
limit() { cut -d' ' -f1 /sys/fs/cgroup/batch.slice/cpu.max; }
see() { echo "see what=$1 limit=$(limit) freed=$(grep -c 'on this host is held back by koord' /run/koord.log)" \\
  $(ctl show -p ActiveState,NRestarts koordlet.service); }
comes_back() { until [ "$(ctl show -p ActiveState,NRestarts --value koordlet.service | tr '\\n' ' ')" = "$1 active " ]; do sleep 0.2; done; }
start batch.service web.service
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
mkdir -p /etc/systemd/system/koord-runtime-proxy.service.d
printf '[Service]\\nStandardOutput=append:/run/proxy.log\\nStandardError=append:/run/proxy.log\\n' >/etc/systemd/system/koord-runtime-proxy.service.d/test.conf
ctl daemon-reload
ctl start koord-runtime-proxy.service
serves() { until grep -q "$socket\$" /proc/net/unix && [ "$(ctl show -p NRestarts --value koord-runtime-proxy.service)" = $1 ]; do sleep 0.2; done; }
socket=/var/run/koord-runtimeproxy/runtimeproxy.sock
serves 0
stat -c "see what=proxy socket=%a:%U folder=$(stat -c %a /run/koord-runtimeproxy) hooks=$(stat -c %a /etc/runtime/hookserver.d) caps=$(
  grep CapBnd /proc/$(pidof koord)/status | cut -f2) seccomp=$(grep Seccomp: /proc/$(pidof koord)/status | cut -f2)" $socket
kill -9 $(pidof koord)
serves 1
ctl stop koord-runtime-proxy.service
echo "see what=proxy-stopped" $(ctl show -p ActiveState,Result koord-runtime-proxy.service)
tail -n 20 /run/proxy.log
cat /run/koord.log | tail -n 20
cat /run/systemd.log
"""


def main():
    vm_systemd.skip_without_needs()
    with tempfile.TemporaryDirectory(prefix="koord-systemd.") as folder:
        status, lines = vm.run(SCRIPT, vm_systemd.files(folder), seconds=240)
    assert status == 0, f"the machine's script ended with {status}"
    seen = {row["what"]: row for row in (dict(word.split("=", 1) for word in line.split()[1:]) for line in lines if line.startswith("see "))}
    for what, restarts in (("throttled", "0"), ("restarted", "0"), ("crashed", "1"), ("hung", "2"), ("ended", "3")):
        row = seen[what]
        assert row["limit"] != "max", f"{what}: nothing is held back any more"
        assert (row["freed"], row["ActiveState"], row["NRestarts"]) == ("0", "active", restarts), f"{what}: {row}"
    assert (seen["stopped"]["limit"], seen["stopped"]["freed"], seen["stopped"]["ActiveState"]) == ("max", "1", "inactive"), seen["stopped"]
    proxy = seen["proxy"]
    assert (proxy["socket"], proxy["folder"], proxy["hooks"]) == ("600:root", "700", "755"), proxy
    assert int(proxy["caps"], 16) == 0 and proxy["seccomp"] == "2", f"it is not kept in: {proxy}"
    assert (seen["proxy-stopped"]["ActiveState"], seen["proxy-stopped"]["Result"]) == ("inactive", "success"), seen["proxy-stopped"]
    assert any("Watchdog timeout" in line for line in lines), "the agent that hung was not ended by the watchdog"
    print("systemd: passed")


if __name__ == "__main__":
    main()
