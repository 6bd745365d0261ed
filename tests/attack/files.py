"""Files that are no configuration: the program says which file and why, and ends; it never hangs, grows or crashes."""
import os
import subprocess
import tempfile

import sandbox
from ground import CEILING, expect

LIMIT_KIB = 2 << 20  # of address space that a program may take for a file


def hostile(folder):
    """(name, path) of files that are one kind of bad each."""
    def write(name, data):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return name, path

    yield write("deep-flow", b"[" * 400_000)
    yield write("deep-block", b"".join(b" " * i + b"a:\n" for i in range(3000)))
    yield write("aliases", b"a: &a0 [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"b%d: &a%d [%s]\n" % (i, i + 1, b",".join([b"*a%d" % i] * 9)) for i in range(15)))
    yield write("itself", b"a: &a [*a]\n")
    yield write("binary", os.urandom(1 << 20))
    yield write("huge", b"a: b\n" * (16 << 20))
    yield write("long-line", b"a: " + b"x" * (64 << 20))
    yield write("no-utf8", b"apiVersion: v1\nkind: \xff\xfe\n")
    yield write("wrong-types", b"apiVersion: v1\nkind: Config\nclusters: {}\nusers: 7\ncontexts: x\ncurrent-context: [a]\n")
    path = os.path.join(folder, "fifo")
    os.mkfifo(path)
    yield "fifo", path
    path = os.path.join(folder, "loop")
    os.symlink(path, path)
    yield "loop", path
    path = os.path.join(folder, "folder")
    os.mkdir(path)
    yield "folder", path
    yield "zeros", "/dev/zero"
    yield "absent", os.path.join(folder, "absent")


PROGRAMS = {
    "kubeconfig": ["--role=scheduler", "--secure-port=0", "--port=0", "--kubeconfig={}"],
    "config": ["--role=scheduler", "--secure-port=0", "--port=0", "--config={}"],
    "descheduler config": ["--role=descheduler", "--secure-port=0", "--port=0", "--config={}"],
    "scheduler config": ["--role=descheduler", "--secure-port=0", "--port=0", "--scheduler-config={}"],
    "standalone": ["--role=koordlet", "--addr=127.0.0.1:0", "--standalone-config={}"],
    "load": ["sandbox", "--summary=none", "--roles=", "--until-idle", "--idle-after=0s", "--load={}"],
}


def judge(flag, words, name, path):
    what = f"{flag}: {name}"
    command = ["bash", "-c", f'ulimit -v {LIMIT_KIB}; exec "$@"', "-", sandbox.KOORD, *[word.format(path) for word in words]]
    try:
        done = subprocess.run(command, capture_output=True, timeout=2 if name == "fifo" else CEILING, stdin=subprocess.DEVNULL, check=False,
                              env={**os.environ, "NODE_NAME": "n"})
    except subprocess.TimeoutExpired:
        if name == "fifo":
            return  # an operator's pipe is waited for; that a signal ends it is the process tests' affair
        raise AssertionError(f"{what}: still running after {CEILING:.0f} s") from None
    said = (done.stdout + done.stderr).decode("utf-8", errors="replace")
    expect(done.returncode >= 0, f"{what}: ended by signal {-done.returncode}: {said[-300:]}")
    expect(done.returncode != 0, f"{what}: was accepted")
    expect(os.path.basename(path) in said, f"{what}: the error does not name the file: {said[-300:]}")
    expect(len(said) < 20_000, f"{what}: {len(said)} bytes of error")


def hostile_files(ground, short):
    failures = []
    with tempfile.TemporaryDirectory(prefix="koord-attack.") as folder:
        files = list(hostile(folder))
        for flag, words in PROGRAMS.items():
            for name, path in files:
                try:
                    judge(flag, words, name, path)
                except AssertionError as error:
                    failures.append(str(error))
    expect(not failures, "; ".join(failures))


ATTACKS = [hostile_files]
