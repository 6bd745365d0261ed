"""Koordinator's own programs, to compare with: where they are, and what a comparison with one does without it. KOORDINATOR_BIN names
the folder that has them, with all of Koordinator's definitions in crds/."""
import os
import sys
import unittest

FOLDER = os.environ.get("KOORDINATOR_BIN", "")
CRDS = os.path.join(FOLDER, "crds")


def program(name):
    return os.path.join(FOLDER, name)


def missing(name):
    """What a comparison lacks, or None."""
    if not os.access(program(name), os.X_OK):
        return f"no original {name} to compare with: KOORDINATOR_BIN names the folder that has it"
    return None


def main(name):
    """Of a comparison: skipped without the original, in a cluster of its own where none is named."""
    if lacks := missing(name):
        print(f"skipped: {lacks}")
        sys.exit(77)
    if "KOORD_KUBE_KUBECONFIG" not in os.environ:
        with_cluster = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kube", "with-cluster")
        os.execv(with_cluster, [with_cluster, sys.executable, *sys.argv])
    unittest.main(verbosity=2, warnings="ignore")
