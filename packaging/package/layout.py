"""What a package puts where: one staged tree, of which deb and rpm are made. Only names of folders differ between them."""
import gzip
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
MAINTAINER = "koord maintainers <maintainers@koord.invalid>"
SUMMARY = "co-location of latency-sensitive and batch work on Kubernetes"
DESCRIPTION = """Koordinator's programs in one: a scheduler, a manager and a descheduler for
clusters, a node agent that measures what is asked for and not used, lends it
to batch work and takes it back, a proxy before the container runtime, and a
daemon that tells of accelerators. The node agent works without Kubernetes,
too. Nothing is started by the installation: each role has a systemd unit.
"""
# Unit in the package: its file in packaging/.
UNITS = {
    "koord-koordlet.service": "koordlet.service",
    "koord-runtime-proxy.service": "koord-runtime-proxy.service",
    "koord-device-daemon.service": "koord-device-daemon.service",
    "koord-scheduler.service": "package/units/koord-scheduler.service",
    "koord-manager.service": "package/units/koord-manager.service",
    "koord-descheduler.service": "package/units/koord-descheduler.service",
}
KUBERNETES_UNIT = "koord-koordlet-kubernetes.service"
ALL_UNITS = (*UNITS, KUBERNETES_UNIT)
# Text of the standalone unit: what stands there with Kubernetes. Each must occur.
WITH_KUBERNETES = (
    ("# The node agent on a machine of one's own, without Kubernetes. With Kubernetes: NODE_NAME and --kubeconfig instead of\n"
     "# --standalone-config, here and in ExecStopPost.\n",
     "# The node agent of a node whose kubelet, too, is a service of the machine's. It is koord-koordlet.service but for this.\n"),
    ("Description=koord node agent\nAfter=local-fs.target\n",
     "Description=koord node agent, with Kubernetes\nAfter=local-fs.target network-online.target\nWants=network-online.target\n"
     "# One agent a machine: the one that goes has ended before the other begins, whichever that is.\n"
     "Conflicts=koord-koordlet.service\nAfter=koord-koordlet.service\nAssertPathExists=/etc/koord/koordlet.kubeconfig\n"),
    ("Environment=agent_mode=hostMode\n",
     "Environment=agent_mode=hostMode NODE_NAME=%H\nEnvironmentFile=-/etc/koord/flags.env\n"),
    ("--standalone-config=/etc/koord/standalone.yaml --addr", "--kubeconfig=/etc/koord/koordlet.kubeconfig --addr"),
    # Last, so that they win.
    ("AuditEventsHTTPHandler=true\n", "AuditEventsHTTPHandler=true $KOORDLET_FLAGS\n"),
    ("StateDirectory=koord\n", "StateDirectory=koord\n# Where it says to a proxy before the container runtime that it is there.\n"
     "ConfigurationDirectory=runtime/hookserver.d\n"),
    ("--standalone-config=FILE --cleanup", "--kubeconfig=FILE --cleanup"),
    ("--standalone-config=/etc/koord/standalone.yaml --cleanup", "--kubeconfig=/etc/koord/koordlet.kubeconfig $$KOORDLET_FLAGS --cleanup"),
)
# Of what is linked into the program, the notices that have to go with it: Debian's packages of the static archives.
LIBRARIES = ("libboost1.81-dev", "rapidjson-dev", "libfmt-dev", "libyaml-cpp-dev", "libc-ares-dev", "libbpf-dev", "libre2-dev",
             "libssl-dev", "zlib1g-dev", "libzstd-dev", "libelf-dev", "libprotobuf-dev", "libgrpc++-dev", "libabsl-dev", "libc6-dev",
             "libstdc++-12-dev")
# What the build put in as it is, of this machine's packages whichever machine it builds for.
EMBEDDED = ("libjs-chart.js",)


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def script(name, **variables):
    """A part of the packages' scripts, with what it is told before it."""
    said = "".join(f'{key}="{value}"\n' for key, value in {"UNITS": " ".join(ALL_UNITS), **variables}.items())
    return said + text_of(HERE, "scripts", name)


def kubernetes_unit(standalone):
    for old, new in WITH_KUBERNETES:
        if standalone.count(old) != 1:
            raise ValueError(f"packaging/koordlet.service: expected once: {old!r}")
        standalone = standalone.replace(old, new)
    return standalone


class Build:
    """What `packaging/dev build` made. `libraries`: the root in which the packages of LIBRARIES are; `emulator`: what runs the program
    where this machine does not."""

    def __init__(self, koord, architecture, libraries="/", emulator=()):
        self.koord, self.architecture, self.libraries, self.emulator = koord, architecture, libraries, tuple(emulator)

    def roots(self):
        """Package of what is in the program: the root that has it."""
        return {**dict.fromkeys(LIBRARIES, self.libraries), **dict.fromkeys(EMBEDDED, "/")}

    def prints(self, *words):
        return subprocess.run([*self.emulator, self.koord, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def notices(build):
    """The copyright files of the packages in the program, one after the other."""
    parts = []
    for package, root in build.roots().items():
        path = os.path.join(root, f"usr/share/doc/{package}/copyright")
        if os.path.isfile(path):
            parts.append(f"==== {package}\n\n{text_of(path)}\n")
    return "Libraries that are linked into koord, and what their authors say.\n\n" + "".join(parts)


class Stage:
    """A tree of files as they are installed. `program` is what is packed of the build."""

    def __init__(self, folder, build, program, epoch):
        self.folder, self.build, self.program, self.epoch = folder, build, program, epoch
        self.files, self.configuration = [], []
        shutil.rmtree(folder, ignore_errors=True)

    def add(self, path, content, mode=0o644):
        whole = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(whole), 0o755, exist_ok=True)
        with open(whole, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(whole, mode)
        self.files.append(path)
        if path.startswith("etc/"):
            self.configuration.append(path)

    def link(self, path, target):
        whole = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(whole), 0o755, exist_ok=True)
        os.symlink(target, whole)
        self.files.append(path)

    def zipped(self, text):
        return gzip.compress(text.encode(), 9, mtime=0)

    def fill(self, units, zsh):
        """`units`, `zsh`: where the system has systemd's units and zsh's functions."""
        self.add("usr/bin/koord", b"", 0o755)
        shutil.copyfile(self.program, os.path.join(self.folder, "usr/bin/koord"))
        self.link("usr/bin/kubectl-koord", "koord")
        self.link("usr/bin/kubectl_complete-koord", "koord")
        self.add("usr/share/man/man1/koord.1.gz", self.zipped(self.build.prints("docs", "man")))
        self.link("usr/share/man/man1/kubectl-koord.1.gz", "koord.1.gz")
        self.link("usr/share/man/man1/kubectl_complete-koord.1.gz", "koord.1.gz")
        self.add("usr/share/bash-completion/completions/koord", self.build.prints("docs", "bash"))
        self.add(f"{zsh}/_koord", self.build.prints("docs", "zsh"))
        packaging = os.path.join(TREE, "packaging")
        for unit, source in UNITS.items():
            self.add(f"{units}/{unit}", text_of(packaging, source))
        self.add(f"{units}/{KUBERNETES_UNIT}", kubernetes_unit(text_of(packaging, "koordlet.service")))
        self.add("usr/lib/sysusers.d/koord.conf", text_of(HERE, "files", "sysusers.conf"))
        self.add("usr/lib/tmpfiles.d/koord.conf", text_of(HERE, "files", "tmpfiles.conf"))
        self.add("etc/koord/flags.env", text_of(HERE, "files", "flags.env"))
        self.add("etc/koord/standalone.yaml", text_of(packaging, "standalone.example.yaml"))
        for example in ("containerd-nri.toml", "containerd-nri-required.toml", "kubelet-through-proxy.conf"):
            self.add(f"usr/share/doc/koord/examples/{example}", text_of(packaging, example))
        self.add("usr/share/doc/koord/libraries.gz", self.zipped(notices(self.build)))
