#!/usr/bin/env python3
"""Docker's way of the proxy on real sockets: what passes, what hooks change, and what becomes of both when anybody goes."""
import hashlib
import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from docker_rig import SANDBOX_ID, TYPE, Client, Docker, received  # noqa: E402
from rig import HOOKS, SECONDS, Proxy, Server, f, fields, get, grpc, m, pairs, wait_for  # noqa: E402

SKIP = "runtimeproxy.koordinator.sh/skip-hookserver"
SECRET = "a-secret-of-the-pod"
POD, MAIN = "k8s_POD_web_default_uid-1_7", "k8s_main_web_default_uid-1_2"
PARENT = "/kubepods/besteffort/poduid-1"


def sandbox_body(parent=PARENT, **labels):
    return {"Image": "pause", "Labels": {"app": "web", "annotation.note": "n", TYPE: "podsandbox", **labels}, "Later": {"x": [1, 2.5, None]},
            "HostConfig": {"CgroupParent": parent, "CpuShares": 2, "OomScoreAdj": -998, "Unknown": "kept"}}


def container_body(sandbox, parent=PARENT):
    return {"Image": "web", "Env": ["B=1", f"A={SECRET}", "B=2", "PLAIN"], "Later": 1,
            "Labels": {"annotation.own": "1", TYPE: "container", SANDBOX_ID: sandbox},
            "HostConfig": {"CgroupParent": parent, "CpuPeriod": 100000, "CpuShares": 512, "OomScoreAdj": -997, "Unknown": "kept"},
            "NetworkingConfig": {}}


class Test(unittest.TestCase):
    """One proxy a test, with a docker and a hook server `a`."""

    driver = "cgroupfs"

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="koord-docker.")
        os.mkdir(os.path.join(self.folder, "hookserver.d"), 0o755)
        self.docker = Docker(os.path.join(self.folder, "back.sock"))
        self.docker.driver = self.driver
        self.hook = Server(os.path.join(self.folder, "a.sock"))
        self.proxy = Proxy(self.folder, "--backend-runtime-mode=Docker", timeout="30s")
        self.kubelet = Client(self.proxy.front)
        wait_for("readiness", self.proxy.ready)

    def tearDown(self):
        self.kubelet.close()
        self.proxy.end()
        self.docker.stop()
        self.hook.stop()
        self.assertNotIn(SECRET, self.proxy.output())

    def says(self, stage, *answer):
        self.hook.answers[HOOKS + stage + "Hook"] = lambda request, context: b"".join(answer)

    def create(self, name, body, status=201):
        """The id, or the error's text."""
        got, text = self.kubelet.ask("POST", f"/containers/create?name={name}", body)
        self.assertEqual(got, status, text)
        return json.loads(text).get("Id") or json.loads(text)["message"]

    def pod(self, **words):
        sandbox = self.create(POD, sandbox_body(**words))
        return sandbox, self.create(MAIN, container_body(sandbox))

    def known(self, kind):
        return self.proxy.metric('koord_runtimeproxy_known{kind="%s"}' % kind)


class Passing(Test):
    def test_bytes(self):
        odd = b'{ "Image":"x", "b" : 1.0, "c":"\xc3\xa9\\u00e9", "c":2 }'
        for method, path, body in (("POST", "/containers/create?name=other", odd), ("POST", "/networks/create", odd),
                                   ("POST", "/images/create?fromImage=a%2Fb&tag=1", b""), ("PUT", "/x?a=b&a=c", b"\0\xff"),
                                   ("GET", "/events?filters=%7B%7D", b"")):
            self.kubelet.ask(method, path, body, X_Registry_Auth="secret", Content_Type="application/json")
            call = self.docker.seen[-1]
            self.assertEqual((call[0], call[1], call[3]), (method, "/v1.40" + path, body))
            self.assertEqual((call[2]["X-Registry-Auth"], call[2]["Host"]), ("secret", "docker"))
        # Calls that hooks could have a say in, where there are none: as they came.
        sandbox, container = self.pod()
        for path, body in ((f"/containers/{container}/start", b""), (f"/containers/{container}/update", b'{ "CpuShares" : 7 }')):
            self.assertLess(self.kubelet.ask("POST", path, body)[0], 300)
            self.assertEqual(self.docker.seen[-1][3], body)
        self.assertEqual(self.docker.calls("/create")[-2:], [json.dumps(sandbox_body()).encode(), json.dumps(container_body(sandbox)).encode()])
        self.assertEqual(self.hook.seen, [])

    def test_how_calls_end(self):
        self.kubelet.request("HEAD", "/containers/x/archive")
        response = self.kubelet.getresponse()
        self.assertEqual((response.status, response.read(), response.getheader("Api-Version")), (404, b"", "1.41"))
        status, text = self.kubelet.ask("POST", "/containers/none/start")
        self.assertEqual((status, json.loads(text)), (404, {"message": "No such container: none"}))
        self.docker.answers["containers/create"] = lambda handler: handler.reply(409, {"message": "name taken"}, X_Own="1")
        self.kubelet.request("POST", f"/containers/create?name={POD}", json.dumps(sandbox_body()))
        response = self.kubelet.getresponse()
        self.assertEqual((response.status, json.loads(response.read()), response.getheader("X-Own")), (409, {"message": "name taken"}, "1"))
        self.assertEqual(self.known("sandbox"), 0)
        # A pull that fails, at once and in its midst.
        self.docker.answers["images/create"] = lambda handler: handler.reply(404, {"message": "pull access denied"})
        self.assertEqual(self.kubelet.ask("POST", "/images/create?fromImage=x"), (404, b'{"message": "pull access denied"}\n'))

        def pull(handler):
            handler.stream()
            handler.chunks(b'{"status":"Pulling"}\r\n', b'{"error":"toomanyrequests"}\r\n')
            handler.wfile.write(b"0\r\n\r\n")

        self.docker.answers["images/create"] = pull
        self.assertEqual(self.kubelet.ask("POST", "/images/create?fromImage=x"),
                         (200, b'{"status":"Pulling"}\r\n{"error":"toomanyrequests"}\r\n'))

    def test_streams(self):
        go, gone = threading.Event(), threading.Event()

        def logs(handler):
            handler.stream("application/vnd.docker.raw-stream")
            handler.chunks(b"one\n")
            go.wait(SECONDS)
            handler.chunks(b"two\n")
            handler.connection.settimeout(SECONDS)
            if handler.connection.recv(1) == b"":
                gone.set()

        self.docker.answers["containers/logs"] = logs
        made = self.docker.make("x", {})
        follower = Client(self.proxy.front)
        follower.request("GET", f"/containers/{made}/logs?follow=1")
        response = follower.getresponse()
        self.assertEqual(response.read1(), b"one\n")  # while it goes on
        go.set()
        self.assertEqual(response.read1(), b"two\n")
        response.close()
        follower.close()
        self.assertTrue(gone.wait(SECONDS), "docker is told that nobody follows any more")

        # A build's context is nobody's to keep, whatever its length is said to be.
        piece = os.urandom(1 << 20)
        digest = hashlib.sha256(piece * 16).hexdigest()
        for length in ({}, {"Content-Length": str(16 << 20)}):
            builder = Client(self.proxy.front)
            builder.request("POST", "/build", iter([piece] * 16), length, encode_chunked=not length)
            self.assertEqual(json.loads(builder.getresponse().read()), {"sha": digest})
            builder.close()
        self.docker.answers["images/get"] = lambda handler: handler.reply(200, piece * 16, "application/x-tar")
        self.assertEqual(hashlib.sha256(self.kubelet.ask("GET", "/images/get")[1]).hexdigest(), digest)

    def test_attaching(self):
        def attach(handler):
            if "Upgrade" in handler.headers:
                assert handler.headers["Connection"] == "Upgrade" and handler.headers["Upgrade"] == "tcp"
                handler.wfile.write(b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\n"
                                    b"Upgrade: tcp\r\n\r\n")
            else:
                handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n")
            handler.close_connection = True
            size = 0
            while data := handler.rfile.read1():
                handler.wfile.write(data)
                size += len(data)
            handler.wfile.write(f"end {size}".encode())  # the input has ended, the output not

        self.docker.answers["exec/e/start"] = self.docker.answers["containers/attach"] = attach
        made = self.docker.make("x", {})
        looks_like_one = b"POST /containers/create HTTP/1.1\r\n\r\n"
        for path in ("/exec/e/start", f"/v1.40/containers/{made}/attach?stream=1"):
            for upgrade in (b"", b"Connection: Upgrade\r\nUpgrade: tcp\r\n"):
                peer, head = Client(self.proxy.front).raw(b"POST " + path.encode() + b" HTTP/1.1\r\nHost: docker\r\n" + upgrade +
                                                          b"Content-Length: 0\r\n\r\n")
                self.assertTrue(head.startswith(b"HTTP/1.1 101 UPGRADED\r\n" if upgrade else b"HTTP/1.1 200 OK\r\n"), head)
                self.assertIn(b"\r\nContent-Type: application/vnd.docker.raw-stream\r\n", head)
                for text in (looks_like_one, b"\0\1\2", b"x" * 100_000):
                    sender = threading.Thread(target=peer.sendall, args=(text,))
                    sender.start()
                    self.assertEqual(received(peer, len(text)), text)
                    sender.join()
                peer.shutdown(socket.SHUT_WR)
                end = b"end %d" % (100_000 + 3 + len(looks_like_one))
                self.assertEqual(received(peer, len(end)), end)
                self.assertEqual(peer.recv(1), b"")
                peer.close()

    def test_neighbours(self):
        self.docker.answers["events"] = lambda handler: (handler.stream(), handler.chunks(b"{}"), threading.Event().wait(SECONDS))
        peers = []
        for i in range(120):
            peer = socket.socket(socket.AF_UNIX)
            peer.connect(self.proxy.front)
            peer.sendall((b"", b"GET /ver", b"POST /build HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nx",
                          b"GET /events HTTP/1.1\r\nHost: h\r\n\r\n",
                          b"POST /containers/create HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n{", b"\x16\x03\x01\0\0\r\n\r\n")[i % 6])
            peers.append(peer)
        began = time.monotonic()
        for _ in range(50):
            self.assertEqual(self.kubelet.ask("GET", "/_ping"), (200, b"OK"))
        self.assertLess(time.monotonic() - began, SECONDS / 2)
        self.pod()
        # Beyond a bound a body that somebody has a say in is not taken.
        status, text = Client(self.proxy.front).ask("POST", "/containers/create", b" " * (5 << 20))
        self.assertEqual(status, 413, text)
        for peer in peers:
            peer.close()


class Hooking(Test):
    def test_a_sandbox(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PostStopPodSandbox")
        self.says("PreRunPodSandbox", m(1, added="l"), m(2, note="changed"), f(3, "/offline"), f(4, f(3, 3)))
        self.says("PostStopPodSandbox")
        sandbox = self.create(POD, sandbox_body())
        asked = self.hook.calls(HOOKS + "PreRunPodSandboxHook")[0]
        self.assertEqual((get(asked, 1, 1), get(asked, 1, 2), get(asked, 1, 3), get(asked, 1, 4)), (b"web", b"uid-1", b"default", None))
        self.assertEqual((get(asked, 2), get(asked, 5), get(asked, 7, 3)), (b"docker", PARENT.encode(), 2))
        self.assertEqual((dict(pairs(asked, 3)), dict(pairs(asked, 4))), ({"app": "web", TYPE: "podsandbox"}, {"note": "n"}))
        want = sandbox_body(parent="/offline", added="l")
        want["Labels"]["annotation.note"] = "changed"
        want["HostConfig"]["CpuShares"] = 3
        self.assertEqual(json.loads(self.docker.calls("/create")[0]), want)

        # A stop that fails keeps the sandbox, the next one that works tells the hook server, one more does not.
        self.docker.answers["containers/stop"] = lambda handler: handler.reply(500, {"message": "busy"})
        self.assertEqual(self.kubelet.ask("POST", f"/containers/{sandbox}/stop?t=1")[0], 500)
        self.assertEqual(self.hook.calls(HOOKS + "PostStopPodSandboxHook"), [])
        del self.docker.answers["containers/stop"]
        self.kubelet.ask("POST", f"/containers/{sandbox}/start")
        for status in (204, 304):
            self.assertEqual(self.kubelet.ask("POST", f"/containers/{sandbox}/stop?t=1")[0], status)
        told = self.hook.calls(HOOKS + "PostStopPodSandboxHook")
        self.assertEqual(len(told), 1)
        self.assertEqual((get(told[0], 5), dict(pairs(told[0], 4))), (b"/offline", {"note": "changed"}))
        self.assertEqual(self.known("sandbox"), 1)
        self.assertEqual(self.kubelet.ask("DELETE", f"/containers/{sandbox}?v=1")[0], 204)
        self.assertEqual(self.known("sandbox"), 0)

    def test_a_container(self):
        self.proxy.hook("a.json", self.hook.socket, "PreCreateContainer", "PreStartContainer", "PostStartContainer",
                        "PreUpdateContainerResources", "PostStopContainer")
        # The answer of Koordinator's agent: all that it was asked with, and what it sets.
        self.hook.answers[HOOKS + "PreCreateContainerHook"] = lambda request, context: b"".join(
            [*(f(1, value) for number, value in fields(request) if number == 3), f(2, get(request, 4) + f(6, "2-3")), f(3, get(request, 8)),
             *(f(4, value) for number, value in fields(request) if number == 9), m(4, NEW="n")])
        for stage in ("PreStartContainer", "PostStartContainer", "PreUpdateContainerResources", "PostStopContainer"):
            self.says(stage)
        sandbox, container = self.pod(tier="ls")
        asked = self.hook.calls(HOOKS + "PreCreateContainerHook")[0]
        self.assertEqual((get(asked, 1, 2), get(asked, 2, 1), get(asked, 2, 2), get(asked, 2, 3)), (b"uid-1", b"main", 2, None))
        self.assertEqual((dict(pairs(asked, 7)), dict(pairs(asked, 9))), ({"app": "web", "tier": "ls", TYPE: "podsandbox"}, {"A": SECRET, "B": "2"}))
        self.assertEqual((get(asked, 8), get(asked, 5, 3), dict(pairs(asked, 6))), (PARENT.encode(), 2, {"note": "n"}))
        want = container_body(sandbox)
        want["HostConfig"]["CpusetCpus"] = "2-3"
        want["Env"].append("NEW=n")
        self.assertEqual(json.loads(self.docker.calls("/create")[-1]), want)

        # What it was made with is what later hooks are asked with; by the beginning of its id, too, and by its name.
        for reference in (container, container[:12], MAIN):
            self.kubelet.ask("POST", f"/containers/{reference}/start")
            for stage in ("PreStartContainer", "PostStartContainer"):
                asked = self.hook.calls(HOOKS + stage + "Hook")[-1]
                self.assertEqual((get(asked, 2, 3).decode(), get(asked, 4, 6), dict(pairs(asked, 9))["NEW"]), (container, b"2-3", "n"), stage)
        self.assertEqual(len(self.hook.calls(HOOKS + "PostStartContainerHook")), 3)
        # An update that the hook has no say in passes as it came.
        update = b'{ "CpuPeriod":50000, "CpuQuota":25000, "Later":1 }'
        self.kubelet.ask("POST", f"/containers/{container}/update", update)
        self.assertEqual(self.docker.calls("/update")[-1], update)
        asked = self.hook.calls(HOOKS + "PreUpdateContainerResourcesHook")[-1]
        self.assertEqual([get(asked, 4, number) for number in (1, 2, 3, 6)], [50000, 25000, 512, b"2-3"])
        # One that it has: what it changed, and nothing else.
        self.says("PreUpdateContainerResources", f(2, [f(3, 100), f(6, "4")]))
        self.kubelet.ask("POST", f"/containers/{container}/update", b'{"Memory":1073741824,"Later":1}')
        self.assertEqual(json.loads(self.docker.calls("/update")[-1]), {"Memory": 1 << 30, "Later": 1, "CpuShares": 100, "CpusetCpus": "4"})

        # A start that fails is no start.
        self.docker.answers["containers/start"] = lambda handler: handler.reply(500, {"message": "no"})
        self.assertEqual(self.kubelet.ask("POST", f"/containers/{container}/start")[0], 500)
        self.assertEqual(len(self.hook.calls(HOOKS + "PostStartContainerHook")), 3)
        for status in (204, 304):
            self.assertEqual(self.kubelet.ask("POST", f"/containers/{container}/stop?t=0")[0], status)
        self.assertEqual(len(self.hook.calls(HOOKS + "PostStopContainerHook")), 1)
        self.kubelet.ask("DELETE", f"/containers/{MAIN}")
        self.assertEqual(self.known("container"), 0)

    def test_echo_and_nothing_change_no_byte(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PreCreateContainer")

        def echo(numbers):
            return lambda request, context: b"".join(f(numbers[number], value) for number, value in fields(request) if number in numbers)

        for pod, container in (({}, {}), ({3: 1, 4: 2, 5: 3, 7: 4}, {3: 1, 4: 2, 8: 3, 9: 4})):
            self.hook.answers[HOOKS + "PreRunPodSandboxHook"], self.hook.answers[HOOKS + "PreCreateContainerHook"] = echo(pod), echo(container)
            sandbox, _ = self.pod()
            self.assertEqual(self.docker.calls("/create")[-2:],
                             [json.dumps(sandbox_body()).encode(), json.dumps(container_body(sandbox)).encode()])
        self.assertEqual(len(self.hook.seen), 4)

    def test_whom_hooks_are_not_asked_about(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PreCreateContainer", "PreStartContainer", policy="Fail")
        other = self.create("quizzical_hopper", {"Image": "x"})
        self.assertEqual(self.kubelet.ask("POST", f"/containers/{other}/start")[0], 204)
        sandbox = self.create(POD, sandbox_body(**{SKIP: "true"}))
        self.create(MAIN, container_body(sandbox))
        self.assertEqual(self.hook.seen, [])

    def test_what_is_refused(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PreCreateContainer", policy="Fail")
        self.says("PreRunPodSandbox")
        self.says("PreCreateContainer")
        sandbox = self.create(POD, sandbox_body())
        before = len(self.docker.calls("/create"))
        self.assertIn("Failed to get pod info", self.create(MAIN, container_body("unknown"), 500))
        self.assertIn("Failed to split k8s container name", self.create("web", container_body(sandbox), 500))
        self.assertIn("hook server err: ", self.create(POD, b"{", 500))
        self.hook.answers[HOOKS + "PreCreateContainerHook"] = lambda request, context: context.abort(grpc.StatusCode.INVALID_ARGUMENT, "bad")
        self.assertEqual(self.create(MAIN, container_body(sandbox), 500), "hook server err: rpc error: code = InvalidArgument desc = bad")
        self.assertEqual(len(self.docker.calls("/create")), before)
        # A second try of the kubelet's has one more part in its name; labels tell as much.
        self.says("PreCreateContainer", m(4, N="1"))
        self.create(MAIN + "_5ca1ab1e", container_body(sandbox))
        body = container_body(sandbox)
        body["Labels"].update({"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "u"})
        self.create("web", body)
        self.assertEqual([json.loads(body)["Env"] for body in self.docker.calls("/create")[-2:]], [["PLAIN", "N=1"]] * 2)
        # With Ignore all of them are made.
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PreCreateContainer")
        self.create(MAIN, container_body("unknown"))
        self.assertEqual(self.proxy.metric('koord_runtimeproxy_unhooked_total{stage="PreCreateContainer"}'), 1)


    def test_bodies_that_docker_reads_otherwise(self):
        """What hooks cannot be told of is refused where a server of either kind of create says Fail: Docker might make it."""
        text = json.dumps(sandbox_body())
        for stage in ("PreRunPodSandbox", "PreCreateContainer"):
            self.proxy.hook("a.json", self.hook.socket, stage, policy="Fail")
            for body in (text.encode()[:-1] + b', "labels": {}}', text.encode()[:-1] + b', "Labels": {}}', text.encode()[:-1] + b', "X": "\xff"}', b"[" * 100000):
                self.assertIn("the request's body", self.create(POD, body, 500))
        self.assertEqual((self.docker.calls("/create"), self.hook.seen), ([], []))


class Systemd(Test):
    driver = "systemd"

    def test_slices(self):
        slice_ = "kubepods-besteffort-poduid_1.slice"
        path = "/kubepods.slice/kubepods-besteffort.slice/" + slice_
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PreCreateContainer")
        self.says("PreRunPodSandbox", f(3, path))
        self.says("PreCreateContainer", f(3, "/offline.slice/offline-x.slice"))
        sandbox = self.create(POD, sandbox_body(parent=slice_))
        self.assertEqual(get(self.hook.calls(HOOKS + "PreRunPodSandboxHook")[0], 5).decode(), path)
        self.assertEqual(self.docker.calls("/create")[0], json.dumps(sandbox_body(parent=slice_)).encode())
        self.create(MAIN, container_body(sandbox, parent=slice_))
        self.assertEqual(get(self.hook.calls(HOOKS + "PreCreateContainerHook")[0], 8).decode(), path)
        self.assertEqual(json.loads(self.docker.calls("/create")[1])["HostConfig"]["CgroupParent"], "offline-x.slice")


class Restarting(Test):
    def test_the_proxy(self):
        self.proxy.hook("a.json", self.hook.socket, "PreCreateContainer", "PreStartContainer")
        self.says("PreCreateContainer", f(2, f(6, "2-3")), m(1, hooked="1"))
        self.says("PreStartContainer")
        sandbox, container = self.pod()
        gone = self.create("k8s_gone_web_default_uid-1_0", container_body(sandbox))

        def kept():
            if not os.path.exists(self.proxy.store):
                return ""
            with open(self.proxy.store, encoding="utf-8") as file:
                return file.read()

        wait_for("the containers on the disk", lambda: container in kept() and gone in kept())
        self.assertNotIn(SECRET, kept())
        self.proxy.kill()
        # Meanwhile one goes, and one comes.
        del self.docker.made[gone]
        beside = self.docker.make("k8s_side_web_default_uid-1_0", {**container_body(sandbox), "Env": ["S=1"]})
        self.docker.make("quizzical_hopper", {"Image": "x"})
        for keep in (True, False):
            if not keep:
                self.proxy.kill()
                os.unlink(self.proxy.store)
            self.proxy.start()
            wait_for("two containers", lambda: self.known("container") == 2 and self.known("sandbox") == 1)
            kubelet = Client(self.proxy.front)
            self.assertLess(kubelet.ask("POST", f"/containers/{container}/start")[0], 400)
            asked = self.hook.calls(HOOKS + "PreStartContainerHook")[-1]
            self.assertEqual((get(asked, 1, 2), get(asked, 2, 1), get(asked, 4, 6), get(asked, 8).decode()), (b"uid-1", b"main", b"2-3", PARENT))
            self.assertEqual((dict(pairs(asked, 3)), dict(pairs(asked, 7))), ({"own": "1", "hooked": "1"}, {"app": "web", TYPE: "podsandbox"}))
            self.assertEqual({"A": SECRET, "B": "2"}.items() - dict(pairs(asked, 9)).items(), set())
            kubelet.ask("POST", f"/containers/{beside}/start")
            asked = self.hook.calls(HOOKS + "PreStartContainerHook")[-1]
            self.assertEqual((get(asked, 1, 1), get(asked, 2, 1), dict(pairs(asked, 9))["S"]), (b"web", b"side", "1"))
            kubelet.close()

    def test_docker(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", policy="Fail")
        self.says("PreRunPodSandbox")
        self.docker.stop()
        for method, path, body, status in (("GET", "/version", None, 502), ("POST", f"/containers/create?name={POD}", sandbox_body(), 500)):
            got, text = Client(self.proxy.front).ask(method, path, body)
            self.assertEqual(got, status)
            self.assertIn("back.sock", json.loads(text)["message"])
        wait_for("that it is not ready", lambda: not self.proxy.ready())
        self.proxy.kill()
        self.proxy.start()  # in either order
        self.docker.start()
        wait_for("readiness", self.proxy.ready)
        self.kubelet = Client(self.proxy.front)
        self.create(POD, sandbox_body())
        # A docker that says nothing keeps nobody but who asks it.
        silent = threading.Event()
        self.docker.answers["version"] = lambda handler: silent.wait(SECONDS)
        waiting = Client(self.proxy.front)
        waiting.request("GET", "/version")
        self.assertEqual(self.kubelet.ask("GET", "/_ping"), (200, b"OK"))
        waiting.close()
        silent.set()


if __name__ == "__main__":
    unittest.main(verbosity=2)
