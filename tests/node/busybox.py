"""The static busybox that images and the virtual machine are made of."""
import shutil


def missing():
    path = shutil.which("busybox")
    if path is None:
        return "busybox is missing: run packaging/dev deps"
    with open(path, "rb") as file:
        if b"/ld-linux" in file.read(8192):
            return f"{path} is not static: install busybox-static"
    return None


def content():
    with open(shutil.which("busybox"), "rb") as file:
        return file.read()
