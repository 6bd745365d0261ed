"""A small client of the kubelet's streams: a WebSocket whose messages begin with the number of a channel."""
import base64
import os
import socket
import struct
import urllib.parse


class Stream:
    """`with Stream(url) as stream: stream.send(0, data); for channel, data in stream: ...`"""

    def __init__(self, url, protocol="v4.channel.k8s.io"):
        url = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((url.hostname, url.port), timeout=30)
        target = url.path + ("?" + url.query if url.query else "")
        self.socket.sendall((f"GET {target} HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                             f"Origin: http://{url.netloc}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                             f"{base64.b64encode(os.urandom(16)).decode()}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        first = self.file.readline().decode()
        assert " 101 " in first, f"{url.path}: {first}{self.file.read(500)}"
        while self.file.readline().strip():
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, channel, data):
        payload, mask = bytes([channel]) + data, os.urandom(4)
        assert len(payload) < 65536
        head = bytes([0x82]) + (bytes([0x80 | len(payload)]) if len(payload) < 126
                                else bytes([0xfe]) + struct.pack(">H", len(payload)))
        self.socket.sendall(head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)))

    def __iter__(self):
        while True:
            head = self.file.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                return
            length = head[1] & 127
            if length > 125:
                length = struct.unpack(">H" if length == 126 else ">Q", self.file.read(2 if length == 126 else 8))[0]
            data = self.file.read(length)
            if data and head[0] & 15 in (1, 2):
                yield data[0], data[1:]
