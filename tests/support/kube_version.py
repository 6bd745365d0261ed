"""The version of the Kubernetes that the kube tier runs beside (packaging/dev test versions: others than the usual one), and what of the tests is
not for each of them. What is skipped says so by version, with its reason."""
import functools
import os
import re
import subprocess
import sys
import unittest

USUAL = 35  # what the sandbox is, and whose kube-scheduler koord follows


@functools.cache
def minor():
    """The 35 of 1.35.4; of the sandbox, too."""
    if "KOORD_KUBE_KUBECONFIG" not in os.environ:
        return USUAL
    known = os.environ.get("KOORD_KUBE_MINOR")  # by tests/kube/with-cluster
    if known:
        return int(known)
    program = os.path.join(os.environ.get("KUBEBUILDER_ASSETS", ""), "kube-apiserver")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.fullmatch(r"Kubernetes v1\.(\d+)\..*\n", said).group(1))


def skip(reason):
    """Ends the whole test as skipped."""
    print(f"skipped: Kubernetes 1.{minor()}: {reason}")
    sys.exit(77)


def skip_before(first, what):
    """`what` came with the version 1.first."""
    if minor() < first:
        skip(f"{what} came with 1.{first}")


def skip_beside_another_scheduler():
    """What compares koord with kube-scheduler, words and scores, does it with the version that it follows."""
    if minor() != USUAL:
        skip(f"koord's scores and words are those of the kube-scheduler of 1.{USUAL}, and compared with that one")


def skip_unless_the_sandbox_s():
    """What compares the sandbox with a real server, word by word, does it with the version that the sandbox is."""
    if minor() != USUAL:
        skip(f"the sandbox is 1.{USUAL}'s, and compared with that one")


def unless_before(first, what):
    """A decorator: one of a file's tests that needs `what`, which came with 1.first."""
    def decorate(test):
        @functools.wraps(test)
        def run(self, *arguments):
            if minor() < first:
                raise unittest.SkipTest(f"Kubernetes 1.{minor()}: {what} came with 1.{first}")
            return test(self, *arguments)
        return run
    return decorate
