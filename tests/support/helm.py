"""The real helm with packaging/chart: what it renders, installs and takes away again."""
import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
CHART = os.path.join(HERE, "..", "..", "packaging", "chart")
CACHE = os.environ.get("KOORD_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "koord")
HELM = os.environ.get("KOORD_HELM") or os.path.join(CACHE, "helm", "3.20.2", "helm")
RELEASE = "koordinator"


def documents(text):
    """The objects of a file of several, each as text without what stands around it."""
    parts = (re.sub(r"\A(\s*#.*\n|\s*\n)*", "", part).rstrip() for part in re.split(r"^---\n", text, flags=re.MULTILINE))
    return [part for part in parts if part]


def named(document):
    """(apiVersion, kind, namespace or "", name) of such a text."""
    meta = re.search(r"^metadata:\n((?: .*\n?)+)", document, re.MULTILINE).group(1)

    def word(key, text):
        found = re.search(rf"^{key}: \"?([^\"\n]+)\"?$", text, re.MULTILINE)
        return found.group(1) if found else ""
    return word("apiVersion", document), word("kind", document), word("  namespace", meta), word("  name", meta)


def leaves(values, path=""):
    """{path with dots: value} of what is no object, or an empty one."""
    found = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            found.update(leaves(value, f"{path}{key}."))
        else:
            found[path + key] = value
    return found


class Helm:
    def __init__(self, kubeconfig, folder):
        self.env = {**os.environ, "KUBECONFIG": kubeconfig,
                    **{f"HELM_{kind}_HOME": os.path.join(folder, "helm", kind) for kind in ("CACHE", "CONFIG", "DATA")}}

    def run(self, *words, check=True):
        done = subprocess.run([HELM, *words], env=self.env, text=True, capture_output=True, timeout=600, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"helm {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    @staticmethod
    def sets(values):
        return [word for path, value in values.items() for word in ("--set-json", f"{path}={json.dumps(value)}")]

    def release(self, values, chart=CHART):
        """As it would be: `info.notes`, `chart.values`, ...; slow, as the server is asked for each object."""
        done = self.run("install", RELEASE, chart, "--dry-run=client", "--output=json", *self.sets(values))
        return json.loads(done.stdout)

    def objects(self, values):
        """What it would install, as texts; what it would run when it is taken away, too. Nobody is asked."""
        return documents(self.run("template", RELEASE, CHART, *self.sets(values)).stdout)
