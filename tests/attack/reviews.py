"""The webhooks' port, at which anybody in the cluster may knock: bodies that want to take long or to stay."""
import concurrent.futures
import json
import time

import prober
from crowds import close_all, open_many
from ground import AIM, CEILING, REVIEW, expect

PATHS = ("/validate-pod", "/mutate-pod")
QUOTA_PATHS = tuple(f"/{word}-scheduling-sigs-k8s-io-v1alpha1-elasticquota" for word in ("validate", "mutate"))
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
NAMES = 60_000


def bodies():
    """(what, object of a review)"""
    names = {f"x.io/{i:05}": "1" for i in range(NAMES, 0, -1)}
    pod = REVIEW["request"]["object"]
    of = {"metadata": {"name": "a", "labels": {"koordinator.sh/qosClass": "LSR"}}}
    yield "names in descending order", {**of, "spec": {"containers": [{"name": "c", "resources": {"requests": names, "limits": names}}]}}
    half = dict(list(names.items())[:NAMES // 2])
    yield "names of two containers", {**of, "spec": {"containers": [
        {"name": f"c{i}", "resources": {"requests": {f"{'zy'[i]}{name}": 1 for name in half}}} for i in range(2)]}}
    yield "containers", {**of, "spec": {"containers": [{"name": f"c{i}", "resources": {"requests": {f"x.io/{NAMES - i}": 1}}}
                                                       for i in range(NAMES // 2)]}}
    yield "init containers", {**of, "spec": {"containers": pod["spec"]["containers"], "initContainers": [
        {"name": f"c{i}", "restartPolicy": "Always", "resources": {"requests": {f"x.io/{NAMES - i}": 1}}} for i in range(NAMES // 2)]}}
    yield "labels", {**pod, "metadata": {"name": "a", "labels": names, "annotations": names}}
    yield "overhead", {**of, "spec": {"containers": pod["spec"]["containers"], "overhead": names}}


def quota_bodies():
    """(what, object of a review)"""
    names = {f"x.io/{i:05}": "1" for i in range(NAMES, 0, -1)}
    prefix, few = "quota.scheduling.koordinator.sh/", dict(list(names.items())[:3500])

    def said(spec=None, **annotations):
        return {"metadata": {"name": "a", "annotations": {prefix + key.replace("_", "-"): text for key, text in annotations.items()}},
                "spec": spec or {"max": {"cpu": "1"}}}
    yield "a quota of many names", said({"min": names, "max": names})
    yield "a quota of labels", {"metadata": {"name": "a", "labels": names, "annotations": names}, "spec": {}}
    yield "a weight of many names", said({"max": dict(list(names.items())[:1000])}, shared_weight=json.dumps(few))
    yield "a deep weight", said(shared_weight="[" * 60_000)
    yield "many namespaces", said(namespaces=json.dumps([f"n{i}" for i in range(7000)]))
    yield "many strict names", {**said(max_strict_check_resource_keys=json.dumps(list(few))), "status": {"used": dict(list(names.items())[:1000])}}
    yield "a child of itself", {"metadata": {"name": "a", "labels": {prefix + "parent": "a", prefix + "tree-id": "t", prefix + "is-parent": "true"}}, "spec": {}}


def about_quotas(operation, quota):
    return {**REVIEW, "request": {**REVIEW["request"], "operation": operation, "object": None if operation == "DELETE" else quota,
                                  "oldObject": None if operation == "CREATE" else quota, "dryRun": True,
                                  "resource": {"group": "scheduling.sigs.k8s.io", "version": "v1alpha1", "resource": "elasticquotas"}}}


def heavy_quotas(ground, short):
    """The same of quotas. One that names a stranger is waited for: a second more."""
    failures, late = [], prober.Lateness()
    for what, quota in quota_bodies():
        for path, operation in [(path, "CREATE") for path in QUOTA_PATHS] + [(QUOTA_PATHS[0], operation) for operation in ("UPDATE", "DELETE")]:
            body = json.dumps(about_quotas(operation, quota)).encode()
            began = time.monotonic()
            status, answer = ground.webhook.request("POST", path, body, Content_Type="application/json")
            ended = time.monotonic()
            took = ended - began - late.during(began, ended)
            if took > AIM + 1 or status != 200:
                failures.append(f"{operation} {path}: {what}, {len(body)} bytes: {status} {answer[:100]!r} after {took:.1f} s")
    late.finish()
    expect(not failures, "; ".join(failures))


def quotas_of_strangers(ground, short):
    """Quotas whose parent nobody knows, by as many as there is room for: each waits a second, and pods are reviewed meanwhile."""
    orphan = {"metadata": {"name": "a", "labels": {"quota.scheduling.koordinator.sh/parent": "nobody"}}, "spec": {}}
    body = json.dumps(about_quotas("CREATE", orphan)).encode()
    again_and_again(ground, short, 100, [(QUOTA_PATHS[1], body)] * 9 + [whole(REVIEW["request"]["object"])])


def heavy_reviews(ground, short):
    """Whole reviews of megabytes, each of which is answered within a second."""
    failures, late = [], prober.Lateness()
    for what, pod in bodies():
        body = json.dumps({**REVIEW, "request": {**REVIEW["request"], "object": pod}}).encode()
        for path in PATHS:
            began = time.monotonic()
            status, answer = ground.webhook.request("POST", path, body, Content_Type="application/json")
            ended = time.monotonic()
            took = ended - began - late.during(began, ended)
            if took > AIM or status != 200:
                failures.append(f"{path}: {what}, {len(body)} bytes: {status} {answer[:100]!r} after {took:.1f} s")
    late.finish()
    expect(not failures, "; ".join(failures))


def begun(ground, length):
    return (b"POST /validate-pod HTTP/1.1\r\n" + ground.webhook.headers(Content_Length=length, Content_Type="application/json") + b"\r\n")


def unfinished_bodies(ground, short):
    """Ten clients whose bodies of 7 MiB end a byte too early, again and again."""
    first = begun(ground, 7 << 20) + b"x" * ((7 << 20) - 1)
    for _ in range(2 if short else 6):
        held = open_many(ground.webhook, 10, tls=True, first=first)
        time.sleep(2)
        close_all(held)


def seats(ground, short):
    """As many connections as there are seats, each with one byte of a body."""
    for _ in range(1 if short else 3):
        held = open_many(ground.webhook, 1100, tls=True, first=begun(ground, 1000) + b"{")
        time.sleep(2)
        close_all(held)


def known_seats(ground, short):
    """The same of those who were answered once before, a review, too."""
    ask = sent(ground.webhook, *whole(REVIEW["request"]["object"]))
    held = open_many(ground.webhook, 1000, tls=True, first=ask + begun(ground, 1000) + b"{")
    time.sleep(2 if short else 8)
    close_all(held)


def whole(pod, namespace="default", path="/mutate-pod"):
    """A review as it goes over the wire."""
    body = json.dumps({**REVIEW, "request": {**REVIEW["request"], "namespace": namespace, "object": pod}}).encode()
    return path, body


def sent(port, path, body):
    return f"POST {path} HTTP/1.1\r\n".encode() + port.headers(Content_Length=len(body), Content_Type="application/json") + b"\r\n" + body


def padded(size):
    return {**REVIEW["request"]["object"], "metadata": {"name": "a", "annotations": {"x": "y" * size}}}


def namespaces_that_are_not_there(ground, short):
    """Whole reviews that wait until a namespace is known: as many as there are seats, small ones and large, each connection asking
    again as soon as it is answered."""
    port, rounds = ground.webhook, 10 if short else 20
    profile = {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "waits"},
               "spec": {"namespaceSelector": {"matchLabels": {"of": "nobody"}}}}
    status, answer = ground.call("POST", PROFILES, profile)
    expect(status == 201, f"the profile that asks for namespaces: {status} {answer[:200]!r}")
    took = 0.0
    for _ in range(50):  # until the manager knows it
        began = time.monotonic()
        port.request("POST", *whole(padded(10), "nowhere"), Content_Type="application/json")
        took = time.monotonic() - began
        if took > AIM / 2:
            break
    expect(took > AIM / 2, "no review waits for its namespace")
    held = []
    for size, count in ((10, 1100), (60 << 10, 300), (5 << 20, 12)):
        first = sent(port, *whole(padded(size), "nowhere"))
        held += open_many(port, count, tls=True, first=first * (rounds if size == 10 else 1))
    time.sleep(rounds / 2)
    close_all(held)
    ground.call("DELETE", f"{PROFILES}/waits")


def again_and_again(ground, short, count, reviews):
    """So many clients, each with one of these reviews after the other; all of them are answered, or told that there is no room."""
    end, statuses = time.monotonic() + (4 if short else 15), {}

    def ask(number):
        while time.monotonic() < end:
            path, body = reviews[number % len(reviews)]
            try:
                status, _ = ground.webhook.request("POST", path, body, timeout=CEILING, Content_Type="application/json")
            except OSError:
                status = 0
            statuses[status] = statuses.get(status, 0) + 1

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(ask, range(count)))
    expect(statuses.get(200), f"no review was answered: {statuses}")
    expect(set(statuses) <= {0, 200, 503}, f"answers {statuses}")


def sprung_reviews(ground, short):
    """As many large reviews as the budget of bodies holds, all but for their last byte, which then comes of all at once."""
    body = sent(ground.webhook, *whole(next(pod for what, pod in bodies() if what == "labels")))
    for _ in range(1 if short else 5):
        held = open_many(ground.webhook, (60 << 20) // len(body), tls=True, first=body[:-1])
        for connection in held:
            try:
                connection.send(body[-1:])
            except OSError:
                pass
        time.sleep(3)
        close_all(held)


def large_reviews(ground, short):
    """Large reviews at the same time, again and again, of as many names as fit."""
    again_and_again(ground, short, 24, [whole(pod, path=path) for _, pod in bodies() for path in PATHS])


def largest_reviews(ground, short):
    """The same, as large as a review may be."""
    names = {f"x.io/{i:06}": "1" for i in range(300_000, 0, -1)}
    labels = {**REVIEW["request"]["object"], "metadata": {"name": "a", "labels": names}}
    again_and_again(ground, short, 12, [whole(pod, path=path) for pod in (labels, padded(6 << 20)) for path in PATHS])


def ports_are_known(ground, short):
    """A port that is open is in Ground's table, and with that under every attack on ports."""
    expect(not ground.unknown(), f"nobody attacks {ground.unknown()}")


ATTACKS = [ports_are_known, heavy_reviews, heavy_quotas, quotas_of_strangers, sprung_reviews, large_reviews, largest_reviews, unfinished_bodies, seats, known_seats,
           namespaces_that_are_not_there]
