"""The original koord-descheduler as a process of a test: see originals.py."""
import functools

import originals
from originals import CRDS  # noqa: F401

NAME = "koord-descheduler"
PROGRAM = originals.program(NAME)
missing = functools.partial(originals.missing, NAME)
main = functools.partial(originals.main, NAME)


def command(config, *flags):
    """All else, the kubeconfig and the lease included, is the configuration's."""
    return [PROGRAM, f"--config={config}", "--secure-port=0", *flags]
