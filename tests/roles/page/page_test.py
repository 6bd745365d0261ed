#!/usr/bin/env python3
"""The page in a headless Chromium, on a sandbox whose nodes play machines of a trace: every view is opened by clicks and keys,
what is told is compared with the API's objects, and an error in the browser's console, a request to another host or markup that
was made of a name fails. Then the port itself: who is answered, how many may read, who reads slowly.

usage: page_test.py [--pictures FOLDER [MINUTES]]   FOLDER gets cluster, node and why, light and dark, after MINUTES (30), in which the
                                                    trace plays its day
"""
import base64
import collections
import gzip
import json
import os
import socket
import ssl
import sys
import time
import unittest
import urllib.error
import urllib.request

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import browser  # noqa: E402
import kube_api  # noqa: E402
import sandbox  # noqa: E402
from sandbox import free_port, wait_for  # noqa: E402

PICTURES = None
NODES, STREAMS = 24, 64
DAY = 1  # minutes in which the trace plays a day
TRACE = os.path.join(TREE, "tests", "golden", "alibaba2018", "machine_usage.csv")
CLASSES = os.path.join(TREE, "packaging", "manifests", "10-priority-classes.yaml")
SERVICES = os.path.join(TREE, "packaging", "demo", "services.yaml")
# Of the heat map's squares, that many: they are painted in slices, and only those that change.
CELLS = """(() => {
  const canvas = document.querySelector('canvas.heat'), copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height];
  copy.drawImage(canvas, 0, 0);
  const data = copy.getImageData(0, 0, canvas.width, canvas.height).data, painted = (i) => data[4 * i + 3] > 0;
  let side = 0, all = 0;
  while (side < canvas.width && painted(2 * canvas.width + side)) ++side;
  for (let i = 0; i < data.length / 4; ++i) all += painted(i);
  return all / (side * side);
})()"""
HOSTILE = "</td><img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


def pod(name, cpu, namespace="demo", labels=None, scheduler="koord-scheduler", **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
            "spec": {"schedulerName": scheduler, **spec, "containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}}


def batch(replicas):
    wants = {"kubernetes.io/batch-cpu": "2000", "kubernetes.io/batch-memory": "2Gi"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "crunch", "namespace": "demo"}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": "crunch"}}, "template": {
            "metadata": {"labels": {"app": "crunch", "koordinator.sh/qosClass": "BE"}, "annotations": {"sandbox.koordinator.sh/load": "busy"}},
            "spec": {"schedulerName": "koord-scheduler", "priorityClassName": "koord-batch",
                     "containers": [{"name": "main", "image": "i", "resources": {"requests": wants, "limits": wants}}]}}}}


def quota(name, low, high):
    return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": name, "namespace": "demo"},
            "spec": {"min": {"cpu": low, "memory": "16Gi"}, "max": {"cpu": high, "memory": "64Gi"}}}


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.base = f"http://127.0.0.1:{cls.port}/ui/"
        cls.sandbox = sandbox.Sandbox(f"--ui={cls.port}", "--roles=scheduler,manager", f"--nodes={NODES}", "--node-capacity=cpu=16,memory=64Gi",
                                      "--summary=none", f"--trace={TRACE}", f"--trace-speed={1440 / DAY:g}", "--agent-report-interval=1000ms",
                                      "--load", CLASSES, SERVICES)
        cls.sandbox.__enter__()
        cls.addClassCleanup(cls.sandbox.__exit__)
        cls.api = kube_api.Api(cls.sandbox.kubeconfig).connect()
        wait_for("the namespace", lambda: any(each["metadata"]["name"] == "demo" for each in cls.api.request("GET", "/api/v1/namespaces")["items"]))
        cls.make("/apis/apps/v1/namespaces/demo/deployments", batch(NODES * 5 // 4))
        for each in (quota("team-search", "20", "40"), quota("team-data", "10", "30")):
            cls.make("/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/demo/elasticquotas", each)
        cls.make("/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/demo/podgroups", {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "train", "namespace": "demo"}, "spec": {"minMember": 3}})
        member = {"pod-group.scheduling.sigs.k8s.io": "train"}
        for each in (pod("train-0", "1", labels=member), pod("train-1", "1", labels=member), pod("hungry", "20"),
                     pod("index", "3", labels={"quota.scheduling.koordinator.sh/name": "team-search"}), pod("hostile", "1", scheduler="nobody")):
            cls.make("/api/v1/namespaces/demo/pods", each)
        cls.api.request("PATCH", "/api/v1/namespaces/demo/pods/hostile/status", {"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": HOSTILE}]}}, "application/merge-patch+json")
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def make(cls, path, what):
        cls.api.request("POST", path, what)

    def tearDown(self):
        complaints, asked = list(self.browser.complaints), list(self.browser.asked)
        self.browser.complaints.clear()
        self.assertEqual(complaints, [], "the browser's console")
        self.assertEqual([url for url in asked if not url.startswith((self.base, "about:", "data:"))], [], "other hosts were asked")

    def show(self, view, what, expression):
        if not self.browser.evaluate("location.href").startswith(self.base):
            self.browser.open(self.base)
        self.browser.evaluate(f"location.hash = '#/{view}'")
        return self.browser.wait(what, expression)

    def keep(self, name):
        """Looks the same in both schemes; kept where they are asked for."""
        sizes = []
        for scheme in ("light", "dark"):
            self.browser.scheme(scheme)
            self.browser.evaluate("scrollTo(0, 0)")
            png = self.browser.picture()
            sizes.append(len(png))
            if PICTURES:
                with open(os.path.join(PICTURES, f"{name}-{scheme}.png"), "wb") as file:
                    file.write(png)
        self.browser.scheme("light")
        self.assertGreater(min(sizes), 10_000, f"{name}: an empty picture")

    def test_1_cluster(self):
        self.show("cluster", "the heat map", f"document.querySelector('#totals')?.innerText.includes('{NODES} of {NODES}')")
        self.browser.wait("usage", r"/CPU used\s+[1-9][0-9]*\.?[0-9]* of \d+ cores/.test(document.querySelector('#totals').innerText)")
        self.browser.wait("what is lent", r"/Lent to batch\s+[1-9][0-9.]* cores, [1-9]/.test(document.querySelector('#totals').innerText)")
        if PICTURES:
            time.sleep(60 * DAY)  # a history to look at
            type(self).api = kube_api.Api(self.sandbox.kubeconfig).connect()  # nobody keeps an idle one for so long
        for way in ("lent", "pressure", "used"):
            self.browser.click(f"input[value={way}]")
            self.browser.wait("every node's cell", f"{CELLS} === {NODES}")
        self.keep("cluster")
        self.browser.wait("every node's cell at another width", f"{CELLS} === {NODES}")
        # By keyboard: the second node of the first row is opened.
        self.browser.evaluate("document.querySelector('canvas.heat').focus()")
        self.browser.key("ArrowRight")
        self.assertIn("node-0001: ", self.browser.wait("what is said of it", "document.querySelector('#said').textContent"))
        self.browser.key("Enter")
        self.browser.wait("its view", "location.hash === '#/node/node-0001' && document.querySelector('main h2')?.textContent === 'node-0001'")
        # And the first by mouse.
        self.show("cluster", "the heat map", "document.querySelector('canvas.heat')?.height > 0")
        self.browser.wait("its cells", "performance.getEntriesByName('koord heat map').length > 0")
        self.browser.evaluate("scrollTo(0, 0)")
        x, y = self.browser.evaluate("(() => { const r = document.querySelector('canvas.heat').getBoundingClientRect(); return [r.x + 4, r.y + 4]; })()")
        self.browser.click_at(x, y)
        self.browser.wait("its view", "location.hash === '#/node/node-0000'")

    def chosen_node(self):
        """The first one; for a picture one with services and, of these, most batch work."""
        if not PICTURES:
            return "node-0000"
        pods = self.api.request("GET", "/api/v1/pods")["items"]
        on = collections.Counter((each["spec"].get("nodeName"), each["spec"].get("priorityClassName")) for each in pods)
        return max((node for node, priority in on if node and priority == "koord-prod"),
                   key=lambda node: (on[node, "koord-batch"], min(on[node, "koord-prod"], 3), node))

    def test_2_node(self):
        name = self.chosen_node()
        self.show(f"node/{name}", "the node's figures", "/koord-prod/.test(document.querySelector('main').innerText) && document.querySelectorAll('.chart canvas').length === 3")
        self.browser.wait("samples", f"fetch('data/node?name={name}').then((a) => a.json()).then((n) => n.history.seconds.length >= 2 && n.history.pods.length > 0)")
        self.keep("node")

        def its_pods_are_told():
            told = json.loads(self.get(f"data/node?name={name}")[1])
            there = {(each["metadata"]["namespace"], each["metadata"]["name"])
                     for each in self.api.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")["items"]}
            return {(each["namespace"], each["name"]) for each in told["pods"]} == there

        wait_for("the pods that the API has there", its_pods_are_told)
        self.assertEqual(self.browser.evaluate("location.hash = '#/cluster'; 1"), 1)

    def test_2_node_without_anything(self):
        """What is empty is left out of what is told: a node that says nothing of itself, and a pod that uses nothing."""
        report = {"updateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                  "nodeMetric": {"nodeUsage": {"resources": {}}, "systemUsage": {"resources": {}}},
                  "podsMetric": [{"name": "idle", "namespace": "demo", "priority": "koord-prod", "podUsage": {"resources": {"cpu": "0", "memory": "0"}}}]}
        self.make("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}})
        self.addCleanup(self.api.request, "DELETE", "/api/v1/nodes/bare")

        def reports():
            try:
                return self.api.request("PATCH", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics/bare/status", {"status": report}, "application/merge-patch+json")
            except kube_api.ApiError as error:
                if error.status != 404:
                    raise
                return None

        wait_for("its NodeMetric", reports)
        wait_for("its tiers", lambda: b'"tiers":[{' in self.get("data/node?name=bare")[1])
        self.show("node/bare", "the node's figures", "/koord-prod\\s+1\\s+0\\.0\\s+-/.test(document.querySelector('main').innerText)")

    def test_3_groups(self):
        text = self.show("groups", "quotas", "document.querySelector('main').innerText.includes('team-search') && document.querySelector('main').innerText")
        self.assertIn("demo/train", text)
        self.assertIn("short", text)

    def test_4_who_waits_and_why(self):
        text = self.show("waiting", "who waits", "['demo/hungry', 'demo/hostile'].every((n) => document.querySelector('main').innerText.includes(n)) && document.querySelector('main').innerText")
        self.assertIn("Insufficient cpu", text)
        self.assertIn(HOSTILE, text)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('main img, main script').length"), 0)
        self.assertNotEqual(self.browser.evaluate("document.title"), "taken")
        self.browser.click("a[href='#/explain/demo/hungry']")
        text = self.browser.wait("the explanation", "document.querySelector('#answer')?.innerText.includes('It would fit if') && document.querySelector('#answer').innerText")
        self.assertIn("NodeResourcesFit", text)
        self.assertIn("at most", text)
        self.keep("why")

    def test_5_what_if(self):
        self.show("what-if", "the form", "document.querySelector('#pod') !== null")
        self.browser.evaluate("document.querySelector('#pod').value = " + json.dumps(json.dumps(pod("try", "1000m"))))
        self.browser.click("main button")
        self.browser.wait("the answer", "document.querySelector('#answer').innerText.includes('Nodes that would do')")
        self.browser.evaluate("document.querySelector('#pod').value = 'kind: Nothing'")
        self.browser.click("main button")
        self.browser.wait("what is wrong", "!document.querySelector('#problem').hidden && document.querySelector('#problem').innerText.includes('neither a Pod')")
        # The browser tells of each answer that is none; that one was wanted.
        self.browser.complaints[:] = [each for each in self.browser.complaints if "400" not in each]
        names = [each["metadata"]["name"] for each in self.api.request("GET", "/api/v1/namespaces/default/pods")["items"]]
        self.assertNotIn("try", names, "the page has made a pod")

    def test_6_heard(self):
        """What a screen reader goes by: names of all that can be used, a language, headings, rows with heads; and a narrow window."""
        for view in ("cluster", "node/node-0000", "groups", "waiting", "what-if"):
            self.show(view, view, "document.querySelector('main section') !== null")
            self.assertEqual(self.browser.evaluate(
                "[...document.querySelectorAll('a, button, input, textarea, canvas:not([aria-hidden]), meter')].filter((e) => "
                "!(e.ariaLabel || e.innerText || e.labels?.length || e.textContent)).map((e) => e.outerHTML)"), [], view)
            self.assertEqual(self.browser.evaluate("[...document.querySelectorAll('table')].filter((t) => !t.caption || !t.querySelector('th[scope=col]')).length"), 0)
            self.browser.picture(width=400)
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, f"{view} is wider than a narrow window")
            self.assertEqual(self.browser.evaluate("[...document.querySelectorAll('td')].filter((e) => !e.dataset.label).length"), 0, view)
            self.browser.picture()
        self.assertEqual(self.browser.evaluate("document.documentElement.lang + document.querySelectorAll('h1').length"), "en1")

    def get(self, path, method="GET", body=None, **headers):
        """(status, body, headers) of the page's port."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        question = urllib.request.Request(self.base + path, method=method, data=body, headers=headers)
        try:
            with urllib.request.urlopen(question, timeout=browser.SECONDS) as answer:
                data = answer.read()
                return answer.status, gzip.decompress(data) if answer.headers["Content-Encoding"] == "gzip" else data, answer.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), error.headers

    def test_7_port(self):
        status, page, headers = self.get("", Accept_Encoding="gzip")
        self.assertEqual(status, 200)
        self.assertNotIn(b"style=", page)
        policy = headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        for status, path, more in ((421, "", {"Host": "evil.example"}), (403, "data/groups", {"Origin": "http://evil.example"}),
                                   (403, "data/stream", {"Sec_Fetch_Site": "cross-site"}), (404, "data/node?name=nobody", {}), (404, "../etc/passwd", {}),
                                   (404, "%2e%2e/%2e%2e/etc/passwd", {}), (404, "data/explain?namespace=a&name=b", {}), (405, "data/what-if", {})):
            self.assertEqual(self.get(path, **more)[0], status, path)
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            self.assertEqual(self.get("data/groups", method=method)[0], 405, method)
        self.assertEqual(self.get("data/what-if", "POST", b"kind: Pod", Content_Type="text/plain")[0], 415)
        self.assertEqual(self.get("data/what-if", "POST", b"{", Content_Type="application/yaml")[0], 400)
        self.assertEqual(self.get("data/what-if", "POST", b"x" * (300 << 10), Content_Type="application/yaml")[0], 413)

    def test_8_streams(self):
        question = f"GET /ui/data/stream HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()
        self.browser.open("about:blank")
        readers = []
        try:
            wait_for("the browser's stream to end", lambda: self.fill(readers, question))
            began = readers[0].recv(64)
            self.assertIn(b"200 OK", began)
        finally:
            for reader in readers:
                reader.close()
        wait_for("places that are free again", lambda: self.first_line(question).startswith(b"HTTP/1.1 200"))

    def fill(self, readers, question):
        while len(readers) < STREAMS:
            readers.append(socket.create_connection(("127.0.0.1", self.port), timeout=browser.SECONDS))
            readers[-1].sendall(question)
            if not readers[-1].recv(12, socket.MSG_PEEK).endswith(b"200"):
                readers.pop().close()
                return False
        self.assertTrue(self.first_line(question).startswith(b"HTTP/1.1 503"))
        return True

    def first_line(self, question):
        with socket.create_connection(("127.0.0.1", self.port), timeout=browser.SECONDS) as connection:
            connection.sendall(question)
            return connection.recv(64)

    def test_9_tokens(self):
        """On an address that others reach: HTTPS, and a token that may get /ui."""
        port = free_port()
        with sandbox.Sandbox(f"--ui=0.0.0.0:{port}", "--nodes=1", "--roles=", "--summary=none") as cluster:
            api = kube_api.Api(cluster.kubeconfig)
            trust = ssl.create_default_context()
            trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE

            def status(authorization):
                question = urllib.request.Request(f"https://127.0.0.1:{port}/ui/", headers={"Accept-Encoding": "gzip", **({"Authorization": authorization} if authorization else {})})
                try:
                    with urllib.request.urlopen(question, timeout=browser.SECONDS, context=trust) as answer:
                        return answer.status
                except urllib.error.HTTPError as error:
                    with error:
                        self.assertEqual("WWW-Authenticate" in error.headers, error.code == 401)
                        return error.code

            self.assertEqual(status(None), 401)
            self.assertEqual(status("Bearer nonsense"), 401)
            self.assertEqual(status("Basic " + base64.b64encode(b"x:nonsense").decode()), 401)
            self.assertEqual(status(f"Bearer {api.token}"), 200)
            self.assertEqual(status("Basic " + base64.b64encode(f"me:{api.token}".encode()).decode()), 200)
            with self.assertRaises(OSError):  # plain HTTP is not spoken there
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ui/", timeout=browser.SECONDS)


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        place = sys.argv.index("--pictures")
        PICTURES, NODES, DAY = sys.argv[place + 1], 160, float((*sys.argv[place + 2:], "30")[0])
        del sys.argv[place:]
    unittest.main(verbosity=2)
