#!/usr/bin/env python3
"""The image in a real containerd: the same digest when built twice, imported under each name, and a role that runs from it
against a cluster as who it should. usage: image_test.py [--machines], with the machine's own containerd"""
import json
import os
import re
import ssl
import subprocess
import sys
import tarfile
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
for beside in ("node", "support"):
    sys.path.insert(0, os.path.join(HERE, "..", beside))
import containerd  # noqa: E402
import debian  # noqa: E402
from janitor import Janitor, skip  # noqa: E402
from runtime_stage import Stage  # noqa: E402
from sandbox import Sandbox, free_port, wait_for  # noqa: E402

NAME, LATEST = "docker.io/library/koord:0.1.0", "docker.io/library/koord:latest"
NAMES = {"koordlet": "koordlet", "koord-manager": "manager", "koord-scheduler": "scheduler", "koord-descheduler": "descheduler",
         "koord-runtime-proxy": "proxy", "koord-device-daemon": "device-daemon"}
USER = 65532


def check_archive(path):
    """Of all names one layer, owned by root, with what a program looks for. Returns the digests by name."""
    with tarfile.open(path) as archive:
        index = json.load(archive.extractfile("index.json"))
        assert [row["Layers"] for row in json.load(archive.extractfile("manifest.json"))] == 2 * [archive.getnames()[3:4]]
        with tarfile.open(fileobj=archive.extractfile(archive.getnames()[3])) as layer:
            members = {member.name: member for member in layer}
    assert all((member.uid, member.gid) == (0, 0) for member in members.values())
    assert members["tmp"].mode == 0o1777 and members["koord"].mode == 0o755
    assert {name for name, member in members.items() if member.issym()} == {*NAMES, "kubectl-koord"}
    for wanted in ("etc/ssl/certs/ca-certificates.crt", "usr/share/zoneinfo/Europe/Berlin", "usr/share/doc/koord/libraries.gz", "etc/passwd"):
        assert wanted in members, wanted
    return {manifest["annotations"]["io.containerd.image.name"]: manifest["digest"] for manifest in index["manifests"]}


def serves(port):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).status == 200
    except (OSError, ssl.SSLError):
        return False


def run_from_it(runtime, name, *command):
    done = runtime.ctr("run", "--rm", "--net-host", "--snapshotter", "native", name, "once", *command)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def check_role(stage, runtime):
    """The scheduler, by its original's name, as nobody in particular, against a sandbox."""
    with Sandbox("--nodes=2", "--roles=") as cluster:
        kubeconfig, port = os.path.join(stage.dir, "kubeconfig"), free_port()
        with open(kubeconfig, "wb") as file:
            file.write(debian.content(cluster.kubeconfig))
        os.chmod(stage.dir, 0o755)
        os.chmod(kubeconfig, 0o644)
        done = runtime.ctr("run", "-d", "--net-host", "--snapshotter", "native", "--mount",
                           f"type=bind,src={kubeconfig},dst=/kubeconfig,options=rbind:ro", f"{NAME}-nonroot", "role", "/koord-scheduler",
                           "--kubeconfig=/kubeconfig", "--secure-port=0", "--address=127.0.0.1", f"--port={port}")
        assert done.returncode == 0, done.stderr
        wait_for("the scheduler", lambda: serves(port))
        pid = re.search(r"(?m)^role\s+(\d+)\s+RUNNING", runtime.ctr("tasks", "ls").stdout).group(1)
        status = debian.content(f"/proc/{pid}/status").decode()
        assert f"Uid:\t{USER}\t{USER}" in status and f"Gid:\t{USER}\t{USER}" in status, status
        assert runtime.ctr("tasks", "kill", "-s", "SIGTERM", "role").returncode == 0
        wait_for("its end", lambda: "STOPPED" in runtime.ctr("tasks", "ls").stdout)
        ended = runtime.ctr("tasks", "rm", "role")
        assert ended.returncode == 0, f"it did not end well: {ended.stdout}{ended.stderr}"
        runtime.ctr("containers", "rm", "role")


def main():
    version = None if "--machines" in sys.argv else containerd.CURRENT
    if os.geteuid() != 0:
        skip("needs root")
    if containerd.missing(version):
        skip(containerd.missing(version))
    with tempfile.TemporaryDirectory(prefix="koord-image.") as folder, Janitor() as janitor:
        path, = debian.build("image", os.path.join(folder, "first"))
        again, = debian.build("image", os.path.join(folder, "again"))
        assert subprocess.run(["cmp", path, again], check=False).returncode == 0, "built twice it is another"
        digests = check_archive(path)
        stage = Stage(janitor, "koord-image-stage.")
        stage.open_namespace()
        runtime = containerd.Containerd(stage, version)
        runtime.start()
        done = runtime.ctr("images", "import", "--no-unpack", path)
        assert done.returncode == 0, done.stderr
        listed = {row.split()[0]: row.split()[2] for row in runtime.ctr("images", "ls").stdout.splitlines()[1:]
                  if not row.startswith("sha256:")}
        assert listed == digests and sorted(listed) == [NAME, f"{NAME}-nonroot", LATEST], (listed, digests)
        assert listed[LATEST] == listed[NAME] != listed[f"{NAME}-nonroot"], listed
        assert run_from_it(runtime, NAME, "/koord", "version").startswith("koord ")
        for name, role in NAMES.items():
            assert run_from_it(runtime, NAME, f"/{name}", "--help").startswith(f"koord --role={role}:"), name
        check_role(stage, runtime)
    print("the image: passed")


if __name__ == "__main__":
    main()
