#!/usr/bin/env python3
"""The janitor clears away what a test made, also when the test was killed in the middle; and a change is noticed."""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from janitor import Janitor, Unchanged, hierarchies, skip, start_time  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from sandbox import wait_for  # noqa: E402

GROUP = f"koord-test-{os.getpid()}"


def make_a_mess(folder):
    """Never returns: says what it started, then waits to be killed."""
    with Janitor() as janitor:
        janitor.folder(folder)
        janitor.group(GROUP)
        inside = subprocess.Popen(["cat"], stdout=subprocess.DEVNULL)
        outside = subprocess.Popen(["cat"], stdout=subprocess.DEVNULL, start_new_session=True)
        janitor.process(outside.pid)
        # A daemon in a mount namespace of its own: only the namespace leads to it.
        apart = subprocess.Popen(["unshare", "--mount", "sh", "-c", "setsid sleep infinity & echo $!; exec cat"],
                                 stdout=subprocess.PIPE, text=True)
        daemon = int(apart.stdout.readline())
        janitor.namespace(apart.pid)
        for hierarchy in hierarchies():
            deep = os.path.join(hierarchy, GROUP, "deeper")
            os.makedirs(deep)
        try:  # some controllers want more than a folder; one hierarchy is enough
            with open(os.path.join(deep, "cgroup.procs"), "w", encoding="utf-8") as file:
                file.write(str(inside.pid))
        except OSError:
            janitor.process(inside.pid)
        print(inside.pid, outside.pid, apart.pid, daemon, flush=True)
        signal.pause()


def took_away(ends):
    """Whether it is left out that a group goes, of which the process ends or lives on elsewhere."""
    folder = os.path.join(next(h for h in hierarchies() if "cpuset" not in h), GROUP + "-other")
    os.mkdir(folder)
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)

    def move(where):
        with open(os.path.join(where, "cgroup.procs"), "w", encoding="utf-8") as file:
            file.write(str(process.pid))

    try:
        move(folder)
        with Unchanged():
            if ends:
                process.kill()
                process.wait()
            else:
                move(os.path.dirname(folder))
            os.rmdir(folder)
        return True
    except AssertionError as error:
        assert folder in str(error), error
        return False
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def main():
    if os.geteuid() != 0 or not hierarchies():
        skip("cgroups cannot be made here")
    with Unchanged():
        folder = tempfile.mkdtemp(prefix="koord-janitor.")
        # What they read never ends before the test does: only the janitor can end them.
        held, end = os.pipe()
        child = subprocess.Popen([sys.executable, __file__, folder], stdin=held, stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "KOORD_MESS": GROUP})
        pids = list(map(int, child.stdout.readline().split()))
        times = [start_time(pid) for pid in pids]
        assert len(pids) == 4 and all(times)
        assert any(os.path.isdir(os.path.join(hierarchy, GROUP)) for hierarchy in hierarchies())
        child.kill()
        child.wait()
        wait_for("the processes are dead", lambda: [start_time(pid) for pid in pids] == [None] * 4, 30)
        wait_for("the folder is gone", lambda: not os.path.exists(folder), 30)
        wait_for("the groups are gone", lambda: not any(os.path.isdir(os.path.join(h, GROUP)) for h in hierarchies()), 30)
        os.close(held)
        os.close(end)

    noticed = False
    folder = os.path.join(hierarchies()[0], GROUP + "-left")
    try:
        with Unchanged():
            os.mkdir(folder)
    except AssertionError as error:
        noticed = folder in str(error)
    finally:
        os.rmdir(folder)
    assert noticed, "a new cgroup was not noticed"
    for ends in (True, False):
        assert took_away(ends) == ends, "a group that somebody took away" + (" with its processes" if ends else " from a process that lives")
    print("janitor: passed")


if __name__ == "__main__":
    if "KOORD_MESS" in os.environ:
        GROUP = os.environ["KOORD_MESS"]
        make_a_mess(sys.argv[1])
    main()
