"""What the demonstrations of a few steps stand on: a cluster of their own, and its end whichever way it comes."""
import argparse
import contextlib
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import sandbox  # noqa: E402


def play(about, look, story, *flags):
    """Runs story(kubeconfig, ends) on a sandbox with these flags; `ends` is an ExitStack that is closed before the sandbox is. With
    --stay the cluster is kept until Ctrl-C, and `look` says how to look at it. Returns the exit code: 1 where a step did not come."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stay", action="store_true")
    stay = parser.parse_args().stay
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with sandbox.Sandbox(*flags) as cluster, contextlib.ExitStack() as ends:
        try:
            story(cluster.kubeconfig, ends)
            if stay:
                print(f"export KUBECONFIG={cluster.kubeconfig}   # {look}; Ctrl-C ends it", flush=True)
                signal.pause()
        except AssertionError as error:
            print(f"demo: a step did not come: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
    return 0
