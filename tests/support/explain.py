"""`koord explain` as tests run it."""
import json
import subprocess

from sandbox import KOORD


class Explain:
    def __init__(self, kubeconfig):
        self.kubeconfig = kubeconfig

    def _run(self, *words, manifest=None):
        return subprocess.run([KOORD, "explain", f"--kubeconfig={self.kubeconfig}", *words], text=True,
                              input=json.dumps(manifest) if manifest else None, capture_output=True, timeout=120)

    def text(self, *words, manifest=None):
        done = self._run(*words, manifest=manifest)
        assert done.returncode == 0, f"koord explain {words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def view(self, *words, manifest=None):
        return json.loads(self.text("--output=json", *words, manifest=manifest))

    def failure(self, code, *words, manifest=None):
        done = self._run(*words, manifest=manifest)
        assert (done.returncode, done.stdout) == (code, ""), f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stderr
