"""koord_VERSION_ARCHITECTURE.oci.tar: an image of the static program for all roles, as `ctr images import` and `docker load` take
it, made without a daemon. The same program, certificates, zones and SOURCE_DATE_EPOCH give the same digest.

Its one layer has two configurations: koord:VERSION, also koord:latest, whose processes are root's unless a pod says otherwise, as the node's roles need,
and koord:VERSION-nonroot for the roles that need nothing of a machine."""
import gzip
import hashlib
import io
import json
import os
import tarfile
import time

import layout

USER = 65532  # as packaging/manifests have it
REPOSITORY = "docker.io/library/koord"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
ZONES = "/usr/share/zoneinfo"
FOLDERS = ("dev", "etc", "etc/ssl", "etc/ssl/certs", "proc", "sys", "usr", "usr/share", "usr/share/doc", "usr/share/doc/koord", ZONES.lstrip("/"), "var",
           "var/log", "var/run")
FILES = {
    "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nkoord:x:{USER}:{USER}:koord:/:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nkoord:x:{USER}:\n",
}
# The program's other names; those of roles are Koordinator's, with which its chart calls them. One is no role's.
NAMES = ("koordlet", "koord-manager", "koord-scheduler", "koord-descheduler", "koord-runtime-proxy", "koord-device-daemon", "kubectl-koord")
OCI = "application/vnd.oci.image"


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Layer:
    """A tar whose bytes come of what is added to it, in that order, alone."""

    def __init__(self, epoch):
        self.epoch, self.bytes = epoch, io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.USTAR_FORMAT)

    def entry(self, path, kind, mode, target="", content=b""):
        info = tarfile.TarInfo(path)
        info.type, info.mode, info.mtime, info.linkname, info.size = kind, mode, self.epoch, target, len(content)
        self.tar.addfile(info, io.BytesIO(content))

    def zones(self):
        """Each zone once; the other names of it are links."""
        first = {}
        for at, folders, files in sorted(os.walk(ZONES)):
            folders[:] = [name for name in folders if name not in ("posix", "right")]
            inside = at.lstrip("/")
            if at != ZONES:
                self.entry(inside, tarfile.DIRTYPE, 0o755)
            for name in sorted(files):
                with open(os.path.join(at, name), "rb") as file:
                    content = file.read()
                if not content.startswith(b"TZif"):
                    continue
                known = first.setdefault(content, f"{inside}/{name}")
                if known == f"{inside}/{name}":
                    self.entry(known, tarfile.REGTYPE, 0o644, content=content)
                else:
                    self.entry(f"{inside}/{name}", tarfile.LNKTYPE, 0o644, target=known)

    def done(self):
        self.tar.close()
        return self.bytes.getvalue()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def layer_of(stage):
    layer = Layer(stage.epoch)
    layer.entry("tmp", tarfile.DIRTYPE, 0o1777)
    for path in FOLDERS:
        layer.entry(path, tarfile.DIRTYPE, 0o755)
    for path, text in FILES.items():
        layer.entry(path, tarfile.REGTYPE, 0o644, content=text.encode())
    layer.entry(CERTIFICATES.lstrip("/"), tarfile.REGTYPE, 0o644, content=read(CERTIFICATES))
    layer.zones()
    layer.entry("usr/share/doc/koord/LICENSE", tarfile.REGTYPE, 0o644, content=read(os.path.join(layout.TREE, "LICENSE")))
    layer.entry("usr/share/doc/koord/libraries.gz", tarfile.REGTYPE, 0o644, content=gzip.compress(layout.notices(stage.build).encode(), 9, mtime=0))
    layer.entry("koord", tarfile.REGTYPE, 0o755, content=read(stage.program))
    for name in NAMES:
        layer.entry(name, tarfile.SYMTYPE, 0o777, target="koord")
    return layer.done()


def build(stage, version, out):
    """Returns the path of the archive."""
    blobs, architecture = {}, stage.build.architecture

    def blob(kind, data, **more):
        if not isinstance(data, bytes):
            data = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
        blobs[f"blobs/sha256/{digest(data)}"] = data
        return {"mediaType": f"{OCI}.{kind}", "digest": f"sha256:{digest(data)}", "size": len(data), **more}

    plain = layer_of(stage)
    packed = blob("layer.v1.tar+gzip", gzip.compress(plain, 6, mtime=0))
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(stage.epoch))
    labels = {"org.opencontainers.image.title": "koord", "org.opencontainers.image.version": version,
              "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.description": layout.SUMMARY}
    manifests, saved = [], []
    for tags, user in (((version, "latest"), "0"), ((f"{version}-nonroot",), f"{USER}:{USER}")):
        config = blob("config.v1+json", {
            "architecture": architecture, "os": "linux", "created": created, "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(plain)}"]},
            "config": {"User": user, "Entrypoint": ["/koord"], "WorkingDir": "/", "Env": ["PATH=/"], "Labels": labels},
            "history": [{"created": created, "created_by": "packaging/dev package image"}]})
        manifest = blob("manifest.v1+json", {"schemaVersion": 2, "mediaType": f"{OCI}.manifest.v1+json", "config": config, "layers": [packed]},
                        platform={"architecture": architecture, "os": "linux"})
        manifests += [{**manifest, "annotations": {"io.containerd.image.name": f"{REPOSITORY}:{tag}", "org.opencontainers.image.ref.name": tag}}
                      for tag in tags]
        saved.append({"Config": f"blobs/sha256/{config['digest'][7:]}", "RepoTags": [f"{REPOSITORY}:{tag}" for tag in tags],
                      "Layers": [f"blobs/sha256/{packed['digest'][7:]}"]})
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": json.dumps({"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": manifests}).encode(),
             "manifest.json": json.dumps(saved).encode(), **blobs}
    archive = Layer(stage.epoch)
    for path, data in files.items():
        archive.entry(path, tarfile.REGTYPE, 0o644, content=data)
    path = os.path.join(out, f"koord_{version}_{architecture}.oci.tar")
    with open(path, "wb") as file:
        file.write(archive.done())
    for manifest in manifests:
        print(f"package: {manifest['annotations']['io.containerd.image.name']}@{manifest['digest']}")
    return path
