"""A table of what a CRI runtime promises: rows by critest's names, and the world that a row works in."""
import concurrent.futures
import contextlib
import os
import time
import traceback
import uuid

from cri.client import Cri, grpc

SPECS = {}  # name: (function, alone)
WAIT_SECONDS = 60
STAYS = ["sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait"]  # ends at once when it is asked to


class Skip(Exception):
    """This runtime, or this machine, cannot do it: with the reason."""


def spec(name, alone=False):
    """`alone`: beside it no other row runs."""
    def note(function):
        assert name not in SPECS, name
        SPECS[name] = (function, alone)
        return function
    return note


def wait_for(what, condition, seconds=WAIT_SECONDS):
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return answer


class Sandbox:
    def __init__(self, world, config):
        self.world, self.config = world, config
        self.id = world.cri.RunPodSandbox(config=config).pod_sandbox_id

    def status(self):
        return self.world.cri.PodSandboxStatus(pod_sandbox_id=self.id).status

    def create(self, command=None, image=None, name="main", linux=None, **config):
        """The id of a new container; `linux` and other fields as the CRI names them."""
        config = {"metadata": {"name": f"{name}-{uuid.uuid4()}"}, "image": {"image": image or self.world.image},
                  "command": STAYS if command is None else command, "linux": linux or {}, **config}
        return self.world.cri.CreateContainer(pod_sandbox_id=self.id, config=config, sandbox_config=self.config).container_id

    def start(self, *command, **options):
        """The id of a container that has begun."""
        container = self.create(list(command) or None, **options)
        self.world.cri.StartContainer(container_id=container)
        return container


class World:
    """What a row has: a client, an image, a folder, and pods of its own that are gone at its end."""

    def __init__(self, cri, place):
        self.cri, self.place, self.image = cri, place, place["image"]
        self.folder = os.path.join(place["folder"], uuid.uuid4().hex)
        os.mkdir(self.folder)
        self.sandboxes = []

    def sandbox(self, linux=None, **config):
        name = f"pod-{uuid.uuid4()}"
        security = (linux or {}).pop("security_context", {})
        config = {"metadata": {"name": name, "uid": f"uid-{name}", "namespace": "koord-test", "attempt": 2},
                  "log_directory": self.folder,
                  "linux": {"cgroup_parent": f"/{self.place['group']}/{name}", "security_context": security, **(linux or {})},
                  **config}
        self.sandboxes.append(Sandbox(self, config))
        return self.sandboxes[-1]

    def run(self, container, *command, seconds=20):
        """What a command in the container prints; it must end with 0."""
        done = self.cri.ExecSync(container_id=container, cmd=list(command), timeout=seconds)
        assert done.exit_code == 0, f"{command}: {done.exit_code}: {done.stderr.decode()}"
        return done.stdout.decode()

    def fails(self, container, *command):
        done = self.cri.ExecSync(container_id=container, cmd=list(command), timeout=20)
        assert done.exit_code != 0, f"{command} worked: {done.stdout.decode()}"

    def status(self, container):
        return self.cri.ContainerStatus(container_id=container).status

    def output(self, *command, sandbox=None, **options):
        """The log's texts of a container that runs to its end, and its exit code."""
        container = (sandbox or self.sandbox()).start(*command, log_path="output.log", **options)
        ended = wait_for("its end", lambda: (lambda s: s if s.state == 2 else None)(self.status(container)))
        with open(os.path.join(self.folder, "output.log"), encoding="utf-8") as file:
            return "".join(line.split(" ", 3)[3] for line in file), ended.exit_code

    def close(self):
        for sandbox in self.sandboxes:
            with contextlib.suppress(grpc.RpcError):
                self.cri.StopPodSandbox(pod_sandbox_id=sandbox.id)
                self.cri.RemovePodSandbox(pod_sandbox_id=sandbox.id)


def outcome(function, cri, place):
    """passed, or skipped or failed with the reason."""
    if "before" in place:
        place["before"]()
        with contextlib.suppress(grpc.RpcError):  # it may go again
            cri.wait_until_there()
    world = World(cri, place)
    try:
        function(world)
        return "passed"
    except Skip as reason:
        return f"skipped: {reason}"
    except grpc.RpcError as error:
        return f"failed: {error.code().name}: {error.details()} at {traceback.extract_tb(error.__traceback__)[1].line}"
    except AssertionError as error:
        return f"failed: {str(error) or traceback.extract_tb(error.__traceback__)[-1].line}"
    except Exception as error:  # pylint: disable=broad-except; one row must not end the others
        return f"failed: {error!r} at {traceback.extract_tb(error.__traceback__)[-1]}"
    finally:
        world.close()


def run(socket, place, at_once=6, names=None):
    """Every row through the socket: name to outcome. `place`: image, folder, group (of cgroups), port (a registry's),
    and what is waited for before each row, if anything."""
    cri = Cri(socket)
    chosen = {name: row for name, row in SPECS.items() if names is None or name in names}
    found = {}
    try:
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            begun = {name: pool.submit(outcome, function, cri, place) for name, (function, alone) in chosen.items() if not alone}
            for name, future in begun.items():
                found[name] = future.result()
        for name, (function, alone) in chosen.items():
            if alone:
                found[name] = outcome(function, cri, place)
    finally:
        cri.close()
    return {name: found[name] for name in chosen}
