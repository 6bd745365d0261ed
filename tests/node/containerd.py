"""containerd on a stage: the machine's own (1.6 on Debian 12) or a version that packaging/dev kube-assets has built."""
import json
import os
import shutil
import time

from images import Image

CACHE = os.environ.get("KOORD_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "koord")
CNI = "/usr/lib/cni"
PROGRAMS = ("containerd", "containerd-shim-runc-v2", "ctr")
CURRENT, NEWEST = "2.1.4", "2.2.1"  # what CI has, and what the long tests have, too
PAUSE, IMAGE = "koord.test/pause:1", "koord.test/busybox:1"
PAUSE_COMMAND = ["/bin/busybox", "sleep", "2147483647"]
START_SECONDS = 60

UNUSED = """disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt"]
"""
HEAD = """root = "{dir}/containerd"
state = "{dir}/containerd-state"
[grpc]
  address = "{dir}/containerd.sock"
"""
CONFIG_1 = "version = 2\n" + UNUSED + HEAD + """[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni}"
    conf_dir = "{dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""
CONFIG_2 = "version = 3\n" + UNUSED + HEAD + """[plugins."io.containerd.cri.v1.images"]
  snapshotter = "native"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{pause}"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "{dir}/registries"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  disable_apparmor = true
  cdi_spec_dirs = ["{dir}/cdi"]
  [plugins."io.containerd.cri.v1.runtime".cni]
    {bin_dirs}
    conf_dir = "{dir}/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri"]
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
[[plugins."io.containerd.transfer.v1.local".unpack_config]]
  platform = "linux/amd64"
  snapshotter = "native"
"""
NRI = """[plugins."io.containerd.nri.v1.nri"]
  disable = false
  disable_connections = false
  socket_path = "{dir}/nri.sock"
  plugin_path = "{dir}/nri-plugins"
  plugin_config_path = "{dir}/nri-config"
  plugin_registration_timeout = "5s"
  plugin_request_timeout = "{nri_seconds}s"
"""
NRI_SOCKET, NRI_LIMIT = "/var/run/nri/nri.sock", 'plugin_request_timeout = "2s"'
# What pods get that do not use the host's network.
LOOPBACK = {"type": "loopback"}
POINT_TO_POINT = {"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.231.0.0/20"}]],
                                          "routes": [{"dst": "0.0.0.0/0"}]}}
PORT_MAP = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}  # iptables of the caller's network


def folder_of(version):
    """Where its programs are; None: wherever PATH says."""
    return os.path.join(CACHE, "containerd", version) if version else None


def missing(version=None):
    folder = folder_of(version)
    for program in PROGRAMS:
        if shutil.which(program, path=folder) is None:
            return f"{program} is missing" + (f" in {folder}: run packaging/dev kube-assets" + (
                " --long" if version != CURRENT else "") if folder else ": run packaging/dev deps")
    if shutil.which("runc") is None:
        return "runc is missing: run packaging/dev deps"
    for plugin in ("loopback", "ptp"):
        if not os.access(os.path.join(CNI, plugin), os.X_OK):
            return f"{CNI}/{plugin} is missing: run packaging/dev deps"
    return None


class Containerd:
    """In the stage's namespace, with its folders in the stage's. `drop_in`: a file of packaging/ that says how NRI is, as it is but
    for the stage's socket instead of the machine's and a time limit for busy machines."""

    def __init__(self, stage, version=None, network=LOOPBACK, nri_seconds=10, drop_in=None, more_network=()):
        self.stage, self.folder = stage, folder_of(version)
        self.socket, self.nri_socket = (os.path.join(stage.dir, name) for name in ("containerd.sock", "nri.sock"))
        self.config = os.path.join(stage.dir, "containerd.toml")
        path = os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        self.env = {**os.environ, "PATH": f"{self.folder}:{path}" if self.folder else path}
        stage.janitor.group("k8s.io")
        os.mkdir(os.path.join(stage.dir, "cni"))
        # host-local keeps its addresses in the stage's folder, not in the machine's.
        if "ipam" in network:
            network = {**network, "ipam": {**network["ipam"], "dataDir": os.path.join(stage.dir, "cni-addresses")}}
        with open(os.path.join(stage.dir, "cni", "10-koord.conflist"), "w", encoding="utf-8") as file:
            json.dump({"cniVersion": "0.4.0", "name": "koord-network", "plugins": [network, *more_network]}, file)
        old = version is None or version.startswith(("1.6", "1.7"))
        bin_dirs = f'bin_dir = "{CNI}"' if version == CURRENT else f'bin_dirs = ["{CNI}"]'
        text = CONFIG_1 if old else CONFIG_2 if drop_in else CONFIG_2 + NRI
        text = text.format(dir=stage.dir, pause=PAUSE, cni=CNI, bin_dirs=bin_dirs, nri_seconds=nri_seconds)
        self.drop_in = os.path.join(stage.dir, "conf.d", "koord-nri.toml")
        if drop_in:
            with open(drop_in, encoding="utf-8") as file:
                said = file.read()
            assert NRI_SOCKET in said and NRI_LIMIT in said, drop_in
            os.mkdir(os.path.dirname(self.drop_in))
            with open(self.drop_in, "w", encoding="utf-8") as file:
                file.write(said.replace(NRI_SOCKET, self.nri_socket).replace(NRI_LIMIT, NRI_LIMIT.replace("2s", f"{nri_seconds}s")))
            text = f'imports = ["{os.path.dirname(self.drop_in)}/*.toml"]\n' + text
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        """Also again, after kill(): what it knew it still knows, and its containers live on."""
        # The whole path: execvp looks a name up in the path of who calls it.
        self.stage.spawn("containerd", shutil.which("containerd", path=self.folder), "--config", self.config, env=self.env)
        end = time.monotonic() + START_SECONDS
        while self.ctr("version").returncode != 0:
            assert self.stage.processes["containerd"].poll() is None and time.monotonic() < end, \
                "containerd does not answer:\n" + self.stage.log_tail("containerd")
            time.sleep(0.1)

    def kill(self):
        self.stage.kill("containerd")

    def ctr(self, *words):
        return self.stage.run("ctr", "-a", self.socket, "-n", "k8s.io", *words, env=self.env)

    def add_image(self, image, *names):
        archive = os.path.join(self.stage.dir, "image.tar")
        image.archive(archive, *names)
        done = self.ctr("images", "import", archive)
        assert done.returncode == 0, f"import of {names}: {done.stderr}"

    def add_pause(self):
        self.add_image(Image(PAUSE_COMMAND), PAUSE)
