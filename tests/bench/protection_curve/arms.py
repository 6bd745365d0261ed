"""The arms of the protection benchmark: what is done about best-effort work, and with which NodeSLO."""
import dataclasses

TARGET_US = 250              # of waiting that best-effort work may cause, p99
# Seconds in which a threshold's quota has come to rest, and in which blame has cut its own as often as it had to: it grows
# back by 2% of the machine a second, and is measured while it does.
STEERED, BLAMED = 2.0, 12.0
BLAME = ("--feature-gates=BECPUBlame=true,BECPUSuppress=false",)


def threshold(percent):
    return {"resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota",
                                            "cpuSuppressThresholdPercent": percent}}


def blame(idle, quota=True):
    """CPU blame without suppression beside it: it is bounded by nothing but what it sees."""
    return {"extensions": {"cpuBlame": {"enable": True, "targetMicroseconds": TARGET_US, "minPercent": 5, "idle": idle,
                                        "quota": quota}}}


@dataclasses.dataclass(frozen=True)
class Arm:
    name: str
    says: str                  # for the legend
    batch: bool = True         # best-effort work runs
    least_shares: bool = True  # its group has the least weight, as the kubelet's best-effort tree has
    idle: bool = False         # and is idle to the scheduler (cpu.idle)
    slo: dict | None = None    # an agent runs with this NodeSLO
    flags: tuple = ()
    original: bool = False     # the original's agent
    settle: float = 0.5        # seconds before anything is measured

    @property
    def blames(self):
        return self.slo is not None and "extensions" in self.slo


PLAIN = (
    Arm("alone", "no best-effort work", batch=False),
    Arm("unprotected", "the same weight for both", least_shares=False),
    Arm("weights", "best-effort shares at the minimum"),
    Arm("idle", "and cpu.idle", idle=True),
    *(Arm(f"threshold {percent}", f"CPUSuppress, cfsQuota, {percent}%", slo=threshold(percent), settle=STEERED)
      for percent in (50, 65, 80)),
    Arm("blame", "CPUBlame: a quota where it causes waiting", slo=blame(False), flags=BLAME, settle=BLAMED),
    Arm("blame and idle", "CPUBlame, cpu.idle first", slo=blame(True), flags=BLAME, settle=BLAMED),
)
NODE = (
    Arm("alone", "no best-effort work", batch=False),
    Arm("kubelet", "no agent: the kubelet's weights"),
    Arm("idle", "koord's CPUBlame as it is by itself: cpu.idle", slo=blame(True, quota=False), flags=BLAME, settle=STEERED),
    Arm("threshold 65", "koord's CPUSuppress, 65%", slo=threshold(65), settle=STEERED),
    Arm("original 65", "the original's CPUSuppress, 65%", slo=threshold(65), original=True, settle=STEERED),
    Arm("blame and idle", "CPUBlame, cpu.idle first", slo=blame(True), flags=BLAME, settle=BLAMED),
)
KINDS = ("spinners", "streamers", "forkers")
# The second scenario: the service has more work than it may do. The best-effort work beside it is not at fault.
OVERLOAD = ("alone", "idle", "threshold 65", "blame and idle")
