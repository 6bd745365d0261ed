#!/usr/bin/env python3
"""The original koord-scheduler and koord read the same configurations: both take one and mean the same by it, or both refuse
it, in the same words. Needs the original's program; no part of CI. No cluster is asked.

usage: compare_config_test.py       KOORDINATOR_BIN names the folder with `koord-scheduler`
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from sandbox import KOORD  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden", "scheduler")
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
SECONDS = 20


def configuration(plugins, arguments=()):
    profile = {"schedulerName": "koord-scheduler", "plugins": plugins,
               "pluginConfig": [{"name": name, "args": args} for name, args in arguments]}
    return {**HEAD, "leaderElection": {"leaderElect": False}, "profiles": [profile]}


def enabled(point, *names):
    return {point: {"enabled": [{"name": name} for name in names]}}


def disabled(point, *names):
    return {point: {"disabled": [{"name": name} for name in names]}}


# (what it is, the configuration, whether words or meaning may differ and why)
SHAPES = [
    ("a plugin at a point that it is not for", configuration(enabled("filter", "SchedulingHint")), None),
    ("a writer at a point that it is not for", configuration(enabled("score", "DefaultPreBind")), None),
    ("an unknown plugin", configuration(enabled("filter", "Nonsense")), None),
    ("an unknown plugin everywhere", configuration(enabled("multiPoint", "Nonsense")), None),
    ("arguments of an unknown plugin", configuration({}, [("Nonsense", {"a": 1})]), "koord writes them, too"),
    ("arguments that nobody looks at", configuration({}, [("SchedulingHint", {"maxHintNodes": -1})]),
     "koord writes them, too"),
    ("arguments twice", configuration(enabled("preFilter", "SchedulingHint"), [("SchedulingHint", {})] * 2), None),
    ("arguments of another plugin",
     configuration(enabled("preFilter", "SchedulingHint"), [("SchedulingHint", {**HEAD, "kind": "ReservationArgs"})]),
     "koord names the file and the line"),
    ("everywhere", configuration(enabled("multiPoint", "SchedulingHint", "DefaultPreBind")), None),
    ("DefaultPreBind off", configuration(disabled("preBind", "DefaultPreBind")), None),
    ("all of preBind off", configuration({**disabled("preBind", "*"), **enabled("score", "NodeResourcesFitPlus")},
                                         [("NodeResourcesFitPlus", {"resources": {}})]), None),
]


def rows():
    with open(os.path.join(GOLDEN, "koordinator_args.jsonl"), encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield row


class Program:
    def __init__(self, name, command):
        self.name, self.command = name, command

    def read(self, file, out):
        """None and what it means by the file, or the last line of what it says."""
        command = [*self.command, f"--config={file}", f"--write-config-to={out}", "--port=0", "--secure-port=0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode == 0:
            return None
        said = [line for line in (done.stdout + done.stderr).splitlines() if line and line[0] not in "IWE[ "]
        return said[-1] if said else f"exit {done.returncode}"


def main():
    folder_of = os.environ.get("KOORDINATOR_BIN")
    if not folder_of:
        print("skipped: KOORDINATOR_BIN names no folder with the original's koord-scheduler")
        return 77
    theirs = Program("the original", [os.path.join(folder_of, "koord-scheduler")])
    ours = Program("koord", [KOORD, "--role=scheduler"])
    wrong, taken, refused = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)

        kubeconfig = path("kubeconfig")
        with open(kubeconfig, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "x",
                       "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:1"}}],
                       "users": [{"name": "x"}], "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}, file)

        def meaning(config):
            with open(path("again.json"), "w", encoding="utf-8") as file:
                file.write(config)
            said = ours.read(path("again.json"), path("meaning.json"))
            if said is not None:
                return said
            with open(path("meaning.json"), encoding="utf-8") as file:
                profiles = json.load(file)["profiles"]
            for profile in profiles:
                profile["pluginConfig"].sort(key=lambda entry: entry["name"])
                # The original writes a weight that nobody gave as 0.
                for plugins in profile["plugins"].values():
                    for plugin in plugins.get("enabled", []):
                        if plugin.get("weight") == 0:
                            del plugin["weight"]
                # And a flag that nobody gave, and that means nothing by itself, as false.
                for entry in profile["pluginConfig"]:
                    entry["args"] = {key: value for key, value in entry["args"].items() if value is not False}
                # What koord does not read the arguments of stays as it is written.
                profile["pluginConfig"] = [entry for entry in profile["pluginConfig"] if entry["name"] not in
                                           ("Nonsense", "DynamicResources")]
            return profiles

        def compare(name, text, own_words=None, original=None):
            nonlocal taken, refused
            with open(path("config"), "w", encoding="utf-8") as file:
                file.write(text)
            said = [program.read(path("config"), path(program.name)) for program in (theirs, ours)]
            if said[0] is None and said[1] is None:
                taken += 1
                with open(path(theirs.name), encoding="utf-8") as file:
                    as_theirs = meaning(file.read())
                if not own_words and as_theirs != meaning(text):
                    wrong.append(f"{name}: what the original makes of it\n  {as_theirs}\nis not\n  {meaning(text)}")
            elif said[0] is None or said[1] is None:
                wrong.append(f"{name}: the original says {said[0]!r}, koord {said[1]!r}")
            else:
                refused += 1
                words = said[0] if original is None else said[0].replace(*original)
                if not own_words and words not in said[1]:
                    wrong.append(f"{name}: the original says\n  {said[0]}\nkoord\n  {said[1]}")

        with_client = {"clientConnection": {"kubeconfig": kubeconfig}}
        for name, config, own_words in SHAPES:
            compare(name, json.dumps({**config, **with_client}), own_words)
        for row in rows():
            config = configuration(enabled(row["point"], row["plugin"]), [(row["plugin"], row["args"])])
            original = (row["original"], row["error"]) if "original" in row else None
            compare(f"{row['plugin']}, {row['name']}", json.dumps({**config, **with_client}), row.get("decoding"), original)
        for shipped in ("chart-v1.8.0.yaml", "manifest-v1.8.yaml"):
            with open(os.path.join(GOLDEN, shipped), encoding="utf-8") as file:
                compare(shipped, file.read() + f"\nclientConnection:\n  kubeconfig: {kubeconfig}\n")
    for text in wrong:
        print(text)
    print(f"{taken} configurations are taken by both, {refused} refused by both, {len(wrong)} judged differently")
    return 1 if wrong or not taken or not refused else 0


if __name__ == "__main__":
    sys.exit(main())
