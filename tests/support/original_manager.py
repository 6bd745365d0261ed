"""The original koord-manager as a process of a test: see originals.py."""
import functools

import originals
from sandbox import free_port
from originals import CRDS  # noqa: F401

NAME = "koord-manager"
PROGRAM = originals.program(NAME)
missing = functools.partial(originals.missing, NAME)


def command(kubeconfig, *flags, webhooks=False):
    """It leads at once and writes as fast as it can."""
    gates = f"WebhookFramework={'true' if webhooks else 'false'}"
    return [PROGRAM, f"--kubeconfig={kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0", "--enable-pprof=false",
            f"--health-probe-addr=127.0.0.1:{free_port()}", "--rest-config-qps=2000", "--rest-config-burst=2000",
            f"--feature-gates={gates}", *flags]
