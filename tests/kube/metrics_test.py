#!/usr/bin/env python3
"""koord's metrics beside kube-scheduler's: what both have is the same to a dashboard: type, labels, buckets."""
import collections
import os
import re
import ssl
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import schedulers
from sandbox import free_port
from schedulers import OURS, UPSTREAM, wait_for

import kube_api
import kube_version

NAMESPACE = "metrics"
SERIES = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# What a kube-scheduler shows that koord does not, each with the reason.
LATER = {
    "scheduler_batch_attempts_total": "koord's classes need no batches",
    "scheduler_batch_cache_flushed_total": "koord's classes need no batches",
    "scheduler_get_node_hint_duration_seconds": "koord's classes need no batches",
    "scheduler_store_schedule_results_duration_seconds": "koord's classes need no batches",
}
# Of what the others show, koord has these.
SHARED_PREFIXES = ("scheduler_", "rest_client_", "process_")
CLIENTS = {"rest_client_requests_total", "rest_client_request_duration_seconds", "rest_client_request_size_bytes",
           "rest_client_response_size_bytes", "rest_client_rate_limiter_duration_seconds"}


def parse(text):
    """{family: (type, label names, buckets)}"""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    labels, buckets = collections.defaultdict(set), collections.defaultdict(set)
    for line in text.splitlines():
        found = SERIES.match(line)
        if not found:
            continue
        name, of = found.group(1), dict(LABEL.findall(found.group(2) or ""))
        family = next((name[:-len(end)] for end in ("_bucket", "_sum", "_count")
                       if name.endswith(end) and types.get(name[:-len(end)]) == "histogram"), name)
        bound = of.pop("le", None)
        if bound is not None:
            buckets[family].add(float(bound))
        labels[family].add(tuple(sorted(of)))
    return {name: (kind, sorted(labels[name]), sorted(buckets[name])) for name, kind in types.items()}


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(cls.api, NAMESPACE)
        schedulers.clean(cls.api, [NAMESPACE])
        cls.ports = {UPSTREAM: free_port(), OURS: free_port()}
        cls.processes = [schedulers.kube_scheduler("--leader-elect=false", port=cls.ports[UPSTREAM]),
                         schedulers.koord("--leader-elect=false", f"--secure-port={cls.ports[OURS]}", "--kube-api-qps=1000",
                                          "--kube-api-burst=1000")]
        cls.api.load([schedulers.node("metered")])
        watch = schedulers.PodWatch(cls.api, NAMESPACE)
        for name in (UPSTREAM, OURS):
            cls.api.load([schedulers.pod(f"fits-{name}", name, NAMESPACE),
                          schedulers.pod(f"waits-{name}", name, NAMESPACE, cpu="1000")])
            for kind in ("fits", "waits"):
                watch.verdict(f"{kind}-{name}")
        watch.close()
        cls.shown = {name: wait_for(f"metrics of {name}", lambda name=name: cls.read(cls.ports[name]))
                     for name in (UPSTREAM, OURS)}

    @classmethod
    def tearDownClass(cls):
        for process in cls.processes:
            process.end()
        schedulers.clean(cls.api, [NAMESPACE])

    def certificate(self, subject):
        """A client's, signed by the cluster's CA: its file and its key's."""
        folder = tempfile.TemporaryDirectory(prefix="koord-client.")
        self.addCleanup(folder.cleanup)
        cluster = os.environ["KOORD_KUBE_DIR"]
        key, request, made = (os.path.join(folder.name, name) for name in ("key", "request", "certificate"))
        for words in (["req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", key, "-out", request],
                      ["x509", "-req", "-in", request, "-CA", f"{cluster}/ca.crt", "-CAkey", f"{cluster}/ca.key",
                       "-set_serial", "7", "-days", "1", "-out", made]):
            subprocess.run(["openssl", *words], check=True, capture_output=True)
        return made, key

    def asked_with(self, subject):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(*self.certificate(subject))
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{self.ports[OURS]}/metrics", context=context,
                                        timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_the_cluster_s_clients_are_known_by_their_certificates(self):
        self.assertEqual(wait_for("the cluster's CA", lambda: self.asked_with("/O=system:masters/CN=eve") == 200), True)
        self.assertEqual(self.asked_with("/CN=nobody"), 403)

    @classmethod
    def read(cls, port):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        request = urllib.request.Request(f"https://127.0.0.1:{port}/metrics",
                                         headers={"Authorization": f"Bearer {cls.api.token}"})
        try:
            with urllib.request.urlopen(request, context=context, timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return None
        return parse(text)

    def test_what_both_have_is_the_same(self):
        upstream, ours = self.shown[UPSTREAM], self.shown[OURS]
        both = [name for name in ours if name in upstream]
        self.assertGreater(len(both), 20, both)
        differences = [f"{name}:\n  kube-scheduler {upstream[name]}\n  koord {ours[name]}" for name in both
                       if upstream[name] != ours[name]]
        self.assertEqual(differences, [], "\n" + "\n".join(differences))

    def test_what_koord_lacks_is_known(self):
        if kube_version.minor() != kube_version.USUAL:
            self.skipTest(f"Kubernetes 1.{kube_version.minor()}: koord has the metrics of the kube-scheduler of 1.{kube_version.USUAL}")
        lacking = {name for name in self.shown[UPSTREAM] if name.startswith("scheduler_")} - set(self.shown[OURS])
        self.assertEqual(lacking - set(LATER), set())
        self.assertEqual(CLIENTS - set(self.shown[OURS]), set())


if __name__ == "__main__":
    schedulers.skip_without_cluster(schedulers.KUBE_SCHEDULER)
    unittest.main(verbosity=2, warnings="ignore")
