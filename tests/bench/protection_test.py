"""What the protection benchmark makes of its runs, without running: which attempts count, quantiles, intervals, what is said
of its aims, and a picture that is XML."""
import contextlib
import io
import os
import sys
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "protection_curve"), os.path.join(HERE, "..", "node"), os.path.join(HERE, "..", "support")):
    sys.path.insert(0, folder)
import figures  # noqa: E402
import picture  # noqa: E402
import stage  # noqa: E402


def run(arm, kind, repeat, p99_ms, be, busy=False, attempt=0, scenario="service"):
    phase = {"p50_us": 1000.0, "p99_us": p99_ms * 1000, "histogram": [[700, 990], [800, 9], [900, 1]], "be_cpus": be, "be_units": be * 100,
             "busy_cpus": 0.6 + be, "ls_cpus": 0.5, "others_cpus": 0.05, "steal_cpus": 0.0, "request_cpu_us": 1010.0, "unfinished": 0}
    return {"stage": "plain", "scenario": scenario, "arm": arm, "kind": kind, "repeat": repeat, "attempt": attempt, "busy": busy,
            "phases": {"steady": phase} if scenario == "overload" else {"steady": phase, "bursts": phase}}


def result(*runs):
    return {"machine": {"cpus": 2, "model": "a model", "kernel": "6.1", "cgroup": 1}, "cut": False, "runs": list(runs),
            "service": {"share": 0.25, "request_ms": 1, "units": 1000, "burst": "3:200:1000", "overload": 0.6, "seconds": 3}}


SEEN = result(*(row for repeat in range(5) for row in (
    run("alone", None, repeat, 2.0 + repeat, 0), run("unprotected", "spinners", repeat, 20 + 10 * repeat, 1.0),
    run("idle", "spinners", repeat, (2.0 + repeat) * 1.05, 1.2), run("threshold 50", "spinners", repeat, (2.0 + repeat) * 1.04, 0.4),
    run("threshold 65", "spinners", repeat, (2.0 + repeat) * 1.3, 0.7), run("alone", None, repeat, 9, 0, scenario="overload"),
    run("idle", "spinners", repeat, 9, 0.9, scenario="overload"))))


class Figures(unittest.TestCase):
    def test_intervals(self):
        mean, half = figures.interval([1.0, 2.0, 3.0])
        self.assertAlmostEqual(mean, 2.0)
        self.assertAlmostEqual(half, 4.30 / 3 ** 0.5)
        middle, low, high = figures.geometric([1.0, 4.0])
        self.assertAlmostEqual(middle, 2.0)
        self.assertAlmostEqual(low * high, 4.0)
        self.assertEqual(figures.geometric([3.0])[1:], (0.0, float("inf")))

    def test_quantile_of_all_requests(self):
        phases = [{"histogram": [[700, 998], [800, 1]]}, {"histogram": [[900, 1]]}]
        self.assertAlmostEqual(figures.pooled(phases, 0.5), 1.01 ** 700.5)
        self.assertAlmostEqual(figures.pooled(phases, 0.999), 1.01 ** 800.5)
        self.assertAlmostEqual(figures.pooled(phases, 1), 1.01 ** 900.5)

    def test_which_attempts_count(self):
        busy, again = run("idle", "spinners", 0, 9, 1, busy=True), run("idle", "spinners", 0, 2, 1, attempt=1)
        lost = run("idle", "spinners", 1, 9, 1, busy=True)
        self.assertEqual(figures.kept([busy, again, lost]), [again], "a quiet attempt, and nobody who never had one")
        self.assertEqual(figures.kept([lost]), [lost], "unless there is none")

    def test_points(self):
        points = {point.arm: point for point in figures.panels(SEEN)[("plain", "service", "spinners")]["steady"]}
        self.assertEqual(list(points), ["alone", "unprotected", "idle", "threshold 50", "threshold 65"])
        middle, low, high = points["idle"].times
        self.assertAlmostEqual(middle, 1.05, msg="each repeat beside its own alone")
        self.assertAlmostEqual(high - low, 0, places=6)
        self.assertAlmostEqual(points["idle"].work, 1.2)
        self.assertAlmostEqual(points["unprotected"].p50, 1.0)

    def test_report(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            figures.report(SEEN)
        self.assertIn("machine at 60% or more: idle (1.05 at 90%)", said.getvalue())
        self.assertIn("- idle: BE 1.20, the best threshold that is as good (50) 0.40", said.getvalue())
        self.assertIn("the service overloads itself, 5 repeats", said.getvalue())
        self.assertNotIn("*", said.getvalue())

    def test_what_the_agent_says_of_blame(self):
        class Agent:
            def get(self, _):
                return ('# TYPE koordlet_be_blame_state gauge\nkoordlet_be_blame_cpu_cores{node="n"} 1.5\n'
                        'koordlet_be_blame_state{node="n",state="calm"} 0\nkoordlet_be_blame_state{node="n",state="giving back"} 1\n'
                        'koordlet_be_blame_state{node="n",state="waiting"} 0\nother{node="n"} 1\n')

        self.assertEqual(stage.blame_of(Agent()), {"cpu_cores": 1.5, "state": "giving back"})

    def test_picture(self):
        drawn = xml.etree.ElementTree.fromstring(picture.draw(SEEN))
        words = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
        for wanted in ("spinners, steady", "spinners, bursts", "unprotected", "idle", "threshold 65"):
            self.assertIn(wanted, words)


if __name__ == "__main__":
    unittest.main()
