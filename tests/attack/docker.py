"""HTTP on the proxy's socket where it stands before Docker, by neighbours who may connect. The prober's own calls, one that is
relayed and one that is read, wait for none of it (attack.py)."""
import json
import socket
import time

from ground import CEILING, expect, open_files, read_all, rss_mib
from sockets import close, held

KEPT_MIB = 64
CREATE = b"POST /v1.40/containers/create?name=k8s_POD_web_default_uid-1_0 HTTP/1.1\r\nHost: docker\r\n"
OTHER = b"POST /v1.40/networks/create HTTP/1.1\r\nHost: docker\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: docker\r\n\r\n"  # what a smuggler has behind, or in, a body
ATTACH = b"POST /containers/x/attach?stream=1 HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"


def docker_silent(ground, short):
    """More connections than are let in at a time, which say nothing, or a part of a word."""
    port = ground.docker
    for first in (b"", b"GET /_p", OTHER, OTHER + b"Content-Length: 9999999999\r\n\r\n{", OTHER + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
                  CREATE + b"Content-Length: 100000\r\n\r\n{", b"GET /silence HTTP/1.1\r\nHost: docker\r\n\r\n"):
        connections = held(port, 380 if short else 3000, first)
        time.sleep(0.2 if short else 5)
        expect(port.well(), f"nobody else is answered beside {first[-40:]}")
        close(connections)


def docker_slow(ground, short):
    """Requests that come byte by byte, over many connections, and whoever says no more, but listens."""
    port = ground.docker
    said = (CREATE + b"Content-Length: 2\r\n\r\n{}")[:12 if short else None]
    close(held(port, 60, *(said[i:i + 1] for i in range(len(said))), between=0.05))
    for first in (b"GET /_ping", CREATE + b"Content-Length: 9\r\n\r\n{", OTHER + b"Content-Length: 9\r\n\r\n{", ATTACH):
        connections = held(port, 50, first)
        for connection in connections:
            connection.shutdown(socket.SHUT_WR)
        time.sleep(0.1 if short else 3)
        expect(port.well(), f"nobody else is answered beside a half-closed {first[-40:]}")
        close(connections)


def words():
    """(name, bytes) that two parsers could read differently, or none at all."""
    for kind, post in (("read", CREATE), ("relayed", OTHER)):
        both = b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        yield f"{kind}: length-and-chunks", post + both + HIDDEN
        yield f"{kind}: chunks-and-length", post + b"Transfer-Encoding: chunked\r\nContent-Length: 60\r\n\r\n0\r\n\r\n" + HIDDEN
        yield f"{kind}: gzip-chunked", post + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + HIDDEN
        yield f"{kind}: xchunked", post + b"Transfer-Encoding: xchunked\r\n\r\n" + HIDDEN
        yield f"{kind}: chunked-twice", post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN
        yield f"{kind}: lengths-differ", post + b"Content-Length: 0\r\nContent-Length: 40\r\n\r\n" + HIDDEN
        yield f"{kind}: length-signed", post + b"Content-Length: +0\r\n\r\n" + HIDDEN
        yield f"{kind}: chunk-overflow", post + b"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n" + HIDDEN
        yield f"{kind}: chunk-negative", post + b"Transfer-Encoding: chunked\r\n\r\n-0\r\n\r\n" + HIDDEN
        yield f"{kind}: chunk-extensions", post + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"x" * 200000 + b"\r\n{}\r\n0\r\n\r\n" + HIDDEN
        yield f"{kind}: trailers", post + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 50000 + b"\r\n"
        yield f"{kind}: upgrade-in-a-body", post + b"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 40\r\n\r\n" + HIDDEN[:40]
        yield f"{kind}: host-named-by-connection", post + b"Connection: Host, Content-Length\r\nContent-Length: 40\r\n\r\n" + HIDDEN[:40]
        yield f"{kind}: continue-never-sent", post + b"Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n"
        yield f"{kind}: expects-something-else", post + b"Expect: tea\r\nContent-Length: 2\r\n\r\n{}"
    get = b"GET /_ping HTTP/1.1\r\nHost: docker\r\n"
    yield "header-flood", get + b"X: y\r\n" * 50000 + b"\r\n"
    yield "header-of-a-megabyte", get + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n"
    yield "target-of-a-megabyte", b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\nHost: docker\r\n\r\n"
    yield "target-with-controls", b"GET /a\x01\x7f HTTP/1.1\r\nHost: docker\r\n\r\n"
    yield "folded", get + b"X: a\r\n GET /hidden HTTP/1.1\r\n\r\n"
    yield "bare-line-feeds", b"GET /_ping HTTP/1.1\nHost: docker\n\n" + HIDDEN[:4]
    yield "carriage-return-in-a-value", get + b"X: a\r\rGET /hidden HTTP/1.1\r\n\r\n"
    yield "blank-before-colon", b"POST /x HTTP/1.1\r\nHost: docker\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + HIDDEN[:4]
    yield "http2-preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield "http-version-9", b"GET / HTTP/9.9\r\nHost: docker\r\n\r\n"
    yield "http-0.9", b"GET /\r\n"
    yield "tls", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x80" * 500
    yield "noise", bytes(range(256)) * 400
    yield "connect", b"CONNECT docker:80 HTTP/1.1\r\nHost: docker\r\n\r\n" + HIDDEN[:4]


def docker_words(ground, short):
    """What is no request, or two in one: nothing in it reaches Docker as a request of its own, where what is before it does
    not end there by everybody's reading."""
    port = ground.docker
    for name, said in words():
        with port.connect() as connection:
            try:
                connection.sendall(said)
            except OSError:
                pass
            connection.settimeout(0.05 if short else 1)
            read_all(connection, 1 << 20)
        seen = json.loads(port.request("GET", "/seen")[1])
        expect("/hidden" not in seen, f"{name}: what was hidden in it reached Docker")
    expect(port.well(), "nobody is answered any more")


def docker_targets(ground, short):
    """Targets that name a call in another way, or none."""
    port = ground.docker
    for target in ("/v1.40/x/../containers/create", "/v1.40//containers/create", "/v1.40/containers/./create", "/v1.40/containers/%63reate",
                   "http://docker/v1.40/containers/create", "/v1.40/containers%2Fcreate", "/v1.40/containers/create/", "/../../etc/passwd",
                   "*", "containers/create", "//docker/containers/create", "/v1.40/containers/create#x"):
        status, _ = port.request("POST", target, b'{"Labels":{"io.kubernetes.docker.type":"podsandbox"}}', timeout=1 if short else CEILING)
        expect(status, f"nothing is said about {target}")
    expect(port.well(), "nobody is answered any more")


def docker_bodies(ground, short):
    """Bodies of a create that cost their reader more than their sender."""
    port = ground.docker
    deep, wide = 100000, 100000 if short else 1000000
    label = b'"Labels":{"io.kubernetes.docker.type":"podsandbox"}'
    for name, body in (("deep", b'{"a":' * deep + b"1" + b"}" * deep), ("deep-lists", b"[" * deep), ("doubles", b"{" + b'"a":1,' * wide + label + b"}"),
                       ("labels-twice", b"{" + label + b"," + label.replace(b"podsandbox", b"container") + b"}"),
                       ("number", b'{"HostConfig":{"CpuShares":' + b"9" * 100000 + b"}," + label + b"}"), ("no-text", b"{" + label + b',"Image":"\xff\xfe\x00"}'),
                       ("16-MiB", b'{"Image":"' + b"x" * (16 << 20) + b'",' + label + b"}"), ("65-MiB", b'{"Image":"' + b"x" * (65 << 20) + b'"}'),
                       ("lone-surrogate", b"{" + label + b',"Env":["\\ud800=1"]}'), ("nothing", b""), ("null", b"null"), ("list", b"[]")):
        if short and name == "65-MiB":
            continue
        status, _ = port.request("POST", "/v1.40/containers/create?name=k8s_POD_web_default_uid-1_0", body, timeout=3 * CEILING, Content_Type="application/json")
        expect(status, f"no answer to a create with {name}")
    expect(port.well(), "nobody is answered any more")


def docker_unread(ground, short):
    """Answers without an end that nobody reads, and requests without an end whose answers nobody reads."""
    port = ground.docker
    for said in (b"GET /events HTTP/1.1\r\nHost: docker\r\n\r\n", b"GET /_ping HTTP/1.1\r\nHost: docker\r\n\r\n" * 500):
        before = rss_mib(port.pid)
        connections = held(port, 100, said)
        time.sleep(0.5 if short else 8)
        most = rss_mib(port.pid) - before
        expect(port.well(), "nobody else is answered")
        close(connections)
        expect(most < KEPT_MIB, f"100 answers that nobody reads take {most:.0f} MiB")


def docker_attached(ground, short):
    """Attached connections that never end; then all go at once: nothing of them stays."""
    port = ground.docker
    before = open_files(port.pid)
    for _ in range(1 if short else 10):
        connections = held(port, 300, ATTACH)
        expect(port.well(), "nobody else is answered")
        close(connections)
    end = time.monotonic() + CEILING
    while open_files(port.pid) > before + 20 and time.monotonic() < end:
        time.sleep(0.05)
    expect(open_files(port.pid) <= before + 20, f"{open_files(port.pid) - before} descriptors stay open")


ATTACKS = [docker_silent, docker_slow, docker_words, docker_targets, docker_bodies, docker_unread, docker_attached]
