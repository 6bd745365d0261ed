#!/usr/bin/env python3
"""Co-location as a loop that closes, on two simulated clusters side by side: the same nodes, services and batch work, once
with koord's manager and its profile for batch work, once without.

usage: demo.py [--once] [--day=SECONDS]

Nothing runs on the nodes: what services use is a day of a real trace, played fast; the API server, the scheduler and the
manager are the real ones. --once plays that day, prints the table and fails where the loop did not close. A day takes a
minute, or as long as --day says.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))

import kube_api  # noqa: E402
import sandbox  # noqa: E402

KOORD = os.environ.get("KOORD", os.path.join(TREE, "build", "koord"))
TRACE = os.path.join(TREE, "tests", "golden", "alibaba2018", "machine_usage.csv")
MANIFESTS = os.path.join(TREE, "packaging", "manifests")
CLASSES, WEBHOOKS = (os.path.join(MANIFESTS, name) for name in ("10-priority-classes.yaml", "50-webhooks.yaml"))
NODES, CPUS, MEMORY = 12, 16, "64Gi"
DAY = 86_400
LOOKS = 30  # a day
BATCH_CPU = "kubernetes.io/batch-cpu"
DEPLOYMENTS = "/apis/apps/v1/namespaces/demo/deployments"
START_SECONDS = 60
ROW = "{:>6}  {:>8} {:>8} {:>6}  {:>14} {:>8} {:>8} {:>8}   {:>8} {:>8}"
HEAD = ROW.format("trace", "services", "batch", "speed", "batch CPU lent", "running", "waiting", "evicted", "without:", "running")


def amount(text):
    """A quantity as a number."""
    for suffix, factor in (("m", 1e-3), ("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if text.endswith(suffix):
            return float(text[:-len(suffix)]) * factor
    return float(text)


class Cluster:
    """A `koord sandbox` with the demonstration's nodes and services."""

    started = []  # all of them, to be ended whatever happens

    def __init__(self, folder, name, day, roles, load=(), flags=(), environment=None):
        self.started.append(self)
        self.child = None
        self.kubeconfig = os.path.join(folder, f"{name}.kubeconfig")
        self.out_path, self.log_path = (os.path.join(folder, f"{name}.{end}") for end in ("out", "log"))
        with open(self.out_path, "wb") as out, open(self.log_path, "wb") as log:
            self.child = subprocess.Popen(
                [KOORD, "sandbox", "--port=0", f"--kubeconfig={self.kubeconfig}", f"--roles={roles}", f"--nodes={NODES}",
                 f"--node-capacity=cpu={CPUS},memory={MEMORY}", "--summary=json", f"--trace={TRACE}",
                 f"--trace-speed={DAY / day:g}", f"--agent-report-interval={day * 1000 // 60}ms",
                 *flags, "--load", CLASSES, *load, os.path.join(HERE, "services.yaml")],
                env={**os.environ, **(environment or {})}, stdout=out, stderr=log,
                start_new_session=True)  # Ctrl-C ends the demonstration, which ends it

    def text(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_ready(self):
        end = time.monotonic() + START_SECONDS
        while "sandbox ready" not in self.text(self.out_path):
            if self.child.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"demo: a sandbox did not start:\n{self.text(self.log_path)[-2000:]}")
            time.sleep(0.05)
        self.api = kube_api.Api(self.kubeconfig)

    def running(self):
        return sum(pod["status"].get("phase") == "Running" for pod in self.api.list("/api/v1/namespaces/demo/pods"))

    def pods(self):
        """The batch pods that run, and those that wait."""
        phases = [pod["status"].get("phase") for pod in self.api.list("/api/v1/namespaces/demo/pods")
                  if pod["metadata"]["labels"]["app"] == "crunch"]
        return phases.count("Running"), phases.count("Pending")

    def used(self):
        """CPUs that services use, and batch pods, as the NodeMetrics say."""
        services = batch = 0.0
        for metric in self.api.list("/apis/slo.koordinator.sh/v1alpha1/nodemetrics"):
            for pod in metric.get("status", {}).get("podsMetric", []):
                cpu = amount(pod["podUsage"]["resources"]["cpu"])
                if pod["name"].startswith("crunch"):
                    batch += cpu
                else:
                    services += cpu
        return services, batch

    def lent(self):
        """What each node lends: milli-CPUs."""
        return [float(amount(node["status"]["allocatable"].get(BATCH_CPU, "0"))) for node in self.api.list("/api/v1/nodes")]

    def evicted(self):
        return sum(event["reason"] == "evictPodSuccess" for event in self.api.list("/api/v1/namespaces/demo/events"))

    def end(self):
        """The run's summary."""
        if self.child and self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(20)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        lines = self.text(self.out_path).splitlines() if self.child else []
        return json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None


class Demonstration:
    def __init__(self, folder, day):
        self.speed = DAY / day
        self.began = time.monotonic()
        self.samples = []
        self.batch_at = self.batch_seconds = 0.0  # when batch work began, and for how long it went on
        self.alone = Cluster(folder, "without", day, "scheduler")
        self.together = Cluster(
            folder, "with", day, "scheduler,manager", [WEBHOOKS, os.path.join(HERE, "profile.yaml")],
            ["--manager.rest-config-qps=0", f"--manager.webhook-port={sandbox.free_port()}"],
            {"WEBHOOK_HOST": "127.0.0.1", "WEBHOOK_CERT_DIR": os.path.join(folder, "certificates")})
        self.alone.wait_ready()
        self.together.wait_ready()
        with open(os.path.join(HERE, "batch.json"), encoding="utf-8") as file:
            batch = json.load(file)
        self.asked = amount(batch["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        self.services, replicas = 0.0, 0  # CPUs that they asked for
        for item in self.together.api.list(DEPLOYMENTS):
            containers = item["spec"]["template"]["spec"]["containers"]
            replicas += item["spec"]["replicas"]
            self.services += item["spec"]["replicas"] * sum(amount(one["resources"]["requests"]["cpu"]) for one in containers)
        # Services are there first: their pods wait until the manager can be asked about them.
        for cluster in (self.alone, self.together):
            while self.seconds() < START_SECONDS and cluster.running() < replicas:
                time.sleep(0.2)
        self.alone.api.connect().request("POST", DEPLOYMENTS, batch)
        self.together.api.connect().request("POST", DEPLOYMENTS, batch)
        self.batch_at = self.seconds()

    def seconds(self):
        return time.monotonic() - self.began

    def wait_up(self):
        """Until every node lends something, for so long at most; the seconds until then."""
        while self.seconds() < START_SECONDS and not all(self.together.lent()):
            time.sleep(0.2)
        return self.seconds()

    def look(self):
        running, waiting = self.together.pods()
        services, batch = self.together.used()
        without, _ = self.alone.pods()
        lent = self.together.lent()
        self.samples.append({"services": services, "batch": batch, "running": running, "waiting": waiting, "lent": lent,
                             "speed": min(batch / (running * self.asked), 1) if running else None, "without": without})
        return self.samples[-1]

    def show(self):
        now, total = self.look(), NODES * CPUS
        day = self.seconds() * self.speed
        speed = "-" if now["speed"] is None else f"{now['speed']:.0%}"
        print(ROW.format(f"{int(day // 3600) % 24:02}:{int(day // 60) % 60:02}", f"{now['services'] / total:.0%}",
                         f"{now['batch'] / total:.0%}", speed, f"{sum(now['lent']) / 1000:.0f} CPUs", now["running"],
                         now["waiting"], self.together.evicted(), f"{now['without'] * self.asked / total:.0%}",
                         now["without"]), flush=True)

    def not_closed(self):
        """What of the loop was not seen."""
        wrong = []
        if not any(all(cpu > 0 for cpu in sample["lent"]) for sample in self.samples):
            wrong.append("not every node lent CPU")
        seen = [sample for sample in self.samples if sample["services"] > 0 and sample["speed"] is not None]
        if not seen:
            return [*wrong, "no batch pod ran"]
        # The busiest and the quietest fifth of the day.
        by_load = sorted(seen, key=lambda sample: sample["services"])
        fifth = max(len(by_load) // 5, 1)
        mean = lambda rows, what: sum(what(row) for row in rows) / len(rows)  # noqa: E731
        quiet, busy = by_load[:fifth], by_load[-fifth:]
        if mean(busy, lambda row: sum(row["lent"])) > 0.8 * mean(quiet, lambda row: sum(row["lent"])):
            wrong.append("what is lent did not shrink when services were busy")
        if mean(busy, lambda row: row["speed"]) > 0.9 * mean(quiet, lambda row: row["speed"]):
            wrong.append("batch work was not slowed when services were busy")
        speeds = [row["speed"] for row in seen]
        if not any(speed >= 0.9 and min(speeds[:i]) < 0.8 for i, speed in enumerate(speeds) if i > 0):
            wrong.append("batch work did not come back to its speed")
        return wrong

    def table(self, alone, together):
        def row(what, without, with_it, more=""):
            print(f"  {what:<44}{without:>12}{with_it:>20}   {more}".rstrip())

        def share(part):
            return [f"{each:.1%}" for each in part]

        # Services are there for longer than batch work, and not equally long in both: each is held against its own time.
        # Without the profile batch pods are pods like others, told apart by what they use.
        usages = alone["usage"], together["usage"]
        mixed = [usages[0]["busy"], 0]
        services = [(usage["latencySensitive"] - part) / usage["capacity"] for usage, part in zip(usages, mixed)]
        system = [usage["system"] / usage["capacity"] for usage in usages]
        batch = [usage["busy"] / (NODES * CPUS * self.batch_seconds) for usage in usages]
        print(f"\n{NODES} nodes of {CPUS} CPUs, {self.batch_seconds * self.speed / DAY:.1f} days of the trace\n")
        row("", "without", "with co-location")
        row("CPU that services asked for", *2 * [f"{self.services / (NODES * CPUS):.1%}"])
        row("CPU that services used", *share(services))
        row("CPU that batch work used", *share(batch))
        row("CPU used in all", *share([sum(parts) for parts in zip(services, batch, system)]))
        means = [sum(sample[name] for sample in self.samples) / max(len(self.samples), 1) for name in ("without", "running")]
        row("batch pods that ran at once, mean", *(f"{mean:.1f}" for mean in means))
        done = [part * NODES * CPUS * 24 for part in batch]
        row("batch work done a day, CPU hours", *(f"{each:.0f}" for each in done), f"{done[1] / max(done[0], 1e-9):.1f} times as much")
        row("batch pods evicted to protect services", *(usage["evictions"] for usage in usages))
        print("""
What this rests on: services use the share of what they asked for that machines of Alibaba's trace used of their CPUs; some of
that was batch work already. Batch pods use all that they may. Without co-location they ask for CPU and memory as services do
and find what those have not asked for; with it a profile lets them ask for what services do not use, up to 65% of a node.
Services get what they want first, at once: how much neighbours disturb each other is not simulated.""")
        return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--day", type=int, default=60, metavar="SECONDS")
    flags = parser.parse_args()
    if not 10 <= flags.day <= DAY:
        parser.error("--day: from 10 seconds to a day")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="koord-demo.") as folder:
        demonstration = None
        try:
            demonstration = Demonstration(folder, flags.day)
            if not flags.once:
                print(f"To look around, in another terminal:\n  export KUBECONFIG={demonstration.together.kubeconfig}\n"
                      "  build/koord top --cluster          # and: kubectl get nodes, kubectl -n demo get pods -o wide\n"
                      "Ctrl-C ends it, with the table.\n")
            print(f"Usage of all nodes' CPUs. The day begins at midnight and takes {flags.day} seconds.\n")
            lines, begin = 0, demonstration.wait_up()
            while not flags.once or demonstration.seconds() < begin + flags.day:
                if lines % 20 == 0:
                    print(HEAD)
                demonstration.show()
                lines += 1
                time.sleep(flags.day / LOOKS)
        except KeyboardInterrupt:
            if demonstration is None or flags.once:
                return 130
        finally:
            if demonstration:
                demonstration.batch_seconds = demonstration.seconds() - demonstration.batch_at
            summaries = [cluster.end() for cluster in Cluster.started]  # without, with
        if not all(summaries):
            print("demo: a sandbox ended without its summary", file=sys.stderr)
            return 1
        without, with_it = demonstration.table(*summaries)
        wrong = demonstration.not_closed()
        if with_it <= without:
            wrong.append("no more batch work was done than without co-location")
        if flags.once and wrong:
            print("\n".join(f"demo: the loop did not close: {each}" for each in wrong), file=sys.stderr)
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main())
