#!/usr/bin/env python3
"""Every command block of packaging/docs that says `sandbox` or `machine`, as it stands there, in a network namespace of its own, where
all default ports are free; a machine is a fake root. What support/markdown.py says of fences is checked for all pages, and links.
The blocks for a kube-apiserver, and all manifests: tests/kube/docs_test.py."""
import os
import re
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import readme_test  # noqa: E402
from readme_test import TREE  # noqa: E402
import markdown  # noqa: E402
from sandbox import KOORD, KUBECTL, wait_for  # noqa: E402

HOWTO = os.path.join(markdown.DOCS, "howto")
INDEX = os.path.join(HOWTO, "README.md")
# Pages and files that are linked from and to, beside packaging/docs.
LINKING = [os.path.join(TREE, *name) for name in (
    ("packaging", "COMPATIBILITY.md"), ("packaging", "MEASURED.md"), ("packaging", "chart", "README.md"),
    ("packaging", "manifests", "README.md"), ("packaging", "package", "README.md"))]
SECONDS = 240  # a block; most take one


class Play:
    """The blocks of pages in one folder, where `koord` and `kubectl` are found, `packaging` and `tests` are this tree's, and K is the
    kubeconfig of the sandbox that a block has started."""

    def __init__(self, test):
        self.test = test
        self.folder = test.folder.name
        self.programs = os.path.join(self.folder, "bin")
        os.mkdir(self.programs)
        for name in ("packaging", "tests"):
            os.symlink(os.path.join(TREE, name), os.path.join(self.folder, name))
        self.program("koord", f'case "$*" in *--role=koordlet*) set -- "$@" {" ".join(test.root.flags())} --run-queue-latency=false;; esac\n'
                     f'exec -a "$0" {KOORD} "$@"')
        if os.access(KUBECTL, os.X_OK):
            os.symlink(KUBECTL, os.path.join(self.programs, "kubectl"))
        self.env = {name: value for name, value in os.environ.items() if name not in ("NODE_NAME", "KUBERNETES_SERVICE_HOST")}
        self.env.update(PATH=f"{self.programs}:{self.env['PATH']}", KUBECONFIG=os.path.join(self.folder, "K"), agent_mode="hostMode")
        self.staying = []

    def program(self, name, text):
        path = os.path.join(self.programs, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n{text}\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def log(self, number):
        with open(os.path.join(self.folder, f"out-{number}"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def stay(self, block):
        number = len(self.staying)
        with open(os.path.join(self.folder, f"out-{number}"), "wb") as out:
            child = subprocess.Popen(["bash", "-c", "exec " + block.text.lstrip()], cwd=self.folder, env=self.env, stdout=out,
                                     stderr=subprocess.STDOUT)
        self.staying.append(child)
        self.test.children.append(child)
        ready = (lambda: "sandbox ready" in self.log(number)) if "koord sandbox" in block.text else (
            readme_test.serves("http://127.0.0.1:9316/healthz"))

        def answers():
            self.test.assertIsNone(child.poll(), f"{block.text}ended:\n{self.log(number)[-3000:]}")
            return ready()

        wait_for(block.text, answers)

    def run(self, block):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=self.folder, env=self.env, capture_output=True, text=True,
                              timeout=SECONDS)
        logs = "".join(self.log(number)[-2000:] for number in range(len(self.staying)))
        self.test.assertEqual(done.returncode, 0, f"{block.page}:{block.line}\n{block.text}{done.stdout}{done.stderr}\n{logs}")
        return done.stdout + done.stderr

    def page(self, page, where, also=()):
        """All of its blocks for that place, in order."""
        printed = ""
        for block in markdown.blocks(page):
            if block.language == "yaml":
                with open(os.path.join(self.folder, markdown.file_of(block)), "w", encoding="utf-8") as file:
                    file.write(block.text)
            elif block.where == where or block.where in also:
                printed = self.stay(block) or "" if block.stays else self.run(block)
            elif block.where == "printed":
                self.prints(block, printed)

    def prints(self, block, printed):
        lines = {" ".join(line.split()) for line in printed.splitlines()}
        for line in filter(None, (" ".join(line.split()) for line in block.text.splitlines())):
            pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")) + "$")
            self.test.assertTrue(any(pattern.match(each) for each in lines), f"{block.page}:{block.line}: not printed: {line}\n{printed}")


class Docs(unittest.TestCase):
    setUp = readme_test.Readme.setUp
    end_all = readme_test.Readme.end_all

    def test_fences_say_what_they_are(self):
        found = [block for page in markdown.pages() for block in markdown.blocks(page)]
        self.assertGreaterEqual(len(found), 60)
        for block in found:
            with self.subTest(block=f"{os.path.relpath(block.page, TREE)}:{block.line}"):
                self.assertIn(block.where, markdown.WHERE.get(block.language, ()), "a fence that support/markdown.py does not know")
                if block.language == "yaml":
                    self.assertTrue(markdown.file_of(block), "its first line is no name")
                if block.where == "not-run-here":
                    self.assertRegex(block.said, markdown.NOT_RUN, "the sentence before it does not say that it is not run")

    def test_no_block_goes_without_a_fence(self):
        """What stands in one would be run by nobody, and no sentence would have to say so."""
        for page in markdown.pages():
            if page != markdown.README:
                with self.subTest(page=os.path.relpath(page, TREE)):
                    self.assertEqual(markdown.indented(page), [])

    def test_a_block_without_a_fence_is_seen(self):
        page = os.path.join(self.folder.name, "page.md")
        for text, lines in (("Text:\n\n    kubectl get pods\n    kubectl get nodes\n", [3, 4]), ("Text\n    that goes on\n", []),
                            ("\n\tkubectl get pods\n", [2]), ("```text\n\n    drawn\n```\n", []), ("```text\n```\n\n    kubectl\n", [4])):
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertEqual([number for number, _ in markdown.indented(page)], lines, text)

    def test_links_lead_somewhere(self):
        for page in [*markdown.pages(), *LINKING]:
            with self.subTest(page=os.path.relpath(page, TREE)):
                self.assertEqual(list(markdown.broken_links(page)), [])

    def test_every_howto_is_in_the_index(self):
        with open(INDEX, encoding="utf-8") as file:
            text = file.read()
        for page in markdown.pages(HOWTO):
            self.assertTrue(page == INDEX or f"({os.path.basename(page)})" in text, page)

    def test_pictures_are_of_what_was_printed(self):
        draw = os.path.join(markdown.DOCS, "pictures", "draw.py")
        done = subprocess.run([sys.executable, draw, "--check"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_readmes_figures_are_those_of_measured(self):
        """Row for row."""
        texts = []
        for name in ("README.md", os.path.join("packaging", "MEASURED.md")):
            with open(os.path.join(TREE, name), encoding="utf-8") as file:
                texts.append({line for line in file.read().splitlines() if line.startswith("| ")})
        self.assertEqual(len(texts[0]), 6)
        self.assertEqual(texts[0] - texts[1], set())

    def test_howtos_on_a_sandbox(self):
        if not os.access(KUBECTL, os.X_OK):
            self.skipTest("no kubectl: KUBEBUILDER_ASSETS")
        play = Play(self)
        play.page(INDEX, "sandbox")
        for page in markdown.pages(HOWTO):
            if page != INDEX:
                with self.subTest(page=os.path.basename(page)):
                    play.page(page, "sandbox")

    def test_machines(self):
        """A fresh fake root for each page, for a machine runs one agent."""
        for page in markdown.pages():
            if any(block.where == "machine" for block in markdown.blocks(page)):
                with self.subTest(page=os.path.basename(page)):
                    self.setUp()
                    Play(self).page(page, "machine")
                    self.end_all()

    def test_other_pages_on_a_sandbox(self):
        if not os.access(KUBECTL, os.X_OK):
            self.skipTest("no kubectl: KUBEBUILDER_ASSETS")
        for page in markdown.pages():
            if not page.startswith(HOWTO) and any(block.where == "sandbox" for block in markdown.blocks(page)):
                with self.subTest(page=os.path.basename(page)):
                    self.setUp()
                    Play(self).page(page, "sandbox")
                    self.end_all()


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("docs_test: skipped: a network namespace needs root")
        sys.exit(77)
    readme_test.own_network()
    unittest.main(verbosity=2)
