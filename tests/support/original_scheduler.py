"""The original koord-scheduler as a process of a test: see originals.py."""
import functools

import originals
from originals import CRDS  # noqa: F401

NAME = "koord-scheduler"
PROGRAM = originals.program(NAME)
missing = functools.partial(originals.missing, NAME)
main = functools.partial(originals.main, NAME)


def command(kubeconfig, config, *flags):
    """Batching gives like pods what the first one's scores say, without a line in the log.

    What a watch lists first is transformed twice by its client, which would subtract a node's reservation twice.
    """
    return [PROGRAM, f"--config={config}", f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}", "--secure-port=0", "--port=0", "--vmodule=schedule_one=10",
            "--feature-gates=OpportunisticBatching=false,WatchListClient=false", *flags]
