"""with_sandbox.py SERVE COMMAND...: runs COMMAND beside a sandbox without roles and ends it afterwards. COMMAND finds
the sandbox's kubeconfig where tests of the kube tier look for one: KOORD_KUBE_KUBECONFIG."""
import os
import subprocess
import sys
import tempfile

END_SECONDS = 30


def main():
    serve, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="koord-sandbox.") as folder:
        kubeconfig = os.path.join(folder, "kubeconfig")
        server = subprocess.Popen([serve, f"--kubeconfig={kubeconfig}"], stdout=subprocess.PIPE, text=True)
        try:
            line = server.stdout.readline()
            assert line.startswith("sandbox ready"), f"the sandbox did not start: {line}"
            code = subprocess.run(command, env={**os.environ, "KOORD_KUBE_KUBECONFIG": kubeconfig}, check=False).returncode
        finally:
            server.terminate()
            ended = server.wait(END_SECONDS)
    assert ended == 0, f"the sandbox ended with {ended}"
    return code


if __name__ == "__main__":
    sys.exit(main())
