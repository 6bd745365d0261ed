#!/usr/bin/env python3
"""The proxy in front of Debian's docker, as a dockershim uses it: what hooks set is in force at the first instruction and after
updates, what nobody hooks passes as it is (logs that are followed, input and output of attach and exec, builds, pulls that fail),
and pods outlive the proxy and docker itself."""
import json
import os
import socket
import struct
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "roles", "proxy")]
from docker_rig import SANDBOX_ID, TYPE, Client  # noqa: E402
from docker_stage import CLI, GROUP, IMAGE, DockerStage, missing  # noqa: E402
from host_tree import is_v2  # noqa: E402
from janitor import CGROUPS, Unchanged, skip  # noqa: E402
from rig import HOOKS, SECONDS, Proxy, Server, f, fields, get, m, pairs, wait_for  # noqa: E402

POD_STAGES = ("PreRunPodSandbox", "PostStopPodSandbox")
STAGES = ("PreCreateContainer", "PreStartContainer", "PostStartContainer", "PreUpdateContainerResources", "PostStopContainer")
PARENT = f"/{GROUP}/kubepods/besteffort/poduid-1"
SHARES = ("cpu", "cpu.weight") if is_v2() else ("cpu", "cpu.shares")


def weight(shares):
    return 1 + (shares - 2) * 9999 // 262142 if is_v2() else shares


def echo(request, context):
    """As Koordinator's agent: the container's request comes back."""
    return b"".join(f({3: 1, 4: 2, 8: 3, 9: 4}[number], value) for number, value in fields(request) if number in (3, 4, 8, 9))


class Test(unittest.TestCase):
    def setUp(self):
        self.enterContext(Unchanged())
        self.stage = self.enterContext(DockerStage())
        os.mkdir(os.path.join(self.stage.dir, "hookserver.d"), 0o755)
        self.hook = Server(os.path.join(self.stage.dir, "a.sock"))
        self.proxy = Proxy(self.stage.dir, "--backend-runtime-mode=Docker", timeout="30s")
        self.addCleanup(self.hook.stop)
        self.addCleanup(self.proxy.end)
        wait_for("readiness", self.proxy.ready)
        with open(self.stage.archive, "rb") as archive:
            status, text = self.ask("POST", "/images/load", archive.read())
        self.assertEqual(status, 200, text)

    def ask(self, method, path, body=None, front=True):
        client = Client(self.proxy.front if front else self.stage.socket)
        try:
            return client.ask(method, path, body)
        finally:
            client.close()

    def done(self, method, path, body=None):
        status, text = self.ask(method, path, body)
        self.assertLess(status, 400, text)
        return json.loads(text) if text else None

    def create(self, name, body):
        return self.done("POST", f"/containers/create?name={name}", {"Image": IMAGE, **body})["Id"]

    def sandbox(self):
        return self.create("k8s_POD_web_default_uid-1_0", {
            "Labels": {"app": "web", TYPE: "podsandbox"}, "Cmd": ["exec sleep 100000"],
            "HostConfig": {"CgroupParent": PARENT, "CpuShares": 2, "NetworkMode": "none"}})

    def container(self, sandbox, command, name="main", **words):
        return self.create(f"k8s_{name}_web_default_uid-1_0", {
            "Labels": {TYPE: "container", SANDBOX_ID: sandbox, "annotation.own": "1"}, "Env": ["A=1", "B=2"], "Cmd": [command],
            "HostConfig": {"CgroupParent": PARENT, "CpuShares": 512, "NetworkMode": f"container:{sandbox}"}, **words})

    def held(self, container, controller, file):
        path = [] if is_v2() else [controller]
        with open(os.path.join(CGROUPS, *path, PARENT.strip("/"), container, file), encoding="utf-8") as text:
            return text.read().strip()

    def hooks(self):
        self.proxy.hook("a.json", self.hook.socket, *POD_STAGES, *STAGES, policy="Fail")

    def says(self, stage, answer):
        self.hook.answers[HOOKS + stage + "Hook"] = answer

    def test_a_pods_life(self):
        nothing = lambda request, context: b""  # noqa: E731
        changing = lambda request, context: echo(request, context) + f(2, get(request, 4) + f(3, 700)) + m(4, NEW="n")  # noqa: E731
        for kind, pod, container_, shares, env in (("no hooks", None, None, 512, "1 2"), ("echo", nothing, echo, 512, "1 2"),
                                                   ("changing", nothing, changing, 700, "1 2 n")):
            with self.subTest(kind):
                if kind == "echo":
                    self.hooks()
                if pod:
                    for stage in POD_STAGES:
                        self.says(stage, pod)
                    for stage in STAGES:
                        self.says(stage, nothing)
                    self.says("PreCreateContainer", container_)
                sandbox = self.sandbox()
                self.done("POST", f"/containers/{sandbox}/start")
                container = self.container(sandbox, "echo $A $B $NEW; exec sleep 100000")
                self.done("POST", f"/containers/{container}/start")
                self.assertEqual(int(self.held(container, *SHARES)), weight(shares))
                wait_for("its output", lambda: self.ask("GET", f"/containers/{container}/logs?stdout=1")[1][8:] == f"{env}\n".encode())
                for path in (f"/containers/{container}/json", "/version", "/images/json", f"/containers/{container}/logs?stdout=1"):
                    self.assertEqual(self.ask("GET", path), self.ask("GET", path, front=False), path)
                # The kubelet's update, and the hook's word on it.
                if pod:
                    self.says("PreUpdateContainerResources", lambda request, context: f(2, f(6, "0")))
                self.done("POST", f"/containers/{container}/update", {"CpuShares": 300})
                self.assertEqual(int(self.held(container, *SHARES)), weight(300))
                inspected = self.done("GET", f"/containers/{container}/json")["HostConfig"]
                self.assertEqual((inspected["CpusetCpus"], inspected["CpuShares"]), ("0" if pod else "", 300))
                for each in (container, sandbox):
                    self.done("POST", f"/containers/{each}/stop?t=0")
                    self.done("DELETE", f"/containers/{each}")
                if pod:
                    self.assertEqual([len(self.hook.calls(HOOKS + stage + "Hook")) for stage in (*POD_STAGES, *STAGES)], [1] * 7)
                    self.hook.seen.clear()
                self.assertEqual(self.proxy.metric('koord_runtimeproxy_known{kind="container"}'), 0)
                self.assertEqual(self.proxy.metric('koord_runtimeproxy_known{kind="sandbox"}'), 0)

    def test_streams(self):
        sandbox = self.sandbox()
        self.done("POST", f"/containers/{sandbox}/start")
        container = self.container(sandbox, "echo ready; while read line; do echo got $line; done; echo end", OpenStdin=True, StdinOnce=True,
                                   AttachStdin=True, AttachStdout=True)
        peer, head = Client(self.proxy.front).raw(
            f"POST /containers/{container}/attach?stream=1&stdin=1&stdout=1 HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n".encode())
        self.assertTrue(head.startswith(b"HTTP/1.1 101 UPGRADED\r\n"), head)
        self.done("POST", f"/containers/{container}/start")
        follower = subprocess.Popen([CLI, "--host", f"unix://{self.proxy.front}", "logs", "-f", container], stdout=subprocess.PIPE,
                                    env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
        self.addCleanup(follower.stdout.close)
        self.assertEqual(self.frames(peer, 6), b"ready\n")
        self.assertEqual(follower.stdout.readline(), b"ready\n")
        for word in (b"one", b"two"):
            peer.sendall(word + b"\n")
            self.assertEqual(self.frames(peer, 8), b"got " + word + b"\n")
            self.assertEqual(follower.stdout.readline(), b"got " + word + b"\n")
        peer.shutdown(socket.SHUT_WR)  # the container's input ends, its output not
        self.assertEqual(self.frames(peer, 4), b"end\n")
        self.assertEqual(peer.recv(1), b"")
        peer.close()
        self.assertEqual((follower.stdout.read(), follower.wait(SECONDS)), (b"end\n", 0))

    def frames(self, peer, size):
        """That much output, out of docker's frames."""
        text = b""
        while len(text) < size:
            head = peer.recv(8, socket.MSG_WAITALL)
            self.assertEqual(len(head), 8, text)
            text += peer.recv(struct.unpack(">xxxxI", head)[0], socket.MSG_WAITALL)
        return text

    def test_exec(self):
        sandbox = self.sandbox()
        self.done("POST", f"/containers/{sandbox}/start")
        much = os.urandom(4 << 20)
        got = self.stage.cli(self.proxy.front, "exec", "-i", sandbox, "cat", input=much)
        self.assertEqual((got.returncode, got.stdout == much, got.stderr), (0, True, b""))
        self.assertEqual(self.stage.cli(self.proxy.front, "exec", sandbox, "sh", "-c", "echo no >&2; exit 7").returncode, 7)
        # With a terminal, by the older way, without an upgrade: an answer of 200 that lasts.
        made = self.done("POST", f"/containers/{sandbox}/exec", {"Cmd": ["sh"], "Tty": True, "AttachStdin": True, "AttachStdout": True})["Id"]
        body = b'{"Detach":false,"Tty":true}'
        peer, head = Client(self.proxy.front).raw(f"POST /exec/{made}/start HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\n"
                                                  f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.assertTrue(head.startswith(b"HTTP/1.1 200 OK\r\n"), head)
        peer.sendall(b"echo $((6*7)); exit\n")
        text = b""
        while piece := peer.recv(4096):
            text += piece
        self.assertIn(b"\r\n42\r\n", text)
        peer.close()

    def test_builds_and_pulls(self):
        folder = os.path.join(self.stage.dir, "context")
        os.mkdir(folder)
        with open(os.path.join(folder, "Dockerfile"), "w", encoding="utf-8") as file:
            file.write("FROM scratch\nCOPY data /data\nLABEL of=koord\n")
        with open(os.path.join(folder, "data"), "wb") as file:
            file.write(os.urandom(8 << 20))
        built = self.stage.cli(self.proxy.front, "build", "-q", "-t", "koord.test/built:1", folder)
        self.assertEqual(built.returncode, 0, built.stderr)
        saved = [self.stage.cli(to, "save", "koord.test/built:1").stdout for to in (self.proxy.front, self.stage.socket)]
        self.assertGreater(len(saved[0]), 8 << 20)
        self.assertEqual(len(saved[0]), len(saved[1]))
        # A registry that is not there: docker's words.
        path = "/images/create?fromImage=127.0.0.1%3A1%2Fnone&tag=1"
        direct, through = self.ask("POST", path, front=False), self.ask("POST", path)
        self.assertEqual(through[0], direct[0])
        self.assertIn(b"refused", through[1])

    def test_who_goes_and_comes_again(self):
        self.hooks()
        for stage in (*POD_STAGES, *STAGES):
            self.says(stage, lambda request, context: b"")
        self.says("PreCreateContainer", lambda request, context: f(2, f(3, 700)))
        sandbox = self.sandbox()
        self.done("POST", f"/containers/{sandbox}/start")
        container = self.container(sandbox, "exec sleep 100000")
        self.proxy.kill()
        if os.path.exists(self.proxy.store):
            os.unlink(self.proxy.store)
        self.proxy.start()
        wait_for("readiness", self.proxy.ready)
        self.done("POST", f"/containers/{container}/start")
        asked = self.hook.calls(HOOKS + "PreStartContainerHook")[-1]
        self.assertEqual((get(asked, 1, 1), get(asked, 1, 3), get(asked, 2, 1), get(asked, 4, 3), get(asked, 8).decode()),
                         (b"web", b"default", b"main", 700, PARENT))
        self.assertEqual((dict(pairs(asked, 3)), dict(pairs(asked, 9))["A"]), ({"own": "1"}, "1"))
        # Docker ends, and its containers with it; it comes again.
        self.stage.kill("dockerd")
        os.unlink(self.stage.socket)
        wait_for("that it is not ready", lambda: not self.proxy.ready())
        self.assertEqual(self.ask("GET", "/version")[0], 502)
        self.assertEqual(self.ask("POST", f"/containers/{container}/start")[0], 500)
        self.stage.start()
        wait_for("readiness", self.proxy.ready)
        self.done("POST", f"/containers/{container}/stop?t=0")
        self.done("DELETE", f"/containers/{container}?force=1")
        self.done("POST", f"/containers/{sandbox}/stop?t=0")
        self.assertEqual(len(self.hook.calls(HOOKS + "PostStopPodSandboxHook")), 1)


if __name__ == "__main__":
    if reason := missing():
        skip(reason)
    unittest.main(verbosity=2, warnings="ignore")
