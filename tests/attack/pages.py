"""The page's port, on loopback and as others reach it, over TLS with a token: names that are not its own, other sites, what no reader
sends, tokens that are none, readers that read slowly or not at all, and pods that are pasted in by many at once."""
import concurrent.futures
import threading
import time

from ground import CEILING, expect, parse_answer, read_all, rss_mib

STREAMS, KEPT_MIB = 64, 96
SECRETS = ("/ui/../metrics", "/ui/%2e%2e/%2e%2e/etc/passwd", "/ui//data/groups", "/ui/data/", "/ui/data/../data/groups", "/ui/data/stream/x",
           "/ui/index.html%00", "/ui/embed.py", "/metrics", "/configz", "/debug/flags", "/audit", "/ui/data/node", "/ui/data/node?name=",
           "/ui/data/node?name=" + "x" * 20_000, "/ui/data/node?name=%ff%00", "/ui/data/explain", "/ui/data/explain?namespace=..&name=..",
           "/ui/data/explain?" + "&".join(["name=x"] * 3000))
PODS = (b"", b"{", b"[" * 200_000, b"a: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n" * 100, b"\xff\xfe" * 1000, b"kind: Pod\n---\nkind: Pod\n",
        b"{\"kind\": \"Pod\", \"metadata\": 7}", b"kind: Pod\nspec: {containers: [{resources: {requests: {cpu: 1e9999}}}]}",
        b"kind: Pod\nspec: {nodeSelector: {" + b", ".join(b"k%d: v" % i for i in range(8000)) + b"}}")


TOKENS = ("", "Bearer", "Bearer ", "Bearer x", "Bearer " + "x" * 20_000, "Bearer x y", "Basic", "Basic !", "Basic eDp4", "Basic " + "eDp4" * 4000,
          "Negotiate x", "Bearer \x00", "Bearer {token}x", "bearer{token}", "Basic {token}")


def both(attack):
    """The attack on both forms at once: (port, short)."""
    def attacks(ground, short):
        with concurrent.futures.ThreadPoolExecutor(2) as crew:
            list(crew.map(lambda port: attack(port, short), (ground.page, ground.page_tls)))
    attacks.__name__ = attack.__name__
    return attacks


@both
def page_names(port, _short):
    # Where others reach it a numeric address may be its own.
    foreign = () if port.token else ("10.1.2.3",)
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::1", "a" * 10_000, "\x00", *foreign):
        status, body = port.request("GET", "/ui/data/groups", Host=host)
        expect(status in (400, 421, 431), f"Host {host[:40]!r}: {status}")
        expect(b"quotas" not in body, f"Host {host[:40]!r} was told of the cluster")
    for name, value in (("Origin", "http://evil.example"), ("Origin", "null"), ("Origin", "x" * 5000), ("Sec_Fetch_Site", "cross-site"), ("Sec_Fetch_Site", "same-site")):
        status, body = port.request("GET", "/ui/data/groups", **{name: value})
        expect(status == 403, f"{name} {value[:40]}: {status}")
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "X" * 100):
        status, _ = port.request(method, "/ui/data/groups")
        expect(status in (400, 405), f"{method[:20]}: {status}")
    for path in SECRETS:
        status, body = port.request("GET", path)
        expect(status in (400, 404, 414, 431), f"{path[:60]}: {status} {body[:80]!r}")


def page_tokens(ground, _short):
    """Who shows no token that is one is told nothing, and one more that is none changes nothing for who has one."""
    port = ground.page_tls
    for path in ("/ui/", "/ui/page.js", "/ui/data/groups", "/ui/data/stream", "/ui/data/what-if", "/ui/nothing"):
        first = f"POST {path} HTTP/1.1\r\nContent-Type: application/yaml\r\nContent-Length: 0" if path.endswith("what-if") else f"GET {path} HTTP/1.1"
        for shown in TOKENS:
            line = f"Authorization: {shown.replace('{token}', port.token)}\r\n" if shown else ""
            with port.connect() as connection:
                connection.sendall(f"{first}\r\nHost: 127.0.0.1:{port.number}\r\nConnection: close\r\n{line}\r\n".encode())
                status, body = parse_answer(read_all(connection))
            expect(status in (400, 401, 431), f"{path} with {shown[:20]!r}: {status}")
            expect(len(body) < 500 and b"quotas" not in body, f"{path} with {shown[:20]!r} was told {body[:80]!r}")
    with port.connect(tls=False) as connection:  # plain HTTP is not spoken there
        connection.sendall(b"GET /ui/ HTTP/1.1\r\n" + port.headers() + b"\r\n")
        expect(b"HTTP/1.1 200" not in read_all(connection), "the page is told without TLS")
    expect(port.request("GET", "/ui/data/groups")[0] == 200, "who has a token is not answered")


@both
def page_readers(port, short):
    """As many streams as there may be, of which nobody reads; one more is told no, and they are gone after a while."""
    readers = []
    before = rss_mib(port.pid)
    head = b"GET /ui/data/stream HTTP/1.1\r\n" + port.headers() + b"\r\n"
    try:
        for _ in range(STREAMS):
            readers.append(port.connect())
            readers[-1].sendall(head)
            expect(b" 200 " in readers[-1].recv(12) + b" ", "a stream was refused before there were as many as may be")
        status, _ = port.request("GET", "/ui/data/stream")
        expect(status == 503, f"one stream more than may be: {status}")
        end = time.monotonic() + (3 if short else 30)
        while time.monotonic() < end:
            began = time.monotonic()
            expect(port.request("GET", "/ui/data/groups")[0] == 200, "others are not answered while nobody reads")
            # How long somebody else waits at most is the prober's business, which knows how late the machine is.
            expect(time.monotonic() - began < CEILING, "others wait for who does not read")
            expect(rss_mib(port.pid) - before < KEPT_MIB, f"{rss_mib(port.pid) - before:.0f} MiB are kept for who does not read")
            time.sleep(0.2)
    finally:
        for reader in readers:
            reader.close()
    end = time.monotonic() + CEILING
    while True:
        with port.connect() as reader:
            reader.sendall(head)
            if b" 200" in reader.recv(12) + b" ":
                return
        expect(time.monotonic() < end, "the places of readers that are gone are not free")
        time.sleep(0.2)


@both
def page_pods(port, short):
    for pod in PODS:
        status, body = port.request("POST", "/ui/data/what-if", pod, Content_Type="application/yaml")
        expect(status in (200, 400, 413, 429), f"{pod[:40]!r}: {status} {body[:100]!r}")
    status, _ = port.request("POST", "/ui/data/what-if", b"x" * (257 << 10), Content_Type="application/yaml")
    expect(status == 413, f"a pod of 257 KiB: {status}")
    pod, said = b"kind: Pod\nspec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1}}}]}", []

    def paste():
        for _ in range(3 if short else 8):  # two seconds lie between two that are answered
            said.append(port.request("POST", "/ui/data/what-if", pod, timeout=3 * CEILING, Content_Type="application/yaml")[0])

    crowd = [threading.Thread(target=paste) for _ in range(16)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    expect(set(said) <= {200, 429}, f"16 who paste pods in at once: {sorted(set(said))}")
    expect(200 in said, "none of those who paste pods in was answered")


ATTACKS = [page_names, page_tokens, page_readers, page_pods]
