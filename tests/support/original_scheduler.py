"""The original koord-scheduler as a process of a test. KOORDINATOR_BIN names the folder that has it, with all of
Koordinator's definitions in crds/."""
import os
import sys
import unittest

FOLDER = os.environ.get("KOORDINATOR_BIN", "")
PROGRAM = os.path.join(FOLDER, "koord-scheduler")
CRDS = os.path.join(FOLDER, "crds")


def missing():
    """What a comparison lacks, or None."""
    if not os.access(PROGRAM, os.X_OK):
        return "no original koord-scheduler to compare with: KOORDINATOR_BIN names the folder that has it"
    return None


def command(kubeconfig, config, *flags):
    """Batching gives like pods what the first one's scores say, without a line in the log.

    What a watch lists first is transformed twice by its client, which would subtract a node's reservation twice.
    """
    return [PROGRAM, f"--config={config}", f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}", "--secure-port=0", "--port=0", "--vmodule=schedule_one=10",
            "--feature-gates=OpportunisticBatching=false,WatchListClient=false", *flags]


def main():
    """Of a comparison: skipped without the original, in a cluster of its own where none is named."""
    if lacks := missing():
        print(f"skipped: {lacks}")
        sys.exit(77)
    if "KOORD_KUBE_KUBECONFIG" not in os.environ:
        with_cluster = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kube", "with-cluster")
        os.execv(with_cluster, [with_cluster, sys.executable, *sys.argv])
    unittest.main(verbosity=2, warnings="ignore")
