"""with_sandbox.py SERVE COMMAND...: runs COMMAND beside a sandbox without roles and ends it afterwards. COMMAND finds
the sandbox's kubeconfig where tests of the kube tier look for one: KOORD_KUBE_KUBECONFIG."""
import os
import subprocess
import sys

from sandbox import served


def main():
    serve, *command = sys.argv[1:]
    with served(serve) as kubeconfig:
        return subprocess.run(command, env={**os.environ, "KOORD_KUBE_KUBECONFIG": kubeconfig}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
