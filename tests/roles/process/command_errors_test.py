#!/usr/bin/env python3
"""What commands that ask a cluster say when it cannot be asked, or has nothing: each names the file, the server, the failure and what
to do, prints nothing else, and ends with its own exit code."""
import contextlib
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
import sandbox  # noqa: E402
from sandbox import KOORD, free_port, on_terminal  # noqa: E402

# Words; what it is called in front of its errors; the exit code where the cluster cannot be asked.
COMMANDS = (
    (("top", "--cluster", "--once"), "top", 1),
    (("explain", "pod", "default/p"), "explain", 1),
    (("explain", "node", "n"), "explain node", 1),
    (("explain", "reservation", "r"), "explain", 1),
    (("lent",), "lent", 1),
    (("nodes",), "nodes", 1),
    (("quota",), "quota", 1),
    (("gangs",), "gangs", 1),
    (("reservations",), "reservations", 1),
    (("deschedule", "--dry-run"), "deschedule", 1),
    (("migrate", "check"), "migrate", 2),
)
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: '{server}'}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {{token: a-secret}}}}]
"""


def status(code, reason, message):
    return code, "application/json", json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})


class CommandErrors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="koord-errors.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def kubeconfig(self, server):
        return self.file(f"kubeconfig-{server.rpartition(':')[2]}", KUBECONFIG.format(server=server))

    def answering(self, code, kind, body):
        """The address of a server that says one thing to everything."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        return self.serving(Handler)

    def serving(self, handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    def run_command(self, words, kubeconfig, program=KOORD):
        return subprocess.run([program, *words, f"--kubeconfig={kubeconfig}"], capture_output=True, text=True, timeout=60, check=False)

    def test_a_kubeconfig_that_cannot_be_read(self):
        missing = os.path.join(self.folder, "missing")
        for path, told in ((missing, f"{missing}: No such file or directory"),
                           (self.folder, f"{self.folder}: a folder, expected a regular file"),
                           (self.file("text", "{ no: yaml"), f"{self.folder}/text:1: end of map flow not found (a kubeconfig is YAML)"),
                           (self.file("list", "- a"), f"{self.folder}/list:1: is not a kubeconfig: expected a mapping")):
            for words, name, _ in COMMANDS:
                with self.subTest(path=path, words=words):
                    done = self.run_command(words, path)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"koord: {name}: --kubeconfig: {told}\n"))

    def test_a_server_that_does_not_answer_as_one(self):
        gone = f"127.0.0.1:{free_port()}"
        for server, told in (
                (f"https://{gone}", f"connecting to {gone}: Connection refused: does it run, and is that its address?"),
                ("https://nobody.onion:6443", "resolving \"nobody.onion\": Domain name not found: does it run, and is that its address?"),
                (self.answering(*status(403, "Forbidden", "nodes is forbidden: User \"eve\" cannot list them")),
                 "cannot list them: ask for that right, or as another user (--kubeconfig, --context)"),
                (self.answering(*status(401, "Unauthorized", "Unauthorized")), "Unauthorized: the server does not take the credentials of {path}"),
                (self.answering(200, "text/html", "<html>log in</html>"), "is that a Kubernetes API server"),
                (self.answering(404, "text/plain", "404 page not found"), "HTTP status 404: 404 page not found: is that a Kubernetes API server")):
            path = self.kubeconfig(server)
            for words, name, code in COMMANDS:
                if "404" in told and words == ("reservations",):
                    continue  # it asks for nothing that every server has
                with self.subTest(server=server, words=words, told=told):
                    done = self.run_command(words, path)
                    self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                    self.assertTrue(done.stderr.startswith(f"koord: {name}: {server} (by {path}): "), done.stderr)
                    self.assertIn(told.format(path=path), done.stderr)
                    self.assertNotIn("a-secret", done.stderr)

    def test_interrupted_while_a_server_answers_for_ever(self):
        """A byte now and then: nothing is shown as if it were all, and who interrupts has no exit code of success."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                asked.release()
                with contextlib.suppress(OSError):
                    self.wfile.write(b'{"kind": "List", "items": [')
                    while not over.wait(0.2):
                        self.wfile.write(b" ")
                        self.wfile.flush()

            def log_message(self, *_):
                pass

        asked, over = threading.Semaphore(0), threading.Event()
        path = self.kubeconfig(self.serving(Handler))
        self.addCleanup(over.set)
        for words, _, _ in COMMANDS:
            with self.subTest(words=words):
                running = subprocess.Popen([KOORD, *words, f"--kubeconfig={path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.addCleanup(running.kill)
                self.assertTrue(asked.acquire(timeout=60))
                running.send_signal(signal.SIGINT)
                out, err = running.communicate(timeout=30)
                self.assertEqual((out, err), ("", ""))
                self.assertNotEqual(running.returncode, 0)

    def test_the_same_as_a_plugin_of_kubectl(self):
        plugin = os.path.join(self.folder, "kubectl-koord")
        os.symlink(os.path.abspath(KOORD), plugin)
        path = self.kubeconfig(f"https://127.0.0.1:{free_port()}")
        for words, name, code in COMMANDS:
            words = tuple(word for word in words if word != "--cluster")  # which is what the plugin looks at
            with self.subTest(words=words):
                done = self.run_command(words, path, plugin)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(f"koord: {name}: https://127.0.0.1:", done.stderr)

    def test_a_cluster_with_nothing_in_it(self):
        with sandbox.Sandbox("--nodes=0", "--roles=") as world:
            for words, code, told in (
                    (("top", "--cluster", "--once"), 0, "no node lends batch CPU: there is none\n"),
                    (("lent",), 0, "no node lends batch CPU: there is none\n"),
                    (("quota",), 0, "0 quotas, 0 pods waiting for them\n"),
                    (("gangs",), 0, "0 gangs\n"),
                    (("reservations",), 0, "0 reservations, 0 waiting for a node\n"),
                    (("explain", "pod", "p"), 1, "pods \"p\" not found in the namespace default (--namespace names another)\n"),
                    (("explain", "node", "n"), 1, "nodes \"n\" not found: koord nodes lists those that there are\n"),
                    (("explain", "reservation", "r"), 1, "\"r\" not found\n"),
                    (("nodes", "n"), 1, "there is no node n among 0\n"),
                    (("deschedule", "--dry-run"), 1, "say which configuration with --config=FILE"),
                    (("migrate", "check"), 0, "no Deployment or DaemonSet runs a program of Koordinator's\n")):
                with self.subTest(words=words):
                    done = self.run_command(words, world.kubeconfig)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertIn(told, done.stderr if code else done.stdout)
            self.assertRegex(on_terminal(KOORD, "migrate", "check", f"--kubeconfig={world.kubeconfig}"), r"\r\x1b\[Klisting \w+ \d+")
            self.assertEqual(on_terminal(KOORD, "migrate", "check", "--quiet", f"--kubeconfig={world.kubeconfig}"), "")

    def test_a_line_that_is_no_command(self):
        for words, told in ((("explain", "node", "--nosuch"), "--nosuch"), (("explain", "pod", "--nosuch"), "--nosuch"),
                            (("explain", "node"), "which node?"), (("explain", "pod"), "which pod?"), (("explain",), "koord explain pod NAMESPACE/NAME"),
                            (("explain", "deployment", "web"), "\"deployment\" is not explained"),
                            (("explain", "pod", "a", "b"), "one at a time, but got \"a\" and \"b\""),
                            (("explain", "pod", "a", "--filename=x"), "one of the two"), (("lent", "a", "b"), "one node at most"),
                            (("deschedule",), "say --dry-run"), (("migrate",), "koord migrate check")):
            with self.subTest(words=words):
                done = subprocess.run([KOORD, *words], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(told, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
