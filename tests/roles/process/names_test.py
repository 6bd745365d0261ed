#!/usr/bin/env python3
"""koord by its other names, what bash completes of it, and its manual page."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
from sandbox import KOORD  # noqa: E402

# Koordinator's own programs, and the role of koord's that each is.
NAMES = {"koordlet": "koordlet", "koord-manager": "manager", "koord-scheduler": "scheduler", "koord-descheduler": "descheduler",
         "koord-runtime-proxy": "proxy", "koord-device-daemon": "device-daemon"}
# What was typed: what is among the completions, and what is not. Of readline's word, which begins behind the last "=".
TYPED = (
    ("koord ", "explain", "--addr="),
    ("koord ex", "explain", "crds"),
    ("koord -", "--role=", "--addr="),
    ("koord --role=sch", "scheduler", "manager"),
    ("koord --role=scheduler,ma", "scheduler,manager", "manager"),
    ("koord --role=koordlet --ad", "--addr=", "--koordlet.addr="),
    ("koord --role=koordlet,scheduler --koordlet.ad", "--koordlet.addr=", "--addr="),
    ("/usr/bin/koordlet --ad", "--addr=", "--secure-port="),
    ("koord-scheduler --", "--secure-port=", "crds"),
    ("koordlet --feature-gates=BEMem", "BEMemoryEvict=", "true"),
    ("koordlet --feature-gates=AuditEvents=true,BEMem", "true,BEMemoryEvict=", "BEMemoryEvict="),
    ("koordlet --feature-gates=BEMemoryEvict=", "true", "BEMemoryEvict="),
    ("koord top --", "--once", "--role="),
    ("kubectl-koord t", "top", "explain"),
    ("koord '$(touch x) ", "", "x"),
)
SCRIPT = """. "$1"
COMP_LINE=$2 COMP_POINT=${#2}
_koord
printf '%s\\n' "${COMPREPLY[@]}"
"""


def prints(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=60, **more).stdout


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-names.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_each_name_is_its_role(self):
        for name, role in NAMES.items():
            with self.subTest(name):
                link = os.path.join(self.folder, name)
                os.symlink(KOORD, link)
                self.assertEqual(prints(link, "--help").partition(":")[0], f"koord --role={role}")
                self.assertTrue(prints(link, "version").startswith("koord "))
        plugin = os.path.join(self.folder, "kubectl-koord")
        os.symlink(KOORD, plugin)
        self.assertTrue(prints(plugin, "--help").startswith("kubectl koord: "))
        self.assertIn("\n  kubectl koord lent ", prints(plugin))
        completes = os.path.join(self.folder, "kubectl_complete-koord")
        os.symlink(KOORD, completes)
        self.assertEqual(prints(completes, "explain", "n"), "node\n:4\n")
        self.assertIn("--filename=\n", prints(completes, "explain", "--fi"))

    def test_bash_completes(self):
        script = os.path.join(self.folder, "koord")
        with open(script, "w", encoding="utf-8") as file:
            file.write(prints(KOORD, "docs", "bash"))
        for typed, wanted, unwanted in TYPED:
            with self.subTest(typed):
                words = prints("bash", "-uc", SCRIPT, "bash", script, typed, cwd=self.folder).splitlines()
                self.assertIn(wanted, words)
                self.assertNotIn(unwanted, words)
        self.assertEqual(os.listdir(self.folder), ["koord"], "a word that was typed was run")

    def test_zsh_takes_its_script(self):
        if shutil.which("zsh") is None:
            self.skipTest("no zsh is here")
        prints("zsh", "-fn", "/dev/stdin", input=prints(KOORD, "docs", "zsh"))

    def test_the_manual_page_has_the_flags_of_help(self):
        page = prints(KOORD, "docs", "man").replace("\\-", "-")
        for role in NAMES.values():
            flags = re.findall(r"(?m)^ {2}(?:-\w, | {4})--([\w.-]+)", prints(KOORD, f"--role={role}", "--help"))
            self.assertGreater(len(flags), 8)
            for flag in flags:
                self.assertIn(f"\\fB--{flag}\\fR", page)


if __name__ == "__main__":
    unittest.main()
