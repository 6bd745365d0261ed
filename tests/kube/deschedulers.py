"""What comparisons of deschedulers share: one of the two as a process, its configuration, and whom it would make go, pass by pass."""
import functools
import json
import os
import re
import subprocess
import tempfile
import time

from schedulers import KOORD

import original_descheduler
from sandbox import free_port, wait_for

# A node that is not ready is named once a pass by the original, before anything else: so its passes are told apart.
NOT_READY = "not-ready"
FIELD = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S+))')
ENDS = {"original": f'"Ignoring node" node="{NOT_READY}"', "koord": "a pass is over"}


def plugin(name, point="deschedule", **args):
    """A part of a configuration: one plugin with its arguments."""
    return {"name": name, "point": point, "args": args}


def configuration(kubeconfig, wanted, *, evictor="DefaultEvictor", evictor_args=None, dry_run=True, interval="50ms", profile_nodes=None,
                  **more):
    """With one profile that has one plugin and one evictor, and looks at these nodes; `more`: of the configuration itself."""
    address = f"127.0.0.1:{free_port()}"
    only = {"disabled": [{"name": "*"}], "enabled": [{"name": evictor}]}
    args = [{"name": wanted["name"], "args": wanted["args"]}] if wanted else []
    if evictor_args:
        args.append({"name": evictor, "args": evictor_args})
    nodes = {"nodeSelector": profile_nodes} if profile_nodes else {}
    points = {wanted["point"]: {"enabled": [{"name": wanted["name"]}]}} if wanted else {}
    return {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerConfiguration", "dryRun": dry_run, "deschedulingInterval": interval,
            "leaderElection": {"leaderElect": False}, "healthzBindAddress": address, "metricsBindAddress": address,
            "clientConnection": {"kubeconfig": kubeconfig, "qps": 10000, "burst": 10000},
            "profiles": [{"name": "koord-descheduler", "plugins": {**points, "evict": only, "filter": only}, "pluginConfig": args, **nodes}], **more}


@functools.lru_cache
def own_flags():
    """Those with which koord asks what the original asks."""
    known = subprocess.run([KOORD, "--role=descheduler", "--help"], capture_output=True, text=True, check=False).stdout
    return ["--node-fit=basic"] if "--node-fit" in known else []


class Descheduler:
    """`side` is original or koord; ended with the block."""

    def __init__(self, side, config, *flags):
        self.side, self.folder = side, tempfile.TemporaryDirectory(prefix="koord-compare.")
        path = os.path.join(self.folder.name, "config")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        command = (original_descheduler.command(path, "--v=1", *flags) if side == "original" else
                   [KOORD, "--role=descheduler", f"--kubeconfig={config['clientConnection']['kubeconfig']}", f"--config={path}",
                    "--secure-port=0", "--v=2", *own_flags(), *flags])
        self.log = open(os.path.join(self.folder.name, "log"), "wb")
        self.child = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.log.close()
        self.folder.cleanup()

    def output(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def passes_over(self, count, seconds=60):
        """Waits until that many have begun (the original) or are over."""
        wait_for(f"{count} passes of {self.side}", lambda: self.alive() and self.output().count(ENDS[self.side]) >= count, seconds)

    def alive(self):
        assert self.child.poll() is None, f"{self.side} ended with {self.child.returncode}:\n{self.output()[-4000:]}"
        return True

    def passes(self, count, seconds=60):
        """The first whole ones: for each {pod: (node, plugin, reason)}."""
        end = time.monotonic() + seconds
        while len(found := passes_of(self.side, self.output())) < count:
            self.alive()
            assert time.monotonic() < end, f"{self.side}: {len(found)} passes of {count} in {seconds} s:\n{self.output()[-4000:]}"
            time.sleep(0.05)
        return found[:count]


def passes_of(side, text):
    """Of a log; the last one, of which more may come, is left out, as is a line that is being written."""
    passes, now = [], None if side == "original" else {}
    for line in text[:text.rfind("\n") + 1].splitlines():
        if ENDS[side] in line:
            if now is not None:
                passes.append(now)
            now = {}
        elif "victed pod in dry run mode" in line:
            said = {key: re.sub(r"\\(.)", r"\1", quoted) or bare for key, quoted, bare in FIELD.findall(line)}
            assert now is not None, line
            now.setdefault(name_of(side, said), []).append((said["node"], said["strategy"], said["reason"]))
    return passes


def name_of(side, said):
    return said["pod"] if side == "original" else f"{said['namespace']}/{said['pod']}"
