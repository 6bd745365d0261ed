"""The tests' own eyes on a container runtime: Debian's gRPC for Python, with the CRI as its owners define it."""
