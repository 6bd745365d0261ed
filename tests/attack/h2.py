"""HTTP/2 as far as an attack needs it: frames by hand, one gRPC call with one message."""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 1, 1, 4, 8, 32


def frame(kind, flags=0, stream=0, data=b"", length=None):
    """`length`: what the frame says, where that is not the truth."""
    size = len(data) if length is None else length
    return struct.pack(">I", size)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data


def field(name, value):
    """A header of HPACK that is no entry of any table, without Huffman."""
    def text(data):
        return bytes([len(data)]) + data if len(data) < 127 else bytes([127]) + number(len(data) - 127) + data
    return b"\x00" + text(name) + text(value)


def number(rest):
    out = bytearray()
    while rest >= 128:
        out.append(rest % 128 + 128)
        rest //= 128
    return bytes(out + bytes([rest]))


def request_fields(path, *more):
    return b"".join(field(name, value) for name, value in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", path.encode()), (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers"), *more))


def opening():
    return PREFACE + frame(SETTINGS)


def call(path, stream=1, message=b"", end=True, fields=()):
    body = b"\x00" + struct.pack(">I", len(message)) + message
    return frame(HEADERS, END_HEADERS, stream, request_fields(path, *fields)) + frame(DATA, END_STREAM if end else 0, stream, body)


def frames(connection):
    """Each frame that comes, as (kind, flags, stream, data), until the other side closes."""
    buffer = b""
    while True:
        while len(buffer) < 9 or len(buffer) < 9 + int.from_bytes(buffer[:3], "big"):
            piece = connection.recv(65536)
            if not piece:
                return
            buffer += piece
        size = int.from_bytes(buffer[:3], "big")
        yield buffer[3], buffer[4], int.from_bytes(buffer[5:9], "big"), buffer[9:9 + size]
        buffer = buffer[9 + size:]


def answered(path, method, timeout):
    """Whether a call over a connection of its own is answered with a message."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout)
        connection.connect(path)
        connection.sendall(opening() + call(method))
        for kind, flags, stream, data in frames(connection):
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK))
            if kind == DATA and stream == 1 and data:
                return True
            if stream == 1 and flags & END_STREAM:
                return False
    return False
