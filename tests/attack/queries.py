"""What is asked of /audit: by nobody in particular, and by who may ask, in words that are no questions."""
from ground import CEILING, Port, expect

HOSTILE = (
    "limit=0", "limit=-1", "limit=99999999999999999999", "limit=1e3", "limit=%00", "limit=1&limit=1", "since=x", "since=-1h",
    "since=9999999h", "since=0001-01-01T00:00:00Z", "since=9999-12-31T23:59:59Z", "continue=-1", "continue=18446744073709551616",
    "continue=x", "object=" + "a" * 60_000, "object=%ff%00%0a", "object=../../etc/passwd", "plugin=%22%7D%0a", "user=" + "%f0" * 5000,
    "wantedBy=" + "/" * 1000, "unknown=1", "=", "&&&&", "%", "limit", "&".join(["plugin=x"] * 5000), "&".join(f"a{i}=1" for i in range(5000)))
MOST = 4096  # bytes of an answer that says no


def audit_queries(ground, _short):
    [secure] = [port for _, ports in ground.roles.values() for port in ports if port.name == "descheduler-secure"]
    [webhook] = [port for _, ports in ground.roles.values() for port in ports if port.name == "webhook"]
    asks = Port("descheduler-secure", secure.number, secure.context, ground.api.token)
    for token in ("", "guessed", "x" * 10_000):
        status, body = Port(secure.name, secure.number, secure.context, token).request("GET", "/audit")
        expect(status in (401, 403, 431), f"/audit for the token {token[:8]!r}: {status} {body[:100]!r}")
    for port in (asks, webhook):
        expect(port.request("GET", "/audit")[0] == 200, f"{port.name}: /audit for who may ask")
        for query in HOSTILE:
            status, body = port.request("GET", f"/audit?{query}", timeout=CEILING)
            expect(status in (200, 400, 414, 431), f"{port.name}: /audit?{query[:60]}: {status}")
            expect(status == 200 or len(body) < MOST, f"{port.name}: /audit?{query[:60]}: {len(body)} bytes to say no")
        for method in ("POST", "DELETE", "PUT"):
            status, _ = port.request(method, "/audit")
            expect(status in (400, 403, 404, 405), f"{port.name}: {method} /audit: {status}")


ATTACKS = [audit_queries]
