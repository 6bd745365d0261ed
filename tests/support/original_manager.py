"""The original koord-manager as a process of a test. KOORDINATOR_BIN names the folder that has it, with all of Koordinator's
definitions in crds/."""
import os

from sandbox import free_port

FOLDER = os.environ.get("KOORDINATOR_BIN", "")
PROGRAM = os.path.join(FOLDER, "koord-manager")
CRDS = os.path.join(FOLDER, "crds")


def missing():
    """What a comparison lacks, or None."""
    if not os.access(PROGRAM, os.X_OK):
        return "no original koord-manager to compare with: KOORDINATOR_BIN names the folder that has it"
    return None


def command(kubeconfig, *flags, webhooks=False):
    """It leads at once and writes as fast as it can."""
    gates = f"WebhookFramework={'true' if webhooks else 'false'}"
    return [PROGRAM, f"--kubeconfig={kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0", "--enable-pprof=false",
            f"--health-probe-addr=127.0.0.1:{free_port()}", "--rest-config-qps=2000", "--rest-config-burst=2000",
            f"--feature-gates={gates}", *flags]
