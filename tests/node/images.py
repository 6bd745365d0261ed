"""Container images made by hand: one layer with a static busybox, as an archive for `ctr images import` or in a registry."""
import hashlib
import http.client
import io
import json
import tarfile

import busybox

APPLETS = ("sh", "sleep", "cat", "yes", "dd")


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Image:
    """`programs`: files of the machine by their names in the image; `files`: texts by theirs; `user`: whose processes are."""

    def __init__(self, entrypoint, programs=None, files=None, applets=APPLETS, user=""):
        self.layer = self.pack(programs or {}, files or {}, applets)
        config = {"Entrypoint": entrypoint, "Env": ["PATH=/bin"], **({"User": user} if user else {})}
        self.config = json.dumps({"architecture": "amd64", "os": "linux", "config": config,
                                  "rootfs": {"type": "layers", "diff_ids": [digest(self.layer)]}}).encode()

    @staticmethod
    def pack(programs, files, applets):
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as tar:
            for folder in ("bin", "etc", "proc", "sys", "dev", "tmp"):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
                tar.addfile(entry)
            content = busybox.content()
            for name, data, mode in (("bin/busybox", content, 0o755), *((n, t.encode(), 0o644) for n, t in files.items())):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), mode
                tar.addfile(entry, io.BytesIO(data))
            for where, source in programs.items():
                tar.add(source, where)
            for applet in applets:
                link = tarfile.TarInfo(f"bin/{applet}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
        return layer.getvalue()

    def archive(self, path, *names):
        """As `docker save` writes one."""
        manifest = json.dumps([{"Config": "config.json", "RepoTags": names, "Layers": ["layer.tar"]}]).encode()
        with tarfile.open(path, "w") as tar:
            for file, data in (("manifest.json", manifest), ("config.json", self.config), ("layer.tar", self.layer)):
                entry = tarfile.TarInfo(file)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))

    def push(self, port, repository, *tags):
        """To a registry on loopback. Returns the manifest's digest."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(method, path, wanted, body=b"", kind="application/octet-stream"):
            connection.request(method, path, body, {"Content-Type": kind, "Content-Length": str(len(body))})
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status == wanted, f"{method} {path}: {answer.status} {said}"
            return answer

        kinds = "application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.container.image.v1+json", \
            "application/vnd.docker.image.rootfs.diff.tar"
        for blob in (self.layer, self.config):
            where = ask("POST", f"/v2/{repository}/blobs/uploads/", 202).headers["Location"]
            where = where.split(f"127.0.0.1:{port}", 1)[-1]
            ask("PUT", f"{where}{'&' if '?' in where else '?'}digest={digest(blob)}", 201, blob)
        described = [{"mediaType": kind, "size": len(blob), "digest": digest(blob)}
                     for kind, blob in zip(kinds[1:], (self.config, self.layer))]
        manifest = json.dumps({"schemaVersion": 2, "mediaType": kinds[0], "config": described[0],
                               "layers": described[1:]}).encode()
        for tag in tags:
            ask("PUT", f"/v2/{repository}/manifests/{tag}", 201, manifest, kinds[0])
        connection.close()
        return digest(manifest)
