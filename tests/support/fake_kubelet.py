"""Kubelets that run nothing: bound pods become ready, deleted ones end when their grace period is over."""
import http.client
import json
import sched
import threading
import time

import kube_api

STARTED = "koord.test/started"


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class FakeKubelets:
    """Of all nodes of an API server that has none, for the pods of some namespaces (all where none is named).

    A pod with the label STARTED is said to run by the test, not by them. Times are real ones: tests give pods a short
    terminationGracePeriodSeconds.
    """

    def __init__(self, api, *namespaces):
        self.api, self.namespaces = api, namespaces
        self.seen = {}  # uid: started or ending
        self.agenda = sched.scheduler(time.monotonic, time.sleep)
        self.closed = threading.Event()
        self.http = None
        self.threads = [threading.Thread(target=run, daemon=True) for run in (self.follow_always, self.end_always)]
        for thread in self.threads:
            thread.start()

    def request(self, method, pod, body=None, subresource="", kind="application/strategic-merge-patch+json"):
        meta = pod["metadata"]
        try:
            self.api.connect().request(method, f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}{subresource}",
                                       body, kind)
        except kube_api.ApiError as error:
            if error.status not in (404, 409):
                raise

    def start(self, pod):
        statuses = [{"name": c["name"], "image": c["image"], "imageID": "", "ready": True, "restartCount": 0,
                     "state": {"running": {"startedAt": now()}}} for c in pod["spec"]["containers"]]
        conditions = [{"type": kind, "status": "True", "lastTransitionTime": now()}
                      for kind in ("Initialized", "Ready", "ContainersReady")]
        self.request("PATCH", pod, {"metadata": {"uid": pod["metadata"]["uid"]},
                                    "status": {"phase": "Running", "startTime": now(), "conditions": conditions,
                                               "containerStatuses": statuses}}, "/status")

    def end(self, pod):
        self.request("DELETE", pod, {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}},
                     kind="application/json")

    def take(self, pod, gone=False):
        meta = pod["metadata"]
        if gone:
            self.seen.pop(meta["uid"], None)
            return
        if not pod["spec"].get("nodeName") or (self.namespaces and meta["namespace"] not in self.namespaces):
            return
        known = self.seen.get(meta["uid"])
        if meta.get("deletionTimestamp"):
            if known != "ending":
                self.seen[meta["uid"]] = "ending"
                self.agenda.enter(meta.get("deletionGracePeriodSeconds", 0), 0, self.end, (pod,))
        elif known is None and (pod.get("status") or {}).get("phase") == "Pending" and STARTED not in meta.get("labels", {}):
            self.seen[meta["uid"]] = "started"
            self.start(pod)

    def follow_always(self):
        while not self.closed.is_set():
            try:
                answer = self.api.connect().request("GET", "/api/v1/pods")
                for pod in answer["items"]:
                    self.take(pod)
                self.follow(answer["metadata"]["resourceVersion"])
            except (OSError, http.client.HTTPException, ValueError, AttributeError, kube_api.ApiError):
                pass  # the API server is away, or close() has been called
            self.closed.wait(0.1)

    def follow(self, version):
        self.http = http.client.HTTPSConnection(self.api.host, self.api.port, context=self.api.context, timeout=600)
        self.http.request("GET", f"/api/v1/pods?watch=1&resourceVersion={version}",
                          headers={"Authorization": f"Bearer {self.api.token}"})
        for line in self.http.getresponse():
            change = json.loads(line)
            if change["type"] == "ERROR":
                return
            self.take(change["object"], change["type"] == "DELETED")

    def end_always(self):
        while not self.closed.wait(0.05):
            self.agenda.run(blocking=False)

    def close(self):
        self.closed.set()
        kube_api.wake_reader(self.http)
