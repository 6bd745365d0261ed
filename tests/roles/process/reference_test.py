#!/usr/bin/env python3
"""What is checked in is what the program prints: the reference, with a running role's metrics in it, RBAC and webhooks."""
import difflib
import os
import re
import subprocess
import sys
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
import reference  # noqa: E402
from sandbox import KOORD, Sandbox, free_port, wait_for  # noqa: E402


def read(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return answer.read().decode()
    except OSError:
        return ""


class TheReference(unittest.TestCase):
    def compare(self, command, path):
        printed = subprocess.run([KOORD, *command.split()], stdout=subprocess.PIPE, text=True, check=True).stdout
        with open(path, encoding="utf-8") as file:
            kept = file.read()
        if printed != kept:
            name = os.path.relpath(path, os.path.join(HERE, "..", "..", ".."))
            sys.stdout.writelines(difflib.unified_diff(kept.splitlines(True), printed.splitlines(True), "kept", "printed"))
            self.fail(f"{name} differs from what `koord {command}` prints: build/koord {command} >{name}")

    def test_is_what_the_program_prints(self):
        self.compare("docs", reference.PATH)

    def test_can_be_read(self):
        """No line that nobody reads to its end, no row of a table that says nothing."""
        with open(reference.PATH, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual([f"{n}: {len(line)} characters" for n, line in enumerate(lines, 1) if len(line) > 2000], [])
        heads = {n for n, line in enumerate(lines) if line.startswith("|---")}
        empty = [f"{n}: {line}" for n, line in enumerate(lines, 1) if re.search(r"\|\s*\|$", line) and n not in heads]
        self.assertEqual(empty, [])

    def test_the_manifests_are_what_the_program_prints(self):
        for part, file in (("roles", "30-roles.yaml"), ("webhooks", "50-webhooks.yaml")):
            self.compare(f"manifests {part}", os.path.join(os.path.dirname(reference.PATH), "manifests", file))

    def test_the_rights_of_gates_are_what_the_program_prints(self):
        folder = os.path.join(os.path.dirname(reference.PATH), "manifests-gates")
        refused = subprocess.run([KOORD, "manifests", "nothing"], stderr=subprocess.PIPE, text=True, check=False)
        names = refused.stderr[refused.stderr.index("(") + 1:refused.stderr.index(")")].split(", ")
        self.assertEqual(sorted(f"{name}.yaml" for name in names), sorted(os.listdir(folder)))
        for name in names:
            self.compare(f"manifests {name}", os.path.join(folder, f"{name}.yaml"))

    def test_has_the_metrics_of_a_running_role(self):
        ports = {role: free_port() for role in ("scheduler", "descheduler")}
        flags = [flag for role, port in ports.items() for flag in (f"--{role}.address=127.0.0.1", f"--{role}.port={port}")]
        with Sandbox("--nodes=2", f"--roles={','.join(ports)}", *flags):
            for role, own in (("scheduler", "scheduler_cache_size"), ("descheduler", "koord_descheduler_last_pass_age_seconds")):
                with self.subTest(role):
                    text = wait_for("metrics of the role and of its client", lambda role=role, own=own: (
                        lambda text: own in text and "rest_client_requests_total" in text and text)(read(ports[role])))
                    self.assertEqual(reference.unlisted(text, role), [])
                    shown = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
                    self.assertLessEqual({name for name in reference.listed(role) if name.startswith("process_")}, shown)


if __name__ == "__main__":
    unittest.main()
