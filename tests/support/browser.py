"""A headless Chromium, driven over its DevTools protocol: what the page's test clicks, types and looks at."""
import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

PROGRAM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None) or \
    next((path for path in ("/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/headless_shell") if os.path.exists(path)), None)
SECONDS = 60  # that anything here may take


class WebSocket:
    """One connection, text messages alone."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.more()
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        assert b" 101 " in head.split(b"\r\n")[0], head

    def more(self):
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise ConnectionError("the browser has closed the connection")
        self.data += piece

    def take(self, count):
        while len(self.data) < count:
            self.more()
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big") if len(data) < 1 << 16 else \
            b"\xff" + len(data).to_bytes(8, "big")
        self.socket.sendall(b"\x81" + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, size = self.take(2)
            if size == 126:
                size = int.from_bytes(self.take(2), "big")
            elif size == 127:
                size = int.from_bytes(self.take(8), "big")
            data = self.take(size)
            if first & 0xf in (0, 1):
                text += data
                if first & 0x80:
                    return text.decode()


class Browser:
    """One tab. `complaints` are what its console calls errors, exceptions and refused loads."""

    def __init__(self):
        assert PROGRAM, "no Chromium: packaging/dev deps installs chromium-headless-shell"
        self.folder = tempfile.mkdtemp(prefix="koord-browser.")
        self.complaints, self.asked, self.number = [], [], 0
        # As root in a container it has no sandbox of its own; it looks at nothing but our own server.
        self.child = subprocess.Popen([PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                                       "--remote-debugging-port=0", f"--user-data-dir={self.folder}", "--window-size=1200,900", "about:blank"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            path, end = os.path.join(self.folder, "DevToolsActivePort"), time.monotonic() + SECONDS
            while not (os.path.exists(path) and open(path, encoding="ascii").read().count("\n") == 1):
                assert self.child.poll() is None and time.monotonic() < end, "Chromium did not start"
                time.sleep(0.05)
            port = int(open(path, encoding="ascii").readline())
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=SECONDS) as answer:
                tab = next(each for each in json.load(answer) if each["type"] == "page")
            self.socket = WebSocket(port, tab["webSocketDebuggerUrl"].partition(f":{port}")[2])
            for domain in ("Runtime", "Page", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        # Debian's program is a script that starts another: all of its session go.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.hear(message)

    def hear(self, message):
        what, told = message.get("method"), message.get("params", {})
        if what == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.complaints.append(f"{details['text']} {details.get('exception', {}).get('description', '')}")
        elif what == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(each.get("value", each.get("description"))) for each in told["args"]))
        elif what == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif what == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise's too."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, f"{expression}: {result['exceptionDetails']}"
        return result["result"].get("value")

    def wait(self, what, expression):
        """Until the expression is true; its value."""
        end = time.monotonic() + SECONDS
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            assert time.monotonic() < end, f"{what} did not come: {self.evaluate('document.body.innerText')[:2000]}; {self.complaints}"
            time.sleep(0.1)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("the page", "document.readyState === 'complete'")

    def click(self, selector):
        """A mouse's click in the middle of an element, or of its first line."""
        x, y = self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}}); "
                             "const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.click_at(x, y)

    def click_at(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def key(self, name):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode={"Enter": 13, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}[name])

    def scheme(self, name):
        """`light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, width=1100, height=760):
        """PNG of what is seen."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        time.sleep(0.5)  # charts follow their size
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", optimizeForSpeed=False)["data"])
