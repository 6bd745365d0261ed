"""Requests that two parsers would read differently, or none at all."""
import re

from ground import CEILING, expect, parse_answer, read_all

STATUS_LINE = re.compile(rb"HTTP/1\.1 (\d{3}) ")
REFUSED = (400, 403, 404, 405, 408, 411, 413, 414, 415, 417, 431, 501, 505)


def cases(port):
    host = f"Host: 127.0.0.1:{port.number}\r\n".encode()
    auth = f"Authorization: Bearer {port.token}\r\n".encode() if port.token else b""
    post = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\n" + host + auth
    get = b"GET " + port.probe.encode() + b" HTTP/1.1\r\n"
    behind = get + host + auth + b"Connection: close\r\n\r\n"  # what a smuggler hides in a body
    yield "transfer-encoding-gzip", post + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + behind
    yield "transfer-encoding-identity", post + b"Transfer-Encoding: identity\r\n\r\n" + behind
    yield "transfer-encoding-twice", post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + behind
    yield "transfer-encoding-xchunked", post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + behind
    yield "two-hosts", get + host + host + auth + b"\r\n"
    yield "no-host", get + auth + b"\r\n"
    yield "empty-line-of-header", get + host + b": x\r\n\r\n"
    yield "blank-in-header-name", get + host + b"X Y: x\r\n\r\n"
    yield "blank-before-colon", get + b"Host : x\r\n\r\n"
    yield "nul-in-header", get + host + b"X: a\x00b\r\n\r\n"
    yield "lengths-differ", post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "
    yield "length-signed", post + b"Content-Length: +2\r\n\r\n{}"
    yield "length-negative", post + b"Content-Length: -1\r\n\r\n"
    yield "length-hex", post + b"Content-Length: 0x2\r\n\r\n{}"
    yield "length-enormous", post + b"Content-Length: 99999999999999999999\r\n\r\n{}"
    yield "length-beyond-limit", post + b"Content-Length: 9999999999\r\n\r\n{}"
    yield "chunk-overflow", post + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"
    yield "chunk-negative", post + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n"
    yield "chunk-extension-bomb", post + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"x" * 200000 + b"\r\n{}\r\n0\r\n\r\n"
    yield "chunk-quote-open", post + b"Transfer-Encoding: chunked\r\n\r\n2;a=\"b\r\n{}\r\n0\r\n\r\n" + behind
    yield "trailer-bomb", post + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 50000 + b"\r\n"
    yield "header-flood", get + host + b"X: y\r\n" * 50000 + b"\r\n"
    yield "header-of-a-megabyte", get + host + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n"
    yield "target-of-a-megabyte", b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n" + host + b"\r\n"
    yield "http2-preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield "http-version-9", b"GET / HTTP/9.9\r\n" + host + b"\r\n"
    yield "garbage", bytes(range(256)) * 64


def judge(port, name, data):
    with port.connect() as connection:
        try:
            connection.sendall(data)
        except OSError:
            pass  # it has refused and closed already
        connection.settimeout(CEILING)
        answer = read_all(connection)
    status, _ = parse_answer(answer)
    expect(status == 0 or status in REFUSED or status == 401, f"{port.name}: {name}: answered {status}")
    answers = STATUS_LINE.findall(answer)
    expect(len(answers) <= 1, f"{port.name}: {name}: answers {answers} to one request")


def framing(ground, short):
    failures = []
    for port in ground.ports:
        for name, data in cases(port):
            try:
                judge(port, name, data)
            except AssertionError as error:
                failures.append(str(error))
    expect(not failures, "; ".join(failures))


def both_lengths(ground, short):
    """A length beside chunks: the chunks count, or it is refused; never two answers."""
    for port in ground.ports:
        hidden = f"GET {port.probe} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        body = b"0\r\n\r\n" + hidden
        with port.connect() as connection:
            connection.sendall(b"POST /nowhere HTTP/1.1\r\n" + port.headers(Content_Length=len(body), Transfer_Encoding="chunked") +
                               b"\r\n" + body)
            connection.settimeout(1)
            answer = read_all(connection)
        statuses = STATUS_LINE.findall(answer)
        expect(len(statuses) <= 1 or statuses[0] != b"400", f"{port.name}: read on behind a refused request")


def cut(ground, short):
    """A request that ends after each of its bytes."""
    for port in ground.ports:
        whole = b"POST /nowhere HTTP/1.1\r\n" + port.headers(Transfer_Encoding="chunked") + b"\r\n2\r\n{}\r\n0\r\n\r\n"
        for end in range(0, len(whole), 40 if short else 1):
            with port.connect() as connection:
                connection.sendall(whole[:end])


def wrong_protocol(ground, short):
    """Plain HTTP to a TLS port and the other way round, and records that are no TLS."""
    hello = b"\x16\x03\x01\xff\xff\x01" + b"\x00" * 65535
    for port in ground.ports:
        for data in (hello, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" if port.context else hello[:1000], b"\x80" * 5000):
            with port.connect(tls=False) as connection:
                try:
                    connection.sendall(data)
                    connection.settimeout(0.3)
                except OSError:
                    pass
                status, _ = parse_answer(read_all(connection))
                expect(status in (0, *REFUSED), f"{port.name}: garbage was answered with {status}")


ATTACKS = [framing, both_lengths, cut, wrong_protocol]
