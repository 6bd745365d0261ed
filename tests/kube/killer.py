"""Ends a process at a moment that a test chooses: when it writes something, before or after that arrives."""
import threading


class Killer:
    """For RefusingProxy.breaks_off. `point`: the method, what the path must contain (a text, or several), and "before" or
    "after" the write arrives; the process dies when one like it comes for the n-th time."""

    def __init__(self, process, point, count):
        self.process, (self.method, parts, self.when), self.left = process, point, count
        self.parts = (parts,) if isinstance(parts, str) else parts
        self.lock, self.died = threading.Lock(), threading.Event()

    def is_meant(self, method, path, when):
        return (when, method) == (self.when, self.method) and all(part in path for part in self.parts)

    def __call__(self, method, path, when):
        concerns = self.is_meant(method, path, when)
        with self.lock:
            if self.died.is_set():
                return True
            self.left -= concerns
            if not concerns or self.left > 0:
                return False
            self.process.child.kill()
            self.process.child.wait()
            self.died.set()
            return True
