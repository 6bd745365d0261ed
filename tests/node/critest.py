"""critest itself, whose executable CRITEST names, on a stage: its images by their own names, made by hand and kept in the stage's
registry, its specs in parts that run beside each other, and what each of them said. Two specs fail everywhere: an image is asked
for by the digest of its publisher's, and MaskedPaths hides an ls that busybox's sh has in itself."""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile

from cri.client import Cri
from images import Image
from janitor import skip

PARTS, PART_SECONDS = 6, 1200
REGISTRIES = ("registry.k8s.io", "k8s.gcr.io", "gcr.io")
PLACE, E2E = "k8s-staging-cri-tools", "e2e-test-images"
FILES = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\nwww-data:x:33:33::/:/bin/sh\n"
                       "default-user:x:1000:1000::/:/bin/sh\n",
         "etc/group": "root:x:0:\nnobody:x:65534:\ndefault-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n"}
# A process called nginx, its id in a file, "master process" in its command, a page on the port, a word in its log.
WEB_SERVER = """#!/bin/sh
echo $$ > /var/run/nginx.pid
echo httpd
httpd -f -p {port} -h /www &
wait
"""
# What Debian's busybox lacks of upstream's.
SCRIPTS = {"pgrep": 'for one in /proc/[0-9]*; do [ "$(cat $one/comm 2>/dev/null)" = "$1" ] && echo ${one#/proc/}; done; true',
           "ipcs": "cat /proc/sysvipc/shm"}
# busybox's own, set-user-id, complains where it has not become root.
EFFECTIVE_USER = """#!/bin/sh
if /suid/crontab -l 2>&1 | grep -q suid; then echo "Effective uid: $(id -u)"; else echo "Effective uid: 0"; fi
"""
Said = collections.namedtuple("Said", "state why")


def program():
    path = os.environ.get("CRITEST")
    if path and not os.access(path, os.X_OK):
        skip(f"CRITEST names {path}, which is no executable")
    return path


def name_of(report):
    return " ".join([*report["ContainerHierarchyTexts"], report["LeafNodeText"]])


def is_serial(report):
    return "Serial" in sum([labels or [] for labels in report["ContainerHierarchyLabels"]], report["LeafNodeLabels"] or [])


def why(report):
    failures = [report.get("Failure"), *(more["Failure"] for more in report.get("AdditionalFailures") or ())]
    return " | ".join(failure["Message"] for failure in failures if failure)


def count(said):
    """In words."""
    states = collections.Counter(one.state for one in said.values())
    return ", ".join(f"{number} {state}" for state, number in sorted(states.items()))


class Critest:
    """On a CriStage. `run` may be called again and again; nobody else asks the stage's runtime meanwhile."""

    def __init__(self, stage, path):
        if "port" not in stage.place:
            skip("critest pulls: docker-registry is missing, run packaging/dev deps")
        self.stage, self.path = stage, path
        self.folder = os.path.join(stage.dir, "critest")
        os.mkdir(self.folder)
        for registry in REGISTRIES:
            folder = os.path.join(stage.dir, "registries", registry)
            os.makedirs(folder)
            with open(os.path.join(folder, "hosts.toml"), "w", encoding="utf-8") as file:
                file.write(f'[host."http://127.0.0.1:{stage.place["port"]}"]\n  capabilities = ["pull", "resolve"]\n')
        self.push_images()
        self.specs = self.list_specs()
        self.alone = self.run(stage.socket)
        self.alone.update(self.run(stage.socket, {name for name, one in self.alone.items() if one.state == "failed"}))
        print(f"critest, containerd alone: {count(self.alone)}",
              *(f"{one.state}: {name}: {one.why[:200]}" for name, one in self.alone.items() if one.state != "passed"),
              sep="\n  ", flush=True)

    def push_images(self):
        applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
        applets = [name for name in applets if name not in ("busybox", "ls", *SCRIPTS)]
        busybox = shutil.which("busybox")
        programs = {"bin/ls": busybox,  # a file of its own: masked, it would be the shell, too
                    **{f"bin/{name}": self.script(name, f"#!/bin/sh\n{text}\n") for name, text in SCRIPTS.items()}}

        def push(repository, *tags, command=("/bin/sh",), user="", more=None):
            files = {**FILES, "etc/name": f"{repository} {tags}", "var/run/empty": "", "www/index.html": "here\n"}
            Image(list(command), programs={**programs, **(more or {})}, files=files, applets=applets, user=user).push(
                self.stage.place["port"], repository, *tags)

        push(f"{E2E}/busybox", "1.29-2")
        push("pause", "3.9")
        for name, tag in (("latest", "latest"), ("tag", "test"), ("tag", "all"), ("1", "latest"), ("2", "latest"), ("3", "latest")):
            push(f"{PLACE}/test-image-{name}", tag)
        push(f"{PLACE}/test-image-tags", "1", "2", "3")
        for name, user in (("user-uid", "1002"), ("user-username", "www-data"), ("user-uid-group", "1003:users"),
                           ("user-username-group", "www-data:100"), ("predefined-group", "1000")):
            push(f"{PLACE}/test-image-{name}", "latest", user=user)
        for repository, tag, port in ((f"{E2E}/nginx", "1.14-2", 80), (f"{E2E}/httpd", "2.4.39-4", 80),
                                      (f"{PLACE}/hostnet-nginx-amd64", "latest", 12003)):
            push(repository, tag, command=("/bin/nginx", "master process"),
                 more={"bin/nginx": self.script(f"nginx-{port}", WEB_SERVER.format(port=port))})
        suid = os.path.join(self.folder, "crontab")
        shutil.copyfile(busybox, suid)
        os.chmod(suid, 0o4755)
        push(f"{E2E}/nonewprivs", "1.3", command=("/bin/effective",),
             more={"bin/effective": self.script("effective", EFFECTIVE_USER), "suid/crontab": suid})

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def list_specs(self):
        """Name to whether beside it no other may run; but for benchmarks."""
        reports = self.end(*self.begin(self.stage.socket, None))
        return {name_of(report): is_serial(report) for report in reports if report["State"] == "passed"}

    def begin(self, socket, names):
        """A part: its process, and where its report will be."""
        place = tempfile.mkdtemp(dir=self.folder)
        flags = ["--ginkgo.dry-run"] if names is None else \
            ["--ginkgo.focus= (" + "|".join(re.escape(name) for name in names) + ")$", f"--nri-socket={self.stage.containerd.nri_socket}"]
        command = self.stage.entering(
            self.path, f"--runtime-endpoint=unix://{socket}", f"--image-endpoint=unix://{socket}", "--ginkgo.no-color",
            f"--ginkgo.json-report={place}/report.json", *flags)
        with open(os.path.join(place, "log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=place,
                                       env={**os.environ, "TMPDIR": place})
        self.stage.janitor.process(process.pid)
        return process, place

    def end(self, process, place):
        process.wait(PART_SECONDS)
        try:
            with open(os.path.join(place, "report.json"), encoding="utf-8") as file:
                return [report for report in json.load(file)[0]["SpecReports"] if report["LeafNodeType"] == "It"]
        except FileNotFoundError:
            with open(os.path.join(place, "log"), encoding="utf-8", errors="replace") as file:
                raise AssertionError(f"critest ended with {process.returncode} and no report:\n{file.read()[-3000:]}") from None

    def run(self, socket, names=None):
        """Name to what was said: every spec, or those of these names."""
        chosen = [name for name in self.specs if names is None or name in names]
        beside = [name for name in chosen if not self.specs[name]]
        said = {}
        rounds = [[beside[part::PARTS] for part in range(PARTS)], [[name for name in chosen if self.specs[name]]]]
        for parts in rounds:
            begun = [self.begin(socket, part) for part in parts if part]
            for process, place in begun:
                # A spec that nobody asked for is skipped, too, but without a reason.
                said.update({name_of(report): Said(report["State"], why(report)) for report in self.end(process, place)
                             if report["State"] != "skipped" or why(report)})
        return {name: said.get(name, Said("not run", "")) for name in chosen}

    def run_each(self, socket, before):
        """The same with a process for each spec, as many at once, which begins when `before` has returned: the specs of one fail
        within a moment, one after the other, where nobody listens."""
        def one(name):
            before()
            return self.run(socket, {name})

        said = {}
        for serial, at_once in ((False, PARTS), (True, 1)):
            with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
                for found in pool.map(one, [name for name, alone in self.specs.items() if alone == serial]):
                    said.update(found)
        return said

    def bad(self, said):
        return {name: one.why for name, one in said.items() if one.state != "passed" and self.alone[name].state == "passed"}

    def worse(self, socket):
        """What containerd alone passes and the socket fails, twice, with why; and what was said the first time."""
        said = self.run(socket)
        bad = self.bad(said)
        return self.bad(self.run(socket, bad)) if bad else {}, said

    def pods(self):
        cri = Cri(self.stage.socket)
        try:
            return {pod.id for pod in cri.ListPodSandbox().items}
        finally:
            cri.close()

    def sweep(self, kept):
        """Pods that a broken connection left go."""
        cri = Cri(self.stage.socket)
        try:
            for pod in self.pods() - kept:
                cri.StopPodSandbox(pod_sandbox_id=pod)
                cri.RemovePodSandbox(pod_sandbox_id=pod)
        finally:
            cri.close()
