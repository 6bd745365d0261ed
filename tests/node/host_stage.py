"""What a test on this machine's own kernel begins with: what it needs, a janitor, groups, a folder, and the agent without
Kubernetes."""
import contextlib
import os
import tempfile

import host_tree
from agent import Agent, skip_without_role
from host_tree import HostTree
from janitor import Janitor, Unchanged, skip
from real_node import free_port


class Stage:
    """`groups` are the paths of the test's own, in the order in which they were asked for."""

    def __init__(self, janitor, names):
        self.janitor = janitor
        self.folder = tempfile.mkdtemp(prefix="koord-host-test.")
        janitor.folder(self.folder)
        self.groups = [f"koord-test-{os.getpid()}-{top}.slice{slash}{below}"
                       for top, slash, below in (name.partition("/") for name in names)]
        self.tree = HostTree(janitor, *self.groups)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def agent(self, name, config, *flags):
        """Not started yet; `config` is the text of NAME.yaml, which it reads again whenever that changes."""
        return Agent(self.janitor, os.path.join(self.folder, name), free_port(),
                     f"--standalone-config={self.file(f'{name}.yaml', config)}", *flags)


@contextlib.contextmanager
def stage(*names):
    """Skips the test where something is missing. Afterwards the machine is as it was, or it fails."""
    reason = host_tree.missing()
    if reason:
        skip(reason)
    skip_without_role()
    with Unchanged(), Janitor() as janitor:
        yield Stage(janitor, names)
