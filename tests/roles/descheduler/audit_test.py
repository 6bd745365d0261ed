#!/usr/bin/env python3
"""The audit of the descheduler, on the sandbox: what a migration changed and who wanted it, at /audit and in the file, which
a process that is killed leaves whole; and a paused job, which nobody touches."""
import json
import os
import ssl
import sys
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.join(TREE, "tests", "support")]

from descheduler_test import Descheduler  # noqa: E402
from migration_test import CONFIG, JOBS, World  # noqa: E402
from sandbox import free_port, wait_for  # noqa: E402

# Nobody is chosen: all jobs are users'.
QUIET = CONFIG.replace("    deschedule: {{enabled: [{{name: RemovePodsViolatingNodeTaints}}]}}\n", "    deschedule: {{}}\n")


class Audit(World):
    def setUp(self):
        super().setUp()
        self.logs = os.path.join(self.folder, "audit")

    def begin(self):
        """A process with its secure port and its file."""
        self.secure = free_port()
        self.running.append(Descheduler(self.kubeconfig, self.folder, QUIET, f"--secure-port={self.secure}",
                                        "--bind-address=127.0.0.1", f"--audit-log-dir={self.logs}"))
        wait_for("the secure port", lambda: self.ask("", token=None)[0] in (401, 403))
        return self.running[-1]

    def ask(self, query, token="own"):
        """(status, text) of /audit."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        request = urllib.request.Request(f"https://127.0.0.1:{self.secure}/audit{query}")
        if token is not None:
            request.add_header("Authorization", f"Bearer {self.api.token if token == 'own' else token}")
        try:
            with urllib.request.urlopen(request, context=context, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def records(self, query=""):
        status, text = self.ask(query)
        self.assertEqual(status, 200, text)
        return json.loads(text)["records"]

    def lines(self):
        """Of the file: each of them whole."""
        with open(os.path.join(self.logs, "audit.log"), encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.endswith("\n"))
        return [json.loads(line) for line in text.splitlines()]

    def move(self, name, **more):
        pod = self.pods()[0]["metadata"]["name"]
        self.request("POST", JOBS, {"metadata": {"name": name}, "spec": {"ttl": "20m", "podRef": {"namespace": "default", "name": pod},
                                                                         **more}})
        return pod

    def test_what_a_migration_changed_is_told_to_those_who_may_ask_and_outlives_a_kill(self):
        one = self.begin()
        pod = self.move("held", paused=True)
        before = self.request("GET", f"{JOBS}/held")
        moved = self.move("move")
        # Two jobs for one pod: the one that is paused is in nobody's way.
        self.assertEqual(pod, moved)
        wait_for("the job ends", lambda: self.phase("move") in ("Succeeded", "Failed"))
        self.assertEqual(self.phase("move"), "Succeeded", self.request("GET", f"{JOBS}/move"))
        self.assertEqual(self.request("GET", f"{JOBS}/held"), before)

        self.assertIn(self.ask("", token=None)[0], (401, 403))
        self.assertIn(self.ask("", token="guessed")[0], (401, 403))
        self.assertEqual(one.get("/audit")[0], 404)  # not on the plain port
        status, text = self.ask("?limit=0")
        self.assertEqual((status, text), (400, 'limit: "0" is not a number from 1 to 1000\n'))
        self.assertEqual(self.ask("?name=x")[0], 400)
        # Its own writes alone, the last of which are told once their answers are in.
        wait_for("the last answer", lambda: self.records("?limit=1")[0].get("result") == "done")
        all_of_it = self.records("?limit=1000")
        self.assertEqual({(each["verb"], each["resource"].split(".")[0], each.get("subresource", "")) for each in all_of_it},
                         {("patch", "podmigrationjobs", ""), ("patch", "podmigrationjobs", "status"), ("create", "reservations", ""),
                          ("evict", "pods", "eviction")})
        for each in all_of_it:
            self.assertEqual(each["wantedBy"], ["PodMigrationJob/move"], each)
            self.assertEqual(each["plugin"], "MigrationController", each)
            self.assertTrue(each["reason"], each)
            self.assertIn(each["result"], ("done", "conflict", "refused"), each)
        evicted = self.records("?object=pods&plugin=MigrationController&since=1h")[-1]
        self.assertEqual(evicted["result"], "done")
        self.assertEqual((evicted["namespace"], evicted["name"]), ("default", moved))
        self.assertEqual(self.records("?object=pods&plugin=Drain"), [])
        self.assertTrue(any("metadata.annotations[descheduler.koordinator.sh/passed-arbitration]" in each.get("changes", [])
                            for each in all_of_it))

        # A line before each and one after it; those after are written by the way.
        with open(os.path.join(self.logs, "audit.log"), "rb") as file:
            wait_for("the lines of answers", lambda: file.seek(0) == 0 and file.read().count(b"\n") == 2 * len(all_of_it))
        one.end(kill=True)
        lines = self.lines()
        self.assertEqual({each["id"] for each in lines}, {each["id"] for each in all_of_it})
        with open(os.path.join(self.logs, "audit.log"), "ab") as file:
            file.write(b'{"id":"torn","time":"20')
        self.begin()
        self.assertEqual(self.lines(), lines)
        self.assertEqual(self.records("?limit=1000"), all_of_it)

        # And the one that was held goes on, to its end: its pod is gone.
        self.request("PATCH", f"{JOBS}/held", {"spec": {"paused": False}})
        wait_for("the other job ends", lambda: self.phase("held") == "Failed")
        self.assertTrue(self.records("?wantedBy=PodMigrationJob/held"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
