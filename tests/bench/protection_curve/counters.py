"""What the machine and both tiers have used, of two moments: /proc/stat and the groups' own accounts."""
import dataclasses
import os
import struct
import time

TICKS = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Moment:
    at: float
    busy: float   # CPU seconds of all CPUs, without steal
    steal: float
    ls: float
    be: float
    units: int    # of best-effort work


def units_of(path):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return 0
    return sum(struct.unpack(f"={len(content) // 8}Q", content))


def moment(stage, counter):
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return Moment(time.monotonic(), (user + nice + system + irq + softirq) / TICKS, steal / TICKS,
                  stage.ls.cpu_seconds(), stage.be.cpu_seconds(), units_of(counter))


def rates(first, last):
    """CPUs in use on the average, and units of best-effort work a second."""
    seconds = last.at - first.at
    busy, ls, be = (getattr(last, name) - getattr(first, name) for name in ("busy", "ls", "be"))
    return {"seconds": seconds, "busy_cpus": busy / seconds, "ls_cpus": ls / seconds, "be_cpus": be / seconds,
            "others_cpus": max(0.0, busy - ls - be) / seconds, "steal_cpus": (last.steal - first.steal) / seconds,
            "be_units": (last.units - first.units) / seconds}
