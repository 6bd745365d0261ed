#!/usr/bin/env python3
"""Without Kubernetes: the example file of packaging/, for two plain cgroups on this kernel."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host_tree  # noqa: E402
import protection  # noqa: E402
from agent import Agent, TREE, skip_without_role  # noqa: E402
from host_tree import Group, HostTree  # noqa: E402
from janitor import Janitor, Unchanged, skip  # noqa: E402
from real_node import free_port  # noqa: E402

EXAMPLE = os.path.join(TREE, "packaging", "standalone.example.yaml")


def main():
    reason = host_tree.missing()
    if reason:
        skip(reason)
    skip_without_role()
    web, batch = (f"koord-test-{os.getpid()}-{name}.slice" for name in ("web", "batch"))
    with open(EXAMPLE, encoding="utf-8") as file:
        text = file.read()
    assert "web.slice" in text and "batch.slice" in text
    with Unchanged(), Janitor() as janitor:
        folder = tempfile.mkdtemp(prefix="koord-standalone.")
        janitor.folder(folder)
        tree = HostTree(janitor, web, batch)
        be, ls = Group(batch), Group(web)
        protection.wait_quiet([be, ls])
        tree.burn(batch, os.cpu_count())
        config = os.path.join(folder, "standalone.yaml")
        # The example's groups by names of our own: a machine may have its own web.slice.
        with open(config, "w", encoding="utf-8") as file:
            file.write(text.replace("cgroupPath: web.slice", f"cgroupPath: {web}")
                       .replace("cgroupPath: batch.slice", f"cgroupPath: {batch}"))
        agent = Agent(janitor, os.path.join(folder, "agent"), free_port(), f"--standalone-config={config}")
        burners = []

        def stop_ls():
            for process in burners:
                process.kill()
                process.wait()

        protection.prove(agent, be, ls.cpu_seconds, lambda: burners.extend(tree.burn(web, 1)), stop_ls)
        protection.prove_cleanup(agent, be)
    print("standalone: passed")


if __name__ == "__main__":
    main()
