"""The original koord-descheduler as a process of a test. KOORDINATOR_BIN names the folder that has it, with all of Koordinator's
definitions in crds/."""
import os
import sys
import unittest

FOLDER = os.environ.get("KOORDINATOR_BIN", "")
PROGRAM = os.path.join(FOLDER, "koord-descheduler")
CRDS = os.path.join(FOLDER, "crds")


def missing():
    """What a comparison lacks, or None."""
    if not os.access(PROGRAM, os.X_OK):
        return "no original koord-descheduler to compare with: KOORDINATOR_BIN names the folder that has it"
    return None


def command(config, *flags):
    """All else, the kubeconfig and the lease included, is the configuration's."""
    return [PROGRAM, f"--config={config}", "--secure-port=0", *flags]


def main():
    """Of a comparison: skipped without the original, in a cluster of its own where none is named."""
    if lacks := missing():
        print(f"skipped: {lacks}")
        sys.exit(77)
    if "KOORD_KUBE_KUBECONFIG" not in os.environ:
        with_cluster = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kube", "with-cluster")
        os.execv(with_cluster, [with_cluster, sys.executable, *sys.argv])
    unittest.main(verbosity=2, warnings="ignore")
