#!/usr/bin/env python3
"""The CRI proxy on real sockets: what passes, what hooks change, and what becomes of both when anybody goes."""
import os
import random
import stat
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import CRI, HOOKS, SECONDS, Kubelet, Proxy, Runtime, Server, f, fields, get, grpc, m, pairs, wait_for  # noqa: E402

SKIP = "runtimeproxy.koordinator.sh/skip-hookserver"
SECRET = "a-secret-of-the-pod"


def sandbox_config(uid="uid-1", parent="/kubepods/besteffort/poduid-1", **labels):
    return [f(1, [f(1, "web"), f(2, uid), f(3, "default"), f(4, 7)]), f(2, "host"), m(6, app="web", **labels),
            m(7, note="n"), f(8, [f(1, parent), f(2, b"\x08\x01")]), f(99, "not known yet")]


def run_request(**words):
    return f(1, sandbox_config(**words)) + f(2, "runc") + f(77, 5)


def create_request(sandbox, env=(("B", "1"), ("A", SECRET), ("B", "2"))):
    return f(1, sandbox) + f(2, [f(1, [f(1, "main"), f(2, 1)]), f(2, f(1, "image")), *(f(6, [f(1, key), f(2, value)]) for key, value in env),
                                 f(7, b"\x0a\x01m"), m(10, own="1"),
                                 f(15, [f(1, [f(1, 100000), f(3, 512), f(5, -997), f(42, "later")]), f(2, b"\x08\x01")])]) + f(
        3, sandbox_config()) + f(88, "kept")


class Test(unittest.TestCase):
    """One proxy a test, with a runtime and a hook server `a`."""

    flags, timeout = (), "30s"  # longer than a busy machine needs

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="koord-proxy.")
        os.mkdir(os.path.join(self.folder, "hookserver.d"), 0o755)
        self.runtime = Runtime(os.path.join(self.folder, "back.sock"))
        self.hook = Server(os.path.join(self.folder, "a.sock"))
        self.others = []
        self.proxy = Proxy(self.folder, *self.flags, timeout=self.timeout)
        self.kubelet = Kubelet(self.proxy.front)
        wait_for("readiness", self.proxy.ready)

    def tearDown(self):
        self.kubelet.channel.close()
        self.proxy.end()
        for server in (self.runtime, self.hook, *self.others):
            server.stop()
        self.assertNotIn(SECRET, self.proxy.output())

    def says(self, stage, *answer, server=None):
        """The hook server's answer to a stage from now on, as fields."""
        (server or self.hook).answers[HOOKS + stage + "Hook"] = lambda request, context: b"".join(answer)

    def hooked(self, server):
        before = len(server.calls(HOOKS + "PreRunPodSandboxHook"))
        try:
            self.sandbox()
        except grpc.RpcError:
            return False
        return len(server.calls(HOOKS + "PreRunPodSandboxHook")) > before

    def sandbox(self, **words):
        return get(self.kubelet.call("RunPodSandbox", run_request(**words)), 1).decode()

    def container(self, sandbox):
        return get(self.kubelet.call("CreateContainer", create_request(sandbox)), 1).decode()


class Passing(Test):
    def test_bytes(self):
        rows = random.Random(7)
        for method in ("/runtime.v1.RuntimeService/NotThoughtOfYet", "/runtime.v1alpha2.RuntimeService/Version",
                       "/runtime.v1.ImageService/PullImage", CRI + "Exec", "/other.Service/Call"):
            message = rows.randbytes(rows.randrange(3000))
            self.assertEqual(self.kubelet.call(method, message, x_own="v"), message)
            self.assertEqual(self.runtime.seen[-1][:2], (method, message))
            self.assertEqual(self.runtime.seen[-1][2]["x-own"], "v")
        # Calls that hooks could have a say in, where there are none: as they came, whatever is in them.
        sandbox = self.sandbox()
        container = self.container(sandbox)
        for method, message in (("RunPodSandbox", run_request()), ("CreateContainer", create_request(sandbox)),
                                ("StartContainer", f(1, container) + f(9, "x")), ("StopContainer", f(1, container) + f(2, 30)),
                                ("UpdateContainerResources", f(1, container) + f(2, [f(3, 2), f(44, 1)]) + f(4, [f(1, "a"), f(2, "b")])),
                                ("RemoveContainer", f(1, container)), ("StopPodSandbox", f(1, sandbox)), ("RemovePodSandbox", f(1, sandbox))):
            self.kubelet.call(method, message)
            self.assertEqual(self.runtime.calls(CRI + method)[-1], message, method)
        big = rows.randbytes((16 << 20) - 1024)
        self.assertEqual(self.kubelet.call("/big.Service/Call", big), big)
        stream = self.kubelet.channel.stream_stream("/stream.Service/Call")(iter([b"1", b"", b"3"]), timeout=SECONDS)
        self.assertEqual(list(stream), [b"1", b"", b"3"])
        self.assertEqual(self.hook.seen, [])
        self.assertGreater(self.proxy.metric("koord_runtimeproxy_relayed_calls_total"), 5)

    def test_how_calls_end(self):
        def ends(request, context):
            context.set_trailing_metadata((("x-trailer", "t"), ("grpc-status-details-bin", b"\x08\x05details")))
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now")

        for name in ("RunPodSandbox", "ContainerStats"):  # one that hooks have a say in, one that just passes
            self.runtime.answers[CRI + name] = ends
            error = self.kubelet.fails(name, run_request())
            self.assertEqual((error.code(), error.details()), (grpc.StatusCode.FAILED_PRECONDITION, "not now"))
            trailers = dict(error.trailing_metadata())
            self.assertEqual(trailers["x-trailer"], "t")
            self.assertEqual(trailers["grpc-status-details-bin"], b"\x08\x05details")
        # Bytes that are no message: the runtime says so.
        self.runtime.answers[CRI + "CreateContainer"] = lambda request, context: context.abort(grpc.StatusCode.INTERNAL, "no message")
        self.assertEqual(self.kubelet.fails("CreateContainer", b"\xff\xff").details(), "no message")

    def test_time_and_cancellation(self):
        left, gone = [], threading.Event()

        def slow(request, context):
            left.append(context.time_remaining())
            context.add_callback(gone.set)
            gone.wait(SECONDS)
            return b""

        for name in ("StopContainer", "ExecSync"):
            self.runtime.answers[CRI + name] = slow
            gone.clear()
            call = self.kubelet.channel.unary_unary(CRI + name).future(f(1, "c"), timeout=1000)
            wait_for("the call", lambda: left)
            self.assertAlmostEqual(left.pop(), 1000, delta=SECONDS, msg=name)
            call.cancel()
            self.assertTrue(gone.wait(SECONDS), "the runtime is told")
            gone.clear()
            self.assertEqual(self.kubelet.fails(name, f(1, "c"), seconds=0.5).code(), grpc.StatusCode.DEADLINE_EXCEEDED)
            if left:  # it came that far
                self.assertTrue(gone.wait(SECONDS))
            gone.set()
            left.clear()


class Hooking(Test):
    def test_a_sandbox(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PostStopPodSandbox")
        self.says("PreRunPodSandbox", m(1, added="l"), m(2, note="changed"), f(3, "/offline"), f(4, f(3, 2)))
        sandbox = self.sandbox()
        asked = self.hook.calls(HOOKS + "PreRunPodSandboxHook")[0]
        self.assertEqual((get(asked, 1, 1), get(asked, 1, 2), get(asked, 1, 3), get(asked, 1, 4)), (b"web", b"uid-1", b"default", None))
        self.assertEqual((get(asked, 2), get(asked, 5)), (b"runc", b"/kubepods/besteffort/poduid-1"))
        self.assertEqual((dict(pairs(asked, 3)), dict(pairs(asked, 4))), ({"app": "web"}, {"note": "n"}))
        sent = self.runtime.calls(CRI + "RunPodSandbox")[0]
        config = get(sent, 1)
        self.assertEqual((pairs(config, 6), pairs(config, 7)), ([("app", "web"), ("added", "l")], [("note", "changed")]))
        self.assertEqual((get(config, 8, 1), get(config, 8, 2), get(config, 99), get(sent, 77)), (b"/offline", b"\x08\x01", b"not known yet", 5))

        # A stop that fails keeps the sandbox, the next one that works tells the hook server, one more does not.
        self.runtime.answers[CRI + "StopPodSandbox"] = lambda request, context: context.abort(grpc.StatusCode.UNKNOWN, "busy")
        self.kubelet.fails("StopPodSandbox", f(1, sandbox))
        self.assertEqual(self.hook.calls(HOOKS + "PostStopPodSandboxHook"), [])
        self.runtime.answers[CRI + "StopPodSandbox"] = lambda request, context: b""
        self.kubelet.call("StopPodSandbox", f(1, sandbox))
        self.kubelet.call("StopPodSandbox", f(1, sandbox))
        told = self.hook.calls(HOOKS + "PostStopPodSandboxHook")
        self.assertEqual(len(told), 1)
        self.assertEqual((get(told[0], 5), dict(pairs(told[0], 3))), (b"/offline", {"app": "web", "added": "l"}))
        self.assertEqual(self.proxy.metric('koord_runtimeproxy_known{kind="sandbox"}'), 1)
        self.kubelet.call("RemovePodSandbox", f(1, sandbox))
        self.assertEqual(self.proxy.metric('koord_runtimeproxy_known{kind="sandbox"}'), 0)

    def test_a_container(self):
        self.proxy.hook("a.json", self.hook.socket, "PreCreateContainer", "PreStartContainer", "PostStartContainer",
                        "PreUpdateContainerResources", "PostStopContainer")
        # The answer of Koordinator's agent: all that it was asked with, and what it sets.
        self.hook.answers[HOOKS + "PreCreateContainerHook"] = lambda request, context: b"".join(
            [*(f(1, value) for number, value in fields(request) if number == 3), f(2, get(request, 4) + f(6, "2-3")), f(3, get(request, 8)),
             *(f(4, value) for number, value in fields(request) if number == 9), m(4, NEW="n")])
        for stage in ("PreStartContainer", "PostStartContainer", "PreUpdateContainerResources", "PostStopContainer"):
            self.says(stage)
        sandbox = self.sandbox(tier="ls")
        container = self.container(sandbox)
        asked = self.hook.calls(HOOKS + "PreCreateContainerHook")[0]
        self.assertEqual((get(asked, 1, 2), get(asked, 2, 1), get(asked, 2, 2), get(asked, 2, 3)), (b"uid-1", b"main", 1, None))
        self.assertEqual((dict(pairs(asked, 7)), dict(pairs(asked, 9))), ({"app": "web", "tier": "ls"}, {"A": SECRET, "B": "2"}))
        sent = self.runtime.calls(CRI + "CreateContainer")[0]
        resources = get(sent, 2, 15, 1)
        self.assertEqual([get(resources, number) for number in (1, 3, 6, 42)], [100000, 512, b"2-3", b"later"])
        self.assertEqual(get(resources, 5), (1 << 64) - 997)  # not what the hook did not say
        self.assertEqual(pairs(get(sent, 2), 6), [("B", "1"), ("A", SECRET), ("B", "2"), ("NEW", "n")])
        self.assertEqual((get(sent, 88), get(sent, 2, 15, 2)), (b"kept", b"\x08\x01"))
        self.assertCountEqual(fields(get(sent, 3)), fields(b"".join(sandbox_config())))

        # What it was made with is what later hooks are asked with.
        self.kubelet.call("StartContainer", f(1, container))
        for stage in ("PreStartContainer", "PostStartContainer"):
            asked = self.hook.calls(HOOKS + stage + "Hook")[0]
            self.assertEqual((get(asked, 2, 3).decode(), get(asked, 4, 6), dict(pairs(asked, 9))["NEW"]), (container, b"2-3", "n"), stage)
        # An update that the hook has no say in passes as it came.
        update = f(1, container) + f(2, [f(1, 50000), f(2, 25000), f(50, 1)])
        self.kubelet.call("UpdateContainerResources", update)
        self.assertEqual(self.runtime.calls(CRI + "UpdateContainerResources")[-1], update)
        asked = self.hook.calls(HOOKS + "PreUpdateContainerResourcesHook")[-1]
        self.assertEqual([get(asked, 4, number) for number in (1, 2, 3, 6)], [50000, 25000, 512, b"2-3"])
        # One that it has: what it changed, and nothing else.
        self.says("PreUpdateContainerResources", f(2, [f(3, 100), f(6, "4")]), m(1, why="hook"))
        self.kubelet.call("UpdateContainerResources", f(1, container) + f(2, [f(4, 1 << 30), f(50, 1)]))
        sent = self.runtime.calls(CRI + "UpdateContainerResources")[-1]
        self.assertEqual([get(sent, 2, number) for number in (1, 2, 3, 4, 6, 50)], [None, None, 100, 1 << 30, b"4", 1])
        self.assertEqual(pairs(sent, 4), [("why", "hook")])

        # A start that fails is no start.
        self.runtime.answers[CRI + "StartContainer"] = lambda request, context: context.abort(grpc.StatusCode.UNKNOWN, "no")
        self.kubelet.fails("StartContainer", f(1, container))
        self.assertEqual(len(self.hook.calls(HOOKS + "PostStartContainerHook")), 1)
        self.kubelet.call("StopContainer", f(1, container) + f(2, 1))
        self.kubelet.call("StopContainer", f(1, container) + f(2, 1))
        self.assertEqual(len(self.hook.calls(HOOKS + "PostStopContainerHook")), 1)
        self.kubelet.call("RemoveContainer", f(1, container))
        self.assertEqual(self.proxy.metric('koord_runtimeproxy_known{kind="container"}'), 0)

    def test_echo_and_nothing_change_no_byte(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PreCreateContainer")
        echo_pod = lambda request, context: b"".join(f({3: 1, 4: 2, 5: 3}[number], value) for number, value in fields(request) if number in (3, 4, 5))  # noqa: E731
        echo_container = lambda request, context: b"".join(  # noqa: E731
            f({3: 1, 4: 2, 8: 3, 9: 4}[number], value) for number, value in fields(request) if number in (3, 4, 8, 9))
        nothing = lambda request, context: b""  # noqa: E731
        for pod, container in ((nothing, nothing), (echo_pod, echo_container)):
            self.hook.answers[HOOKS + "PreRunPodSandboxHook"], self.hook.answers[HOOKS + "PreCreateContainerHook"] = pod, container
            sandbox = self.sandbox()
            self.assertEqual(self.runtime.calls(CRI + "RunPodSandbox")[-1], run_request())
            for request in (create_request(sandbox), f(1, sandbox), f(1, sandbox) + f(2, f(1, f(1, "no linux")))):
                self.kubelet.call("CreateContainer", request)
                self.assertEqual(self.runtime.calls(CRI + "CreateContainer")[-1], request)
        self.assertEqual(len(self.hook.seen), 8)
        # A message without what a hook sets gets it.
        self.says("PreCreateContainer", f(2, f(3, 7)), f(3, "/p"))
        self.kubelet.call("CreateContainer", f(1, sandbox))
        sent = self.runtime.calls(CRI + "CreateContainer")[-1]
        self.assertEqual((get(sent, 2, 15, 1, 3), get(sent, 3, 8, 1)), (7, b"/p"))

    def test_complaint_3142_a_stop_that_fails_forgets_nothing(self):
        self.proxy.hook("a.json", self.hook.socket, "PreCreateContainer", "PreUpdateContainerResources", "PostStopContainer")
        self.says("PreCreateContainer", f(2, f(6, "2-3")))
        self.says("PreUpdateContainerResources")
        self.says("PostStopContainer")
        container = self.container(self.sandbox())
        self.runtime.answers[CRI + "StopContainer"] = lambda request, context: context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "busy")
        self.kubelet.fails("StopContainer", f(1, container) + f(2, 1))
        self.assertEqual(self.hook.calls(HOOKS + "PostStopContainerHook"), [])
        asked_before = len(self.runtime.calls(CRI + "ContainerStatus"))
        self.kubelet.call("UpdateContainerResources", f(1, container) + f(2, f(4, 5)))
        asked = self.hook.calls(HOOKS + "PreUpdateContainerResourcesHook")[-1]
        self.assertEqual(get(asked, 4, 6), b"2-3", "what hooks made of it is known")
        self.assertEqual(len(self.runtime.calls(CRI + "ContainerStatus")), asked_before, "and not asked of the runtime")

    def test_who_is_skipped(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PreCreateContainer", "PostStopPodSandbox", policy="Fail")
        sandbox = self.sandbox(**{SKIP: "true"})
        self.container(sandbox)
        self.kubelet.call("StopPodSandbox", f(1, sandbox))
        self.assertEqual(self.hook.seen, [])

    def test_servers_in_the_order_of_their_files(self):
        other = Server(os.path.join(self.folder, "b.sock"))
        self.others.append(other)
        self.proxy.hook("b.json", other.socket, "PreRunPodSandbox")
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox")
        self.says("PreRunPodSandbox", m(2, note="a", only="a"))
        self.says("PreRunPodSandbox", m(2, note="b"), server=other)
        self.sandbox()
        self.assertEqual(dict(pairs(other.calls(HOOKS + "PreRunPodSandboxHook")[0], 4)), {"note": "a", "only": "a"})
        self.assertEqual(pairs(get(self.runtime.calls(CRI + "RunPodSandbox")[-1], 1), 7), [("note", "b"), ("only", "a")])
        self.proxy.unhook("a.json")
        self.sandbox()
        self.assertEqual(len(self.hook.seen), 1)


class Failing(Test):
    def test_nobody_listens(self):
        absent = os.path.join(self.folder, "absent.sock")
        self.proxy.hook("a.json", absent, "PreRunPodSandbox", "PreCreateContainer")
        sandbox = self.sandbox()
        self.assertEqual(self.proxy.metric('koord_runtimeproxy_unhooked_total{stage="PreRunPodSandbox"}'), 1)
        self.proxy.hook("a.json", absent, "PreRunPodSandbox", "PreCreateContainer", policy="Fail")
        before = len(self.runtime.seen)
        for name, request in (("RunPodSandbox", run_request()), ("CreateContainer", create_request(sandbox))):
            error = self.kubelet.fails(name, request)
            self.assertEqual(error.code(), grpc.StatusCode.UNKNOWN)
            self.assertTrue(error.details().startswith("hook server err: rpc error: code = Unavailable desc = "), error.details())
        self.assertEqual([call for call in self.runtime.seen[before:] if call[0] in (CRI + "RunPodSandbox", CRI + "CreateContainer")], [])
        self.assertEqual(self.proxy.metric('koord_runtimeproxy_refused_total{stage="PreCreateContainer"}'), 1)
        # It comes: at once, nobody waits for a pause to end.
        late = Server(absent)
        self.others.append(late)
        self.says("PreRunPodSandbox", m(2, late="1"), server=late)
        wait_for("the hook server's say", lambda: self.hooked(late))

    def test_a_refusal_and_nonsense(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", policy="Fail")
        self.hook.answers[HOOKS + "PreRunPodSandboxHook"] = lambda request, context: context.abort(grpc.StatusCode.INVALID_ARGUMENT, "bad pod")
        self.assertEqual(self.kubelet.fails("RunPodSandbox", run_request()).details(),
                         "hook server err: rpc error: code = InvalidArgument desc = bad pod")
        # What would lead out of the pod's place is no answer.
        self.says("PreRunPodSandbox", f(3, "/kubepods/../.."))
        self.assertIn('hook server err: a.json: the answer\'s cgroup_parent: "/kubepods/../.." leads out of its place',
                      self.kubelet.fails("RunPodSandbox", run_request()).details())
        self.says("PreRunPodSandbox", b"\xff\xff")
        self.assertIn("hook server err: ", self.kubelet.fails("RunPodSandbox", run_request()).details())
        self.assertEqual(self.kubelet.fails("RunPodSandbox", b"\xff\xff").code(), grpc.StatusCode.INTERNAL)
        self.assertEqual(self.runtime.calls(CRI + "RunPodSandbox"), [])

    def test_a_sandbox_that_is_not_known_is_asked_for(self):
        # Made beside the proxy.
        name = get(self.runtime.RunPodSandbox(run_request(uid="uid-9", parent="/kubepods/poduid-9"), None), 1).decode()
        self.proxy.hook("a.json", self.hook.socket, "PreCreateContainer", "PreStartContainer", policy="Fail")
        self.says("PreCreateContainer")
        self.says("PreStartContainer")
        self.container(name)
        self.assertEqual(self.runtime.calls(CRI + "PodSandboxStatus")[-1], f(1, name) + f(2, 1))
        asked = self.hook.calls(HOOKS + "PreCreateContainerHook")[-1]
        self.assertEqual((get(asked, 1, 2), dict(pairs(asked, 7))), (b"uid-9", {"app": "web"}))
        beside = get(self.runtime.CreateContainer(create_request(name), None), 1).decode()
        self.kubelet.call("StartContainer", f(1, beside))
        asked = self.hook.calls(HOOKS + "PreStartContainerHook")[-1]
        self.assertEqual((get(asked, 1, 2), get(asked, 4, 3), dict(pairs(asked, 9))), (b"uid-9", 512, {"A": SECRET, "B": "2"}))
        # One that the runtime does not have either: the runtime says so.
        self.runtime.answers[CRI + "StartContainer"] = lambda request, context: context.abort(grpc.StatusCode.NOT_FOUND, "none")
        self.assertEqual(self.kubelet.fails("StartContainer", f(1, "none")).code(), grpc.StatusCode.NOT_FOUND)
        # One of which it cannot say anything now: what insists on being asked refuses.
        self.runtime.answers[CRI + "ContainerStatus"] = lambda request, context: context.abort(grpc.StatusCode.INTERNAL, "later")
        self.assertIn("hook server err: ", self.kubelet.fails("StartContainer", f(1, "unknown")).details())

    def test_files_that_are_not_right(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox")
        self.says("PreRunPodSandbox", m(2, still="1"))
        path = os.path.join(self.proxy.hooks, "a.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write('{"remote-endpoint": "/x.sock", "failure-policy": "Never"}')
        wait_for("the error", lambda: "a.json: failure-policy: \\\"Never\\\" is neither" in self.proxy.output())
        self.sandbox()
        self.assertEqual(len(self.hook.seen), 1, "what it said last stays")
        self.assertEqual(self.proxy.metric("koord_runtimeproxy_bad_hook_files"), 1)
        with open(os.path.join(self.proxy.hooks, "b.json"), "w", encoding="utf-8") as out:
            os.fchmod(out.fileno(), 0o666)
            out.write('{"remote-endpoint": "/x.sock", "runtime-hooks": ["PreRunPodSandbox"]}')
        wait_for("the refusal", lambda: "b.json: not used, for others than root may write this file (mode 0666)" in self.proxy.output())
        os.chmod(self.proxy.hooks, 0o777)
        wait_for("that of the folder", lambda: "hookserver.d: not used, for others than root may write into this folder" in self.proxy.output())
        self.sandbox()
        self.assertEqual(len(self.hook.seen), 2)


class Silent(Test):
    timeout = "300ms"

    def test_one_that_is_silent_costs_one_time_out(self):
        over = threading.Event()
        self.hook.answers[HOOKS + "PreRunPodSandboxHook"] = lambda request, context: over.wait(SECONDS) and b""
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox")
        for _ in range(20):
            self.sandbox()
        series = 'koord_runtimeproxy_hook_calls_total{stage="PreRunPodSandbox",file="a.json",result="%s"}'
        timeouts, skipped = self.proxy.metric(series % "timeout"), self.proxy.metric(series % "skipped")
        self.assertEqual(timeouts + skipped, 20)
        self.assertLess(timeouts, 20)
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", policy="Fail")
        over.set()
        wait_for("it to be asked again", lambda: self.hooked(self.hook))


class Restarting(Test):
    def test_the_proxy(self):
        self.proxy.hook("a.json", self.hook.socket, "PreCreateContainer", "PreStartContainer", "PreUpdateContainerResources")
        self.says("PreCreateContainer", f(2, f(6, "2-3")), m(1, hooked="1"))
        self.says("PreStartContainer")
        self.says("PreUpdateContainerResources", f(2, f(3, 9)))
        sandbox = self.sandbox()
        container = self.container(sandbox)

        def kept():
            if not os.path.exists(self.proxy.store):
                return ""
            with open(self.proxy.store, encoding="utf-8") as file:
                return file.read()

        wait_for("the container on the disk", lambda: container in kept())
        self.assertEqual(stat.S_IMODE(os.stat(self.proxy.store).st_mode), 0o600)
        self.assertNotIn(SECRET, kept())
        # Another container, that the runtime forgets while the proxy is away, and one that it gets.
        gone = self.container(sandbox)
        wait_for("the other container on the disk", lambda: gone in kept())
        self.proxy.kill()
        self.assertEqual(self.kubelet.fails("Version").code(), grpc.StatusCode.UNAVAILABLE)
        del self.runtime.containers[gone]
        self.runtime.CreateContainer(create_request(sandbox), None)
        asked_before = len(self.runtime.calls(CRI + "ContainerStatus"))
        self.proxy.start()
        wait_for("two containers", lambda: self.proxy.metric('koord_runtimeproxy_known{kind="container"}') == 2)
        wait_for("the one that was not known", lambda: len(self.runtime.calls(CRI + "ContainerStatus")) == asked_before + 1)
        wait_for("the call", lambda: self.answers("StartContainer", f(1, container)))
        asked = self.hook.calls(HOOKS + "PreStartContainerHook")[-1]
        self.assertEqual((get(asked, 4, 6), get(asked, 8), dict(pairs(asked, 3))), (b"2-3", b"/kubepods/besteffort/poduid-1", {"own": "1", "hooked": "1"}))
        self.assertEqual(dict(pairs(asked, 9)), {"A": SECRET, "B": "2"}, "asked of the runtime again")
        self.kubelet.call("UpdateContainerResources", f(1, container) + f(2, f(4, 5)))
        self.assertEqual(get(self.runtime.calls(CRI + "UpdateContainerResources")[-1], 2, 3), 9)

        # Without its file, and with one that is none.
        for text in (None, "{", '{"version":2}', '{"version":1,"pods":[3]}'):
            self.proxy.kill()
            if text is None:
                os.unlink(self.proxy.store)
            else:
                with open(self.proxy.store, "w", encoding="utf-8") as out:
                    out.write(text)
            self.proxy.start()
            wait_for("two containers", lambda: self.proxy.metric('koord_runtimeproxy_known{kind="container"}') == 2)
        wait_for("the call", lambda: self.answers("StartContainer", f(1, container)))
        asked = self.hook.calls(HOOKS + "PreStartContainerHook")[-1]
        self.assertEqual((get(asked, 4, 6), get(asked, 8), get(asked, 1, 2)), (b"2-3", b"/kubepods/besteffort/poduid-1", b"uid-1"))

    def test_a_hook_file_that_is_spoiled_while_it_is_away(self):
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", policy="Fail")
        self.says("PreRunPodSandbox")
        path = os.path.join(self.proxy.hooks, "a.json")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        kept = os.path.join(os.path.dirname(self.proxy.store), "hook-files.json")
        wait_for("the file to be kept", lambda: os.path.exists(kept))
        self.assertEqual(stat.S_IMODE(os.stat(kept).st_mode), 0o600)
        for text, mode, folder_mode in (("", 0o644, 0o755), (good[:-9], 0o644, 0o755), (good, 0o666, 0o755), (good, 0o644, 0o777)):
            self.proxy.kill()
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(path, mode)
            os.chmod(self.proxy.hooks, folder_mode)
            self.proxy.start()
            self.first_sandbox()
            self.assertTrue(self.hooked(self.hook), (text, mode, folder_mode))
            self.assertIn("; what ", self.proxy.output())
        os.chmod(self.proxy.hooks, 0o755)
        # A name that is there has not been removed, whatever has taken the file's place.
        for put in (lambda: os.symlink("nowhere", path), lambda: os.mkdir(path)):
            self.proxy.kill()
            os.unlink(path)
            put()
            self.proxy.start()
            self.first_sandbox()
            self.assertTrue(self.hooked(self.hook))
        os.rmdir(path)
        wait_for("it to be gone", lambda: not self.hooked(self.hook))
        with open(path + ".new", "w", encoding="utf-8") as out:
            out.write(good)
        os.rename(path + ".new", path)
        wait_for("it to be asked", lambda: self.hooked(self.hook))
        # It cannot be kept (the disk is full, a folder is in the way), which is tried again.
        os.unlink(kept)
        os.mkdir(kept)
        self.proxy.hook("a.json", self.hook.socket, "PreRunPodSandbox", "PreStartContainer", policy="Fail")
        wait_for("the warning", lambda: "hook servers' files are not kept for the next start" in self.proxy.output())
        os.rmdir(kept)
        with open(os.path.join(self.proxy.hooks, "README"), "w", encoding="utf-8"):
            pass  # something has happened there, but to none of its files
        wait_for("it to be kept", lambda: os.path.isfile(kept))
        with open(path, encoding="utf-8") as file:
            good = file.read()
        # It does not take its own word from others, and what was removed on purpose is gone.
        with open(path, "w", encoding="utf-8") as out:
            out.write("{")
        self.proxy.kill()
        os.chmod(kept, 0o666)
        self.proxy.start()
        self.first_sandbox()
        self.assertFalse(self.hooked(self.hook))
        self.assertIn("hook-files.json: not used, for others than root may write this file", self.proxy.output())
        with open(path, "w", encoding="utf-8") as out:
            out.write(good)
        wait_for("it to be asked", lambda: self.hooked(self.hook))
        wait_for("the file to be kept", lambda: stat.S_IMODE(os.stat(kept).st_mode) == 0o600)
        self.proxy.kill()
        os.unlink(path)
        self.proxy.start()
        self.first_sandbox()
        self.assertFalse(self.hooked(self.hook))

    def first_sandbox(self):
        wait_for("the first call", lambda: self.answers("RunPodSandbox", run_request()))

    def answers(self, name, request=b""):
        try:
            self.kubelet.call(name, request)
            return True
        except grpc.RpcError as error:
            self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
            return False

    def test_the_runtime(self):
        sandbox = self.sandbox()
        self.runtime.stop()
        for name, request in (("Version", b""), ("CreateContainer", create_request(sandbox)), ("StopContainer", f(1, "c"))):
            self.assertEqual(self.kubelet.fails(name, request).code(), grpc.StatusCode.UNAVAILABLE, name)
        wait_for("no readiness", lambda: not self.proxy.ready())
        self.runtime.start()
        wait_for("readiness", self.proxy.ready)
        wait_for("the call", lambda: self.answers("Version"))
        self.container(sandbox)


class StartingFirst(unittest.TestCase):
    def test_the_proxy_before_the_runtime(self):
        with tempfile.TemporaryDirectory(prefix="koord-proxy.") as folder:
            proxy = Proxy(folder)
            kubelet = Kubelet(proxy.front)
            self.assertEqual(kubelet.fails("Version").code(), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(stat.S_IMODE(os.stat(proxy.front).st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(os.stat(proxy.hooks).st_mode), 0o755)
            wait_for("an answer", lambda: proxy.get("/healthz")[0] == 200)
            self.assertFalse(proxy.ready())
            runtime = Runtime(proxy.back)
            wait_for("readiness", proxy.ready)

            def version():
                try:
                    return kubelet.call("Version")
                except grpc.RpcError:
                    return None

            self.assertEqual(wait_for("the runtime's answer", version), f(2, "played"))
            kubelet.channel.close()
            proxy.end()
            self.assertFalse(os.path.exists(proxy.front))
            runtime.stop()


if __name__ == "__main__":
    unittest.main()
