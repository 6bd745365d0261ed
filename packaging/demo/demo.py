#!/usr/bin/env python3
"""Co-location as a loop that closes, on simulated clusters side by side: the same nodes, services and batch work, once with
koord's manager and its profile for batch work, once without; and the same again where services ask for less of the nodes.

usage: demo.py [--once] [--day=SECONDS] [--asked=PERCENT,...]

Nothing runs on the nodes: what services use is a day of a real trace, played fast; the API server, the scheduler and the
manager are the real ones. --once plays that day, prints the table and fails where the loop did not close. A day takes a
minute, or as long as --day says. --asked says which parts of the nodes' CPUs services ask for, a pair of clusters each; the
first is the one that is shown while it runs.
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
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/koordinator-mutating-webhook-configuration"
DEPLOYMENTS = "/apis/apps/v1/namespaces/demo/deployments"
# What services ask for: parts of all CPUs, in percent, as near as whole replicas of the first service come.
ASKED = (87, 75, 60)
WEB_CPUS, CACHE_CPUS, BATCH_PODS = 2, 48, 48  # of a pod, of all pods (services.yaml), batch.json
LEAST_ASKED, MOST_ASKED = 30, 95
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

    def __init__(self, folder, name, day, services, roles, load=(), flags=(), environment=None, page=False):
        self.started.append(self)
        self.child = None
        port = sandbox.free_port() if page else 0
        self.page = f"http://127.0.0.1:{port}/ui/"
        if page:
            flags = [*flags, f"--ui={port}"]
        self.kubeconfig = os.path.join(folder, f"{name}.kubeconfig")
        self.out_path, self.log_path = (os.path.join(folder, f"{name}.{end}") for end in ("out", "log"))
        with open(self.out_path, "wb") as out, open(self.log_path, "wb") as log:
            self.child = subprocess.Popen(
                [KOORD, "sandbox", "--port=0", f"--kubeconfig={self.kubeconfig}", f"--roles={roles}", f"--nodes={NODES}",
                 f"--node-capacity=cpu={CPUS},memory={MEMORY}", "--summary=json", f"--trace={TRACE}",
                 f"--trace-speed={DAY / day:g}", f"--agent-report-interval={day * 1000 // 60}ms",
                 *flags, "--load", CLASSES, *load, services],
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

    def asks(self):
        """Whether the API server asks the manager about pods: it fills in what is asked once it answers."""
        return bool(self.api.connect().request("GET", MUTATING).get("webhooks"))

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


class Pair:
    """Two clusters whose services ask for `asked` percent of the CPUs, one with co-location and one without."""

    def __init__(self, folder, day, asked):
        self.speed = DAY / day
        self.began = time.monotonic()
        self.samples = []
        self.batch_at = self.batch_seconds = 0.0  # when batch work began, and for how long it went on
        services = os.path.join(folder, f"services-{asked}.yaml")
        with open(os.path.join(HERE, "services.yaml"), encoding="utf-8") as file:
            text = file.read()
        replicas = round((asked / 100 * NODES * CPUS - CACHE_CPUS) / WEB_CPUS)
        with open(services, "w", encoding="utf-8") as file:
            file.write(text.replace("replicas: 60\n", f"replicas: {replicas}\n"))
        self.alone = Cluster(folder, f"without-{asked}", day, services, "scheduler")
        # The manager has its defaults, the client's rate too.
        self.together = Cluster(
            folder, f"with-{asked}", day, services, "scheduler,manager", [WEBHOOKS, os.path.join(HERE, "profile.yaml")],
            [f"--manager.webhook-port={sandbox.free_port()}"],
            {"WEBHOOK_HOST": "127.0.0.1", "WEBHOOK_CERT_DIR": os.path.join(folder, f"certificates-{asked}")}, page=True)

    def begin(self):
        """Batch work is asked for when all services run."""
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
        # Services are there first; batch pods wait until the manager is asked about them.
        for cluster in (self.alone, self.together):
            while self.seconds() < START_SECONDS and cluster.running() < replicas:
                time.sleep(0.2)
        while self.seconds() < START_SECONDS and not self.together.asks():
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

    def columns(self, alone, together):
        """What the table says of this pair: rows of two texts, and the CPU hours of batch work in both."""
        def share(part):
            return [f"{each:.1%}" for each in part]

        # Services are there for longer than batch work, and not equally long in both: each is held against its own time.
        # Without the profile batch pods are pods like others, told apart by what they use.
        usages = alone["usage"], together["usage"]
        mixed = [usages[0]["busy"], 0]
        services = [(usage["latencySensitive"] - part) / usage["capacity"] for usage, part in zip(usages, mixed)]
        system = [usage["system"] / usage["capacity"] for usage in usages]
        batch = [usage["busy"] / (NODES * CPUS * self.batch_seconds) for usage in usages]
        kept = [(usage["busy"] - usage["lost"]) / (NODES * CPUS * self.batch_seconds) for usage in usages]
        means = [sum(sample[name] for sample in self.samples) / max(len(self.samples), 1) for name in ("without", "running")]
        done = [part * NODES * CPUS * 24 for part in kept]
        rows = [2 * [f"{self.services / (NODES * CPUS):.1%}"], share(services), share(batch),
                share([sum(parts) for parts in zip(services, batch, system)]), [f"{mean:.1f}" for mean in means],
                [str(usage["evictions"]) for usage in usages], [f"{each:.0f}" for each in done],
                ["", f"{done[1] / max(done[0], 1e-9):.2f} x"]]
        return rows, done


LABELS = ("CPU that services asked for", "CPU that services used", "CPU that batch work used", "CPU used in all",
          "batch pods that ran at once, mean", "batch pods evicted to protect services",
          "batch work done a day, CPU hours", "as much as without")


def print_table(pairs, all_columns):
    """The pairs beside one another, from the one that asks for least."""
    order = sorted(range(len(pairs)), key=lambda i: pairs[i].services)
    days = pairs[0].batch_seconds * pairs[0].speed / DAY
    print(f"\n{NODES} nodes of {CPUS} CPUs, {days:.1f} days of the trace; batch work is {BATCH_PODS} pods of {pairs[0].asked:.0f} CPUs\n")
    print("  " + " " * 40 + "".join(f"{'without':>11}{'with':>9}" for _ in order) + "   co-location")
    for i, label in enumerate(LABELS):
        print(f"  {label:<40}" + "".join(f"{all_columns[at][i][0]:>11}{all_columns[at][i][1]:>9}" for at in order))
    print("""
What this rests on: services use the share of what they asked for that machines of Alibaba's trace used of their CPUs; some of
that was batch work already. Batch pods use all that they may. Without co-location they ask for CPU and memory as services do
and find what those have not asked for; with it a profile lets them ask for what services do not use, by the manager's
defaults: up to 60% of a node's CPUs. What an evicted pod had done is lost, and not counted as done. Services get what they
want first, at once: how much neighbours disturb each other is not simulated.""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--day", type=int, default=60, metavar="SECONDS")
    parser.add_argument("--asked", default=",".join(map(str, ASKED)), metavar="PERCENT,...")
    flags = parser.parse_args()
    if not 10 <= flags.day <= DAY:
        parser.error("--day: from 10 seconds to a day")
    asked = [int(each) if each.isdigit() else 0 for each in flags.asked.split(",")]
    if not all(LEAST_ASKED <= each <= MOST_ASKED for each in asked) or len(set(asked)) != len(asked):
        parser.error(f"--asked: different percentages from {LEAST_ASKED} to {MOST_ASKED}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="koord-demo.") as folder:
        pairs = []
        try:
            for each in asked:
                pairs.append(Pair(folder, flags.day, each))
            for pair in pairs:
                pair.begin()
            shown = pairs[0]
            if not flags.once:
                print(f"The page, in a browser: {shown.together.page}\nTo look around, in another terminal:\n  export KUBECONFIG={shown.together.kubeconfig}\n"
                      "  build/koord top --cluster          # and: kubectl get nodes, kubectl -n demo get pods -o wide\n"
                      "Ctrl-C ends it, with the table.\n")
            print(f"Usage of all nodes' CPUs, of which services ask for {shown.services / (NODES * CPUS):.0%}. The day begins at "
                  f"midnight and takes {flags.day} seconds.\n")
            lines, begin = 0, shown.wait_up()
            while not flags.once or shown.seconds() < begin + flags.day:
                if lines % 20 == 0:
                    print(HEAD)
                shown.show()
                for pair in pairs[1:]:
                    pair.look()
                lines += 1
                time.sleep(flags.day / LOOKS)
        except KeyboardInterrupt:
            if not pairs or not pairs[0].samples or flags.once:
                return 130
        finally:
            for pair in pairs:
                pair.batch_seconds = pair.seconds() - pair.batch_at
            summaries = [cluster.end() for cluster in Cluster.started]
        if len(summaries) != 2 * len(asked) or not all(summaries):
            print("demo: a sandbox ended without its summary", file=sys.stderr)
            return 1
        columns, done = zip(*(pair.columns(*summaries[2 * i:2 * i + 2]) for i, pair in enumerate(pairs)))
        print_table(pairs, columns)
        wrong = shown.not_closed()
        if done[0][1] <= done[0][0]:
            wrong.append("no more batch work was done than without co-location")
        if flags.once and wrong:
            print("\n".join(f"demo: the loop did not close: {each}" for each in wrong), file=sys.stderr)
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main())
