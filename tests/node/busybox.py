"""The static busybox that images and the virtual machine are made of."""
import os
import shutil


def path():
    """This machine's; None: there is none."""
    return shutil.which("busybox")


def missing(program=path()):
    if program is None or not os.path.isfile(program):
        return f"{program or 'busybox'} is missing: run packaging/dev deps"
    with open(program, "rb") as file:
        if b"/ld-linux" in file.read(8192):
            return f"{program} is not static: install busybox-static"
    return None


def content():
    with open(path(), "rb") as file:
        return file.read()
