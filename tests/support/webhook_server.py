"""An admission webhook of a test's own, over TLS: what it does is in the path, what it was asked is kept."""
import base64
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading


def certificate(folder, name, *alternatives):
    """A self-signed certificate, which is its own CA, and its key: paths."""
    files = os.path.join(folder, f"{name}.crt"), os.path.join(folder, f"{name}.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={','.join(alternatives)}",
                    "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def add_label(review, key):
    """The patch that adds a label to what the review is about."""
    labels = review["request"]["object"]["metadata"].get("labels")
    if labels is None:
        return [{"op": "add", "path": "/metadata/labels", "value": {key: "yes"}}]
    return [{"op": "add", "path": f"/metadata/labels/{key}", "value": "yes"}]


def patched(operations, **more):
    text = operations if isinstance(operations, bytes) else json.dumps(operations).encode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(text).decode(), **more}


# By the path: what is answered, beside the uid. A path's rest is the argument.
ANSWERS = {
    "allow": lambda review, _: {"allowed": True},
    "deny": lambda review, rest: {"allowed": False, "status": {"message": rest or "not here"}},
    "deny-mute": lambda review, _: {"allowed": False},
    "deny-code": lambda review, rest: {"allowed": False, "status": {
        "code": int(rest), "reason": "Forbidden", "message": "no",
        "details": {"name": "n", "kind": "k", "causes": [{"reason": "r", "message": "m", "field": "f"}]}}},
    "deny-reason": lambda review, rest: {"allowed": False, "status": {"reason": rest, "code": 200, "status": "Success"}},
    "warn": lambda review, rest: {"allowed": True, "warnings": [rest, "say \"it\""]},
    "warn-deny": lambda review, rest: {"allowed": False, "warnings": [rest]},
    "label": lambda review, rest: patched(add_label(review, rest)),
    # Tells in a label how often it has seen its own label.
    "once": lambda review, rest: patched(add_label(review, rest if rest not in (
        review["request"]["object"]["metadata"].get("labels") or {}) else f"{rest}-again")),
    "patch": lambda review, rest: patched(json.loads(base64.urlsafe_b64decode(rest))),
    "patch-untyped": lambda review, _: {"allowed": True, "patch": base64.b64encode(b"[]").decode()},
    "type-alone": lambda review, _: {"allowed": True, "patchType": "JSONPatch"},
    "patch-other": lambda review, _: patched(add_label(review, "x"), patchType="Merge"),
    "patch-object": lambda review, _: patched(b"{}"),
    "patch-garbage": lambda review, _: patched(b"garbage"),
    "patch-base64": lambda review, _: {"allowed": True, "patchType": "JSONPatch", "patch": "!"},
    "patch-big": lambda review, _: patched([{"op": "add", "path": "/metadata/annotations",
                                            "value": {"big": "x" * (3 << 20)}}]),
    "wrong-uid": lambda review, _: {"uid": "other", "allowed": True},
    "wrong-type": lambda review, _: {"allowed": "yes"},
    "absent": lambda review, _: None,
}


def script(operations):
    """The path of a webhook that patches with these operations."""
    return f"/patch/{base64.urlsafe_b64encode(json.dumps(operations).encode()).decode()}"


class WebhookServer:
    """`url` and `ca` (PEM, base64) are for a configuration. `reviews` has (path, AdmissionReview) as they came."""

    def __init__(self, folder, *names):
        files = certificate(folder, "webhook", "IP:127.0.0.1", *[f"DNS:{name}" for name in names])
        with open(files[0], "rb") as file:
            self.ca = base64.b64encode(file.read()).decode()
        self.reviews, self.released = [], threading.Event()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                review = json.loads(body)
                path = self.path.split("?")[0]
                owner.reviews.append((path, review))
                owner.answer(self, path, review)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # those who go away meanwhile

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        self.http = Server(("127.0.0.1", 0), Handler)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.http.server_address[1]
        self.url = f"https://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, handler, path, review):
        what, _, rest = path.strip("/").partition("/")
        if what == "hang":
            self.released.wait(40)
            what = "close"
        if what == "close":
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        if what == "status":
            code, _, text = rest.partition("/")
            return self.send(handler, int(code), "text/plain", text.encode())
        if what == "raw":
            return self.send(handler, 200, "application/json", rest.encode())
        if what == "html":
            return self.send(handler, 200, "text/html", b"<html>")
        response = ANSWERS[what](review, rest)
        if response is not None:
            response = {"uid": review["request"]["uid"], **response}
        self.send(handler, 200, "application/json", json.dumps(
            {"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response}).encode())

    @staticmethod
    def send(handler, status, content_type, body):
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def close(self):
        self.released.set()
        self.http.shutdown()
        self.http.server_close()
