"""Prometheus' own tool reads every panel's query, and every alert fires when it should and not before."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3))
FOLDER = os.path.join(TREE, "packaging", "dashboards")
sys.path.insert(0, FOLDER)
import alerts  # noqa: E402
import generate  # noqa: E402

CACHE = os.environ.get("KOORD_CACHE", os.path.expanduser("~/.cache/koord"))
PROMTOOL = shutil.which(os.environ.get("KOORD_PROMTOOL", os.path.join(CACHE, "prometheus", "promtool")))
LENT = 'slo_controller_node_extended_resource_allocatable_internal{resource="kubernetes.io/batch-cpu", node="%s"}'
SLOW = [('scheduler_scheduling_attempt_duration_seconds_bucket{le="%s"}' % le, step) for le, step in (("1.024", "0+0x60"), ("4.096", "0+60x60"), ("+Inf", "0+60x60"))]
QUICK = [('scheduler_scheduling_attempt_duration_seconds_bucket{le="%s"}' % le, "0+60x60") for le in ("0.512", "1.024", "+Inf")]
# (series that make it fire, series that do not)
CASES = {
    "KoordletDown": ([('koordlet_start_time{node="a"}', "1x60"), (LENT % "a", "4x60"), (LENT % "b", "4x60")],
                     [('koordlet_start_time{node="a"}', "1x60"), (LENT % "a", "4x60")]),
    "NobodyLends": ([('koordlet_start_time{node="a"}', "1x60"), (LENT % "a", "0x60")], [('koordlet_start_time{node="a"}', "1x60"), (LENT % "a", "4x60")]),
    "KoordletTicksMissed": ([("koordlet_ticks_missed_total", "0+30x60")], [("koordlet_ticks_missed_total", "7x60")]),
    "RuntimeDoesNotAsk": ([("koordlet_runtime_connected", "0x60")], [("koordlet_runtime_connected", "1x60")]),
    "HooksUnanswered": ([("koord_runtimeproxy_unhooked_total", "0+1x60")], [("koord_runtimeproxy_unhooked_total", "5x60")]),
    "HooksRefuse": ([("koord_runtimeproxy_refused_total", "0+1x60")], [("koord_runtimeproxy_refused_total", "5x60")]),
    "PodsEvicted": ([('koordlet_pod_eviction{node="a"}', "0+2x60")], [('koordlet_pod_eviction{node="a"}', "0x30 1x30")]),
    "SchedulerStands": ([('scheduler_pending_pods{queue="active"}', "3x60"), ("scheduler_schedule_attempts_total", "9x60")],
                        [('scheduler_pending_pods{queue="active"}', "3x60"), ("scheduler_schedule_attempts_total", "0+9x60")]),
    "SchedulerErrors": ([('scheduler_schedule_attempts_total{result="error"}', "0+1x60"), ('scheduler_schedule_attempts_total{result="scheduled"}', "0+9x60")],
                        [('scheduler_schedule_attempts_total{result="error"}', "1x60"), ('scheduler_schedule_attempts_total{result="scheduled"}', "0+9x60")]),
    "SchedulingSlow": (SLOW, QUICK),
    "GpusGivenTwice": ([("scheduler_gpus_given_twice", "1x60")], [("scheduler_gpus_given_twice", "0x60")]),
    "WebhookFails": ([('controller_runtime_webhook_requests_total{code="500"}', "0+1x60")], [('controller_runtime_webhook_requests_total{code="200"}', "0+1x60")]),
    "PodsSlipPast": ([("koord_manager_colocationprofile_missed_pods_total", "0+1x60")], [("koord_manager_colocationprofile_missed_pods_total", "1x60")]),
    "DeschedulerStands": ([("koord_descheduler_last_pass_age_seconds", "4000+60x60")], [("koord_descheduler_last_pass_age_seconds", "100x60")]),
    "DevicesUnhealthy": ([('koordlet_devices{node="a", type="gpu", healthy="false"}', "1x60")], [('koordlet_devices{node="a", type="gpu", healthy="true"}', "8x60")]),
    "LogLinesLost": ([("koord_log_lines_lost_total", "0+1x60")], [("koord_log_lines_lost_total", "3x60")]),
}


@unittest.skipUnless(PROMTOOL, "promtool is missing: run packaging/dev promtool, or name it in KOORD_PROMTOOL")
class Promtool(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="koord-promtool.")
        self.addCleanup(self.folder.cleanup)

    def run_on(self, verb, text):
        path = os.path.join(self.folder.name, "rules.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([PROMTOOL, *verb, path], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def test_queries_are_promql(self):
        for text in (generate.recording_rules(), generate.alert_rules()):
            code, said = self.run_on(["check", "rules"], text)
            self.assertEqual(code, 0, said)
        self.assertNotEqual(self.run_on(["check", "rules"], generate.recording_rules().replace("sum(", "sum((", 1))[0], 0)

    def test_alerts_fire_when_they_should(self):
        """With what makes it fire it is pending or firing after 50 minutes, with the other it never was."""
        self.assertEqual(set(CASES), {name for name, *_ in alerts.ALERTS})
        for name, *_ in alerts.ALERTS:
            for series, fires in ((CASES[name][0], True), (CASES[name][1], False)):
                query = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) > bool 0 or vector(0)'
                test = {"rule_files": [os.path.join(FOLDER, "alerts.yaml")], "evaluation_interval": "1m", "tests": [{
                    "interval": "1m", "input_series": [{"series": one, "values": values} for one, values in series],
                    "promql_expr_test": [{"expr": query, "eval_time": "50m", "exp_samples": [{"labels": "{}", "value": int(fires)}]}]}]}
                code, said = self.run_on(["test", "rules"], json.dumps(test))
                self.assertEqual(code, 0, f"{name}, which should{'' if fires else ' not'} fire: {said}")


if __name__ == "__main__":
    unittest.main()
