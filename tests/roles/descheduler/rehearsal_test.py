#!/usr/bin/env python3
"""`koord deschedule --dry-run` against the sandbox: what it says, and that it changes nothing."""
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.join(TREE, "tests", "support")]

import migration_test  # noqa: E402
from migration_test import BALANCE, JOBS, RESERVATIONS  # noqa: E402
from sandbox import KOORD, free_port, on_terminal  # noqa: E402

CONFIGMAPS = "/api/v1/namespaces/koordinator-system/configmaps"


class Rehearsals(migration_test.World):
    def hot(self):
        hot = self.nodes[0]
        there = [pod for pod in self.pods() if pod["spec"]["nodeName"] == hot]
        self.report(hot, 90, there[:3], 20)
        for node in self.nodes[1:]:
            self.report(node, 10)
        return hot, there

    def deschedule(self, *flags):
        return subprocess.run([KOORD, "deschedule", f"--kubeconfig={self.kubeconfig}", *flags], capture_output=True, text=True, timeout=300)

    def file(self, text):
        path = os.path.join(self.folder, "descheduler.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.format(port=1))
        return f"--config={path}"

    def versions(self):
        """Of all that it could change; the sandbox itself renews leases and heartbeats."""
        return [(one["metadata"]["uid"], one["metadata"]["resourceVersion"]) for path in (migration_test.PODS, JOBS, RESERVATIONS, migration_test.EVENTS)
                for one in self.api.list(path)]

    def test_it_says_what_would_move_why_and_where_to_and_changes_nothing(self):
        hot, there = self.hot()
        before = self.versions()
        for config in (BALANCE, BALANCE.replace("consecutiveAbnormalities: 1", "consecutiveAbnormalities: 5")):
            told = self.deschedule("--dry-run", "--output=json", self.file(config))
            self.assertEqual((told.returncode, told.stderr), (0, ""))
            report = json.loads(told.stdout)
            [pod] = report["evicted"]
            self.assertIn(pod["name"], [each["metadata"]["name"] for each in there])
            self.assertEqual((pod["node"], pod["plugin"], pod["reason"]),
                             (hot, "LowNodeLoad", "node is overutilized, node cpu usage(90.00%)>threshold(75.00%)"))
            self.assertIn(pod["to"], self.nodes[1:])
            changed = {node["name"]: (node["cpu"]["used"], node["cpu"]["usedAfter"]) for node in report["changed"]}
            self.assertEqual(changed, {hot: (90, 70), pod["to"]: (10, 30)})
            [cpu] = [each for each in report["spread"] if each["resource"] == "cpu"]
            self.assertLess(cpu["deviationAfter"], cpu["deviation"])
        told = self.deschedule("--dry-run", self.file(BALANCE))
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertIn("Of 6 pods on 3 nodes (3 ready, 3 with reported usage) the descheduler would move 1 now;", told.stdout)
        self.assertIn("90.0% -> 70.0%", told.stdout)
        self.assertEqual(self.versions(), before)

    def test_without_a_file_it_takes_the_clusters_own_configuration(self):
        told = self.deschedule("--dry-run")
        self.assertEqual(told.returncode, 1)
        self.assertIn("ConfigMap koordinator-system/koord-descheduler-config: say which configuration with --config=FILE", told.stderr)
        self.request("POST", CONFIGMAPS, {"metadata": {"name": "koord-descheduler-config"}, "data": {"koord-descheduler-config": BALANCE.format(port=1)}})
        hot, _ = self.hot()
        told = self.deschedule("--dry-run")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertIn(hot, told.stdout)
        self.request("PATCH", f"{CONFIGMAPS}/koord-descheduler-config", {"data": {"koord-descheduler-config": BALANCE.format(port=1) + "unknown: 1\n"}})
        told = self.deschedule("--dry-run")
        self.assertEqual(told.returncode, 2)
        self.assertRegex(told.stderr, r"ConfigMap koordinator-system/koord-descheduler-config:\d+: .*unknown")

    def test_what_it_cannot_do_it_says_and_ends(self):
        rows = (
            ((), 2, "it changes nothing: say --dry-run"),
            (("--dry-run", "--output=xml"), 2, '--output: "xml" is neither text nor json'),
            (("--dry-run", "--config=/nowhere"), 2, "/nowhere"),
            (("--dry-run", "--node-fit=mine", self.file(BALANCE)), 2, '--node-fit: "mine" is neither scheduler nor basic'),
            (("--dry-run", "--evict"), 2, "--evict"),
            (("--dry-run", self.file(BALANCE), f"--kubeconfig={self.other(free_port())}"), 1, "listing nodes: connecting to 127.0.0.1:"),
            (("--dry-run", f"--kubeconfig={self.other(free_port())}"), 1, "listing nodes: connecting to 127.0.0.1:"),
            (("--dry-run", self.file(BALANCE), "--timeout=1s", f"--kubeconfig={self.other(self.silent())}"), 1,
             "no answer within 1s (--timeout): the API server says nothing"),
            (("--dry-run", self.file(BALANCE), "--timeout=3s", f"--kubeconfig={self.other(self.miser(), 'http')}"), 1,
             "no answer within 3s (--timeout): the informers have not synced: nodes: forbidden: "),
        )
        for flags, code, words in rows:
            with self.subTest(flags=flags):
                told = self.deschedule(*flags)
                self.assertEqual(told.returncode, code, told.stderr)
                self.assertIn(words, told.stderr)
                self.assertEqual(told.stdout, "")
                last = told.stderr.strip().splitlines()[-1]
                self.assertLessEqual(last.count(" pods: forbidden"), 1, last)
        told = self.deschedule("--dry-run", self.file(BALANCE.replace("balance: {{enabled: [{{name: LowNodeLoad}}]}}", "balance: {{}}")))
        self.assertEqual(told.returncode, 0)
        self.assertIn("no plugin of the configuration chooses pods", told.stderr)

    def test_a_bar_on_a_terminal_says_how_far_it_is(self):
        slow = (KOORD, "deschedule", "--dry-run", self.file(BALANCE), "--timeout=2s", f"--kubeconfig={self.other(self.miser(), 'http')}")
        told = on_terminal(*slow)
        self.assertRegex(told, r"\r\x1b\[Kreading 0 objects: of kinds \[#*-+\] +\d+%  \d+ of \d+")
        self.assertIn("\r\x1b[Kkoord: deschedule: ", told)  # nothing of the bar stays before the words
        self.assertNotIn("\x1b", on_terminal(*slow, "--quiet"))

    def other(self, port, scheme="https"):
        """The kubeconfig of another server."""
        path = os.path.join(self.folder, f"other-{port}")
        with open(self.kubeconfig, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(f"https://{self.api.host}:{self.api.port}", f"{scheme}://127.0.0.1:{port}"))
        return path

    def silent(self):
        """The port of a server that takes connections and never says a word."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return listener.getsockname()[1]

    def miser(self):
        """The port of a server that lets nodes be listed, and nothing else."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                nodes = self.path.startswith("/api/v1/nodes") and "watch" not in self.path
                body = b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}' if nodes else b'{"kind":"Status","code":403}'
                self.send_response(200 if nodes else 403)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_address[1]


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
