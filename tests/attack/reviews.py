"""The webhooks' port, at which anybody in the cluster may knock: bodies that want to take long or to stay."""
import concurrent.futures
import json
import time

from crowds import close_all, open_many
from ground import AIM, REVIEW, expect

PATHS = ("/validate-pod", "/mutate-pod")
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


def heavy_reviews(ground, short):
    """Whole reviews of megabytes, each of which is answered within a second."""
    failures = []
    for what, pod in bodies():
        body = json.dumps({**REVIEW, "request": {**REVIEW["request"], "object": pod}}).encode()
        for path in PATHS:
            began = time.monotonic()
            status, answer = ground.webhook.request("POST", path, body, Content_Type="application/json")
            took = time.monotonic() - began
            if took > AIM or status != 200:
                failures.append(f"{path}: {what}, {len(body)} bytes: {status} {answer[:100]!r} after {took:.1f} s")
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
    """The same of those who were answered once before."""
    ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    held = open_many(ground.webhook, 1000, tls=True, first=ask + begun(ground, 1000) + b"{")
    time.sleep(2 if short else 8)
    close_all(held)


def namespaces_that_are_not_there(ground, short):
    """Reviews that wait until a namespace is known, with large bodies."""
    pod = {**REVIEW["request"]["object"], "metadata": {"name": "a", "annotations": {"x": "y" * (5 << 20)}}}
    body = json.dumps({**REVIEW, "request": {**REVIEW["request"], "namespace": "nowhere", "object": pod}}).encode()
    first = b"POST /mutate-pod HTTP/1.1\r\n" + ground.webhook.headers(Content_Length=len(body), Content_Type="application/json") + b"\r\n" + body
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        def ask(_):
            for _ in range(1 if short else 4):
                close_all(open_many(ground.webhook, 1, tls=True, first=first))
        list(pool.map(ask, range(12)))


def ports_are_known(ground, short):
    """A port that is open is in Ground's table, and with that under every attack on ports."""
    expect(not ground.unknown(), f"nobody attacks {ground.unknown()}")


ATTACKS = [ports_are_known, heavy_reviews, unfinished_bodies, seats, known_seats, namespaces_that_are_not_there]
