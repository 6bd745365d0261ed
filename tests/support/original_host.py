"""A host in one folder, for an original whose places are fixed (/sys, /dev, /host-var-lib): it is started there by chroot. Koord is told of the
same folder by flags."""
import os
import re
import shutil
import stat
import subprocess

BUSYBOX = "/bin/busybox"
NET_CLASS, ACCELERATOR = "0x020000", "0x120000"


def missing():
    """What such a host lacks here, or None."""
    if os.geteuid() != 0:
        return "only root changes its root"
    if not os.path.exists(BUSYBOX):
        return "busybox is missing: run packaging/dev deps"
    return None


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def add_busybox(root, *names):
    os.makedirs(os.path.join(root, "bin"), exist_ok=True)
    shutil.copy(BUSYBOX, os.path.join(root, "bin", "busybox"))
    for name in names:
        os.symlink("busybox", os.path.join(root, "bin", name))


def add_null(root):
    """Without /dev/null Go starts no program."""
    os.makedirs(os.path.join(root, "dev"), exist_ok=True)
    os.mknod(os.path.join(root, "dev/null"), stat.S_IFCHR | 0o666, os.makedev(1, 3))


def add_program(root, program):
    """With what it is linked with. Returns its path there."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True)
    for library in re.findall(r"(/\S+) \(0x", listed.stdout):
        os.makedirs(os.path.join(root, os.path.dirname(library)[1:]), exist_ok=True)
        shutil.copy(library, os.path.join(root, library[1:]))
    shutil.copy(program, os.path.join(root, "bin"))
    return f"/bin/{os.path.basename(program)}"


def add_pci_card(root, bus, vendor, product, kind, node, complex_="pci0000:3a", **files):
    """As sysfs has one: a link to where it is on the board. Returns that folder. The original goes by modalias, koord by the others."""
    place = os.path.join(root, "sys/devices", complex_, bus)
    alias = f"pci:v0000{vendor.upper()}d0000{product.upper()}sv00000000sd00000000bc{kind[2:4]}sc{kind[4:6]}i{kind[6:8]}"
    for name, text in {"vendor": f"0x{vendor}", "device": f"0x{product}", "class": kind, "modalias": alias, "numa_node": node, **files}.items():
        write(os.path.join(place, name), f"{text}\n")
    link = os.path.join(root, "sys/bus/pci/devices", bus)
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.symlink(f"../../../devices/{complex_}/{bus}", link)
    return place


def add_pci_names(root):
    """The original does not look at the bus without a database of names, however empty."""
    write(os.path.join(root, "usr/share/misc/pci.ids"), "ffff  Nobody\nC ff  Unassigned class\n")
