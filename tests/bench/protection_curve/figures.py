"""Tables of the protection benchmark's runs, with how far they can be trusted, and what its aims came to."""
import math
import statistics

# Student's t, 95% of both sides, by degrees of freedom.
T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09)
GROWTH = 1.01  # of a bucket of protection_service's histogram
AIM_TIMES, AIM_MACHINE = 1.10, 0.60

HOW_TO_READ = """How to read it: latency counts from the moment at which a request was due, whenever it was begun, so that no
wait is left out. p50 and p99 are geometric means over the repeats, p99.9 is that of all requests together. "x alone" is
p99 over p99 without best-effort work in the same repeat, with the interval that has it in 95 of 100 such benchmarks;
where that interval has 1.0 in it no harm was found. BE is best-effort CPU-seconds a second, work its units beside those
of the unprotected arm. Further down or left is better latency, further right a machine that is used."""


def interval(values):
    """Mean and half of the 95% interval; half is infinite for a single value."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.inf
    t = T95[min(len(values) - 2, len(T95) - 1)]
    return mean, t * statistics.stdev(values) / math.sqrt(len(values))


def geometric(values):
    """The same of factors: (middle, lowest, highest)."""
    mean, half = interval([math.log(value) for value in values])
    return math.exp(mean), math.exp(mean - half) if half < 700 else 0.0, math.exp(mean + half) if half < 700 else math.inf


def pooled(phases, part):
    """A quantile of the requests of several runs, in us."""
    counts = {}
    for phase in phases:
        for bucket, count in phase["histogram"]:
            counts[bucket] = counts.get(bucket, 0) + count
    rank, seen = math.ceil(part * sum(counts.values())), 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= rank:
            return GROWTH ** (bucket + 0.5)
    return 0.0


class Point:
    """One arm with one kind of best-effort work in one phase, of all its repeats."""

    def __init__(self, arm, runs, phase, alone, unprotected):
        seen = [run["phases"][phase] for run in runs]
        self.arm, self.repeats = arm, len(runs)
        self.busy = any(run["busy"] for run in runs)
        self.p50 = geometric([one["p50_us"] for one in seen])[0] / 1000
        self.p99 = geometric([one["p99_us"] for one in seen])[0] / 1000
        self.p999 = pooled(seen, 0.999) / 1000
        self.be, self.be_half = interval([one["be_cpus"] for one in seen])
        self.machine = statistics.fmean(one["busy_cpus"] for one in seen)
        self.others = statistics.fmean(one["others_cpus"] for one in seen)
        self.steal = statistics.fmean(one["steal_cpus"] for one in seen)
        self.request_cpu = statistics.fmean(one["request_cpu_us"] for one in seen) / 1000
        self.unfinished = sum(one["unfinished"] for one in seen)
        of_repeat = {run["repeat"]: run["phases"][phase]["p99_us"] for run in alone}
        pairs = [run["phases"][phase]["p99_us"] / of_repeat[run["repeat"]] for run in runs if run["repeat"] in of_repeat]
        self.times = geometric(pairs) if pairs else (math.nan, math.nan, math.nan)
        work = statistics.fmean(run["phases"][phase]["be_units"] for run in unprotected) if unprotected else 0.0
        self.work = statistics.fmean(one["be_units"] for one in seen) / work if work > 0 else 0.0


def kept(runs):
    """Of each repeat the last attempt, those of a busy machine only where there is no other of that arm."""
    last = {}
    for run in runs:
        last[run["repeat"]] = run
    quiet = [run for run in last.values() if not run["busy"]]
    return quiet or list(last.values())


def panels(result):
    """{(stage, scenario, kind): {phase: [Point, ...]}}, arms in the order in which they first ran by name."""
    groups = {}
    for run in result["runs"]:
        groups.setdefault((run["stage"], run["scenario"]), {}).setdefault((run["arm"], run["kind"]), []).append(run)
    found = {}
    for (stage, scenario), rows in groups.items():
        rows = {key: kept(runs) for key, runs in rows.items()}
        alone = rows.get(("alone", None), [])
        for kind in sorted({kind for _, kind in rows if kind}):
            unprotected = rows.get(("unprotected", kind)) or rows.get(("kubelet", kind)) or rows.get(("weights", kind)) or []
            wanted = [("alone", alone)] if alone else []
            wanted += sorted((arm, runs) for (arm, of), runs in rows.items() if of == kind)
            names = list(wanted[0][1][0]["phases"]) if wanted else []
            found[(stage, scenario, kind)] = {
                phase: [Point(arm, runs, phase, alone, unprotected) for arm, runs in ordered(wanted)] for phase in names}
    return found


ORDER = ("alone", "unprotected", "kubelet", "weights", "idle", "threshold 50", "threshold 65", "threshold 80", "original 65",
         "blame", "blame and idle")


def ordered(rows):
    return sorted(rows, key=lambda row: ORDER.index(row[0]) if row[0] in ORDER else len(ORDER))


def span(times):
    middle, low, high = times
    if math.isnan(middle):
        return ""
    return f"{middle:.2f}" if math.isinf(high) else f"{middle:.2f} ({low:.2f} to {high:.2f})"


def named(point):
    return point.arm + ("*" if point.busy else "")


def row(point, cpus, scenario):
    half = "" if math.isinf(point.be_half) else f" +- {point.be_half:.2f}"
    cells = [named(point), f"{point.p50:.2f}", f"{point.p99:.2f}", f"{point.p999:.2f}", span(point.times),
             f"{point.be:.2f}{half}", f"{point.machine / cpus:.0%}", f"{point.work:.0%}" if point.be > 0.001 else "",
             f"{point.request_cpu:.2f}", f"{point.others:.2f}, {point.steal:.2f}"]
    if scenario == "overload":
        cells.append(str(point.unfinished))
    return "| " + " | ".join(cells) + " |"


def title(key, phase):
    stage, scenario, kind = key
    where = "two plain cgroups" if stage == "plain" else "a real node"
    what = {"steady": "a steady rate", "bursts": "bursts of 200 ms"}.get(phase, phase)
    return f"{where}, {kind}, " + ("the service overloads itself" if scenario == "overload" else what)


def aims(key, phase, points, cpus):
    """Lines about what was wished for: who leaves p99 within 10% with the machine used, and who does more work than the best
    threshold that is as good."""
    reach = [point for point in points
             if point.times[0] <= AIM_TIMES and point.machine >= AIM_MACHINE * cpus and point.arm != "alone"]
    yield f"p99 within {AIM_TIMES - 1:.0%} of alone, machine at {AIM_MACHINE:.0%} or more: " + (
        ", ".join(f"{named(point)} ({point.times[0]:.2f} at {point.machine / cpus:.0%})" for point in reach) or "none")
    thresholds = [point for point in points if point.arm.startswith("threshold")]
    for point in points:
        if not thresholds or point in thresholds or point.arm in ("alone", "unprotected") or math.isnan(point.times[0]):
            continue
        as_good = [other for other in thresholds if other.times[0] <= point.times[0] * 1.02]
        best = max(as_good, key=lambda other: other.be, default=None)
        yield f"{named(point)}: BE {point.be:.2f}, " + (
            f"the best threshold that is as good ({best.arm.split()[1]}) {best.be:.2f}" if best else "no threshold is as good")


def report(result):
    machine, service, cpus = result["machine"], result["service"], result["machine"]["cpus"]
    print(f"{cpus} CPUs ({machine['model']}), kernel {machine['kernel']}, cgroup v{machine['cgroup']}. A request is "
          f"{service['request_ms']:g} ms of CPU, the service uses {service['share']:.0%} of the machine, bursts are of "
          f"{service['burst'].split(':')[0]} times the rate.")
    order = {key: (key[0] != "plain", key[1] != "service", key[2]) for key in panels(result)}
    for key, phases in sorted(panels(result).items(), key=lambda item: order[item[0]]):
        for phase, points in phases.items():
            overload = key[1] == "overload"
            print(f"\n{title(key, phase)}, {max(point.repeats for point in points)} repeats:\n")
            print("| arm | p50 ms | p99 | p99.9 | p99 x alone | BE | machine | work | CPU ms a request | others, steal |"
                  + (" left undone |" if overload else ""))
            print("|---" * (11 if overload else 10) + "|")
            for point in points:
                print(row(point, cpus, key[1]))
            print()
            if not overload:
                for line in aims(key, phase, points, cpus):
                    print(f"- {line}")
    if any(run["busy"] for run in result["runs"]):
        print("\n*: others used the machine or the host took it in each of its runs.")
    if result["cut"]:
        print("\nNot all repeats were made.")
    print(f"\n{HOW_TO_READ}")
