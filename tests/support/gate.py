"""A gate before a server on loopback: while it is shut nobody listens and every connection is cut, as when it restarts."""
import socket
import threading


class Gate:
    def __init__(self, port):
        self.behind, self.open_pairs, self.lock = port, set(), threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, args=(self.listener,), daemon=True).start()

    def serve(self, listener):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.behind))
            with self.lock:
                self.open_pairs.add((near, far))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def pass_on(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        Gate.cut(one, other)

    @staticmethod
    def cut(*sockets):
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def shut(self):
        self.cut(self.listener)
        self.listener.close()
        with self.lock:
            pairs, self.open_pairs = self.open_pairs, set()
        for pair in pairs:
            self.cut(*pair)

    def open(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.serve, args=(self.listener,), daemon=True).start()
