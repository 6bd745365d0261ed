"""A clean Debian 12 in a folder, of the archive that `packaging/dev debian-root` makes, and packages built for it."""
import hashlib
import os
import shutil
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
KOORD = os.environ.get("KOORD") or os.path.join(TREE, "build", "koord")
CACHE = os.environ.get("KOORD_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "koord")
ARCHIVE = os.environ.get("KOORD_DEBIAN_ROOT") or os.path.join(CACHE, "debian", "bookworm.tar")
# What apt, dpkg and passwd write of any package, and keep.
THEIRS = ("var/lib/dpkg", "var/lib/apt", "var/lib/pam", "var/cache", "var/log/dpkg.log", "var/log/apt", "var/log/alternatives.log", "proc", "sys",
          "dev", "tmp", "run/systemd", "etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-", "etc/subuid-", "etc/subgid-", "etc/.pwd.lock")


def skip(reason):
    print(f"{os.path.basename(sys.argv[0])}: skipped: {reason}")
    sys.exit(77)


def skip_without_needs():
    if os.geteuid() != 0:
        skip("needs root")
    if not os.path.isfile(ARCHIVE):
        skip(f"no Debian at {ARCHIVE}: run packaging/dev debian-root")


def build(kind, out, *words, epoch=None):
    """`packaging/dev package` without its build. Returns what lies in `out` then."""
    env = {**os.environ, **({"SOURCE_DATE_EPOCH": str(epoch)} if epoch else {})}
    subprocess.run([sys.executable, os.path.join(TREE, "packaging", "package", "package.py"), f"--koord={KOORD}", f"--out={out}", *words, kind],
                   check=True, cwd=TREE, env=env, stdout=subprocess.DEVNULL)
    return sorted(os.path.join(out, name) for name in os.listdir(out))


def content(path):
    with open(path, "rb") as file:
        return file.read()


class Debian:
    """The system in `folder`. Programs of it run with a /proc of their own, and end with the command."""

    def __init__(self, folder):
        self.folder = folder
        os.mkdir(folder, 0o755)
        subprocess.run(["tar", "-x", "-p", "-C", folder, "-f", ARCHIVE], check=True)

    def path(self, *names):
        return os.path.join(self.folder, *(name.lstrip("/") for name in names))

    def run(self, *words, check=True):
        """Returns (exit status, what it printed to either stream)."""
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root", "LC_ALL": "C"}
        done = subprocess.run(["unshare", "-m", "-p", "-f", "--kill-child", f"--mount-proc={self.path('proc')}", "chroot", self.folder, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env, timeout=300, check=False)
        text = done.stdout.decode(errors="replace")
        assert not check or done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{text}"
        return done.returncode, text

    def prints(self, *words):
        return self.run(*words)[1]

    def install(self, package):
        """By apt, without a network: what the package needs is there."""
        shutil.copy(package, self.path("tmp"))
        return self.prints("apt-get", "install", "-y", "-q", "--allow-downgrades", "-o", "APT::Sandbox::User=root", "-o", "Dpkg::Options::=--force-confold",
                           f"/tmp/{os.path.basename(package)}")

    def state(self):
        """Path: kind, mode, owner and content of all that is not THEIRS."""
        found = {}
        for at, folders, files in os.walk(self.folder):
            inside = os.path.relpath(at, self.folder)
            folders[:] = [name for name in folders if os.path.normpath(os.path.join(inside, name)) not in THEIRS]
            for name in folders + files:
                path = os.path.normpath(os.path.join(inside, name))
                if path in THEIRS:
                    continue
                whole = os.path.join(at, name)
                info = os.lstat(whole)
                said = os.readlink(whole) if stat.S_ISLNK(info.st_mode) else \
                    hashlib.sha256(content(whole)).hexdigest() if stat.S_ISREG(info.st_mode) else ""
                found[path] = (oct(info.st_mode), info.st_uid, info.st_gid, said)
        return found


def differences(before, after):
    """One line each of what came, went, or is another."""
    return [f"{'+' if path not in before else '-' if path not in after else '~'} {path}" for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)]
