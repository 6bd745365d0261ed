"""A way to an API server on loopback that refuses what a test names, as a ClusterRole does that lost a rule, tells it late, or
ends at a moment that a test chooses."""
import http.client
import http.server
import json
import threading

import kube_api
from stub_api import Server, write_kubeconfig


class RefusingProxy:
    """Used as a context manager; `kubeconfig` leads through it, with the rights of the one that it was made of."""

    def __init__(self, kubeconfig, folder):
        self.api = kube_api.Api(kubeconfig)
        self.refused, self.watches, self.lock = {}, set(), threading.Lock()
        self.held, self.released = set(), threading.Event()
        # Asked (method, path, "before" or "after") around each request but watches; true: nothing more comes of this one.
        self.breaks_off = lambda *_: False
        self.server = Server(("127.0.0.1", 0), self.handler())
        self.kubeconfig = f"{folder}/proxy-kubeconfig"
        write_kubeconfig(self.kubeconfig, self.server.server_port)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        with self.lock:
            self.refused[""] = 503
        self.release()
        self.cut("")
        self.server.shutdown()
        self.server.server_close()

    def refuse(self, resource, status=403):
        """Reads of a resource, by its plural, from now on; watches that run end."""
        with self.lock:
            self.refused[f"/{resource}"] = status
        self.cut(f"/{resource}")

    def allow(self, resource):
        with self.lock:
            del self.refused[f"/{resource}"]

    def hold(self, resource):
        """Watches of a resource that run now tell nothing more until release(); those that begin later do."""
        self.released.clear()
        with self.lock:
            self.held |= {entry for entry in self.watches if entry[0].endswith(f"/{resource}")}
            return len(self.held)

    def release(self):
        with self.lock:
            self.held.clear()
        self.released.set()

    def cut(self, part):
        with self.lock:
            watches = [one for path, one in self.watches if part in path]
        for one in watches:
            kube_api.wake_reader(one)

    def handler(self):
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, data):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def pass_on(self):
                path = self.path.partition("?")[0]
                with proxy.lock:
                    refused = next((code for part, code in proxy.refused.items() if path.endswith(part) and self.command == "GET"), 0)
                if refused:
                    return self.answer(refused, json.dumps({
                        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": refused,
                        "reason": {403: "Forbidden", 404: "NotFound"}.get(refused, "InternalError"),
                        "message": f"the proxy refuses {path}"}).encode())
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
                watches = "watch=" in self.path
                if not watches and proxy.breaks_off(self.command, path, "before"):
                    self.close_connection = True
                    return None
                behind = http.client.HTTPSConnection(proxy.api.host, proxy.api.port, context=proxy.api.context, timeout=700)
                headers = {name: self.headers[name] for name in ("Content-Type", "Accept", "User-Agent") if name in self.headers}
                behind.request(self.command, self.path, body, {**headers, "Authorization": f"Bearer {proxy.api.token}"})
                answer = behind.getresponse()
                if not watches or answer.status != 200:
                    data = answer.read()
                    if not watches and proxy.breaks_off(self.command, path, "after"):
                        self.close_connection = True
                    else:
                        self.answer(answer.status, data)
                    return behind.close()
                entry = (path, behind)
                with proxy.lock:
                    proxy.watches.add(entry)
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    while data := answer.read1(65536):
                        if entry in proxy.held:
                            proxy.released.wait()
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                        self.wfile.flush()
                    self.wfile.write(b"0\r\n\r\n")
                except (OSError, http.client.HTTPException):
                    self.close_connection = True
                with proxy.lock:
                    proxy.watches.discard(entry)
                return behind.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

        return Handler
