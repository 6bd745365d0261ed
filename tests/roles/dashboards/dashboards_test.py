"""Dashboards and alerts: made of their tables, and of metrics and labels that the roles have."""
import json
import os
import re
import subprocess
import sys
import unittest

TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3))
FOLDER = os.path.join(TREE, "packaging", "dashboards")
sys.path.insert(0, FOLDER)
import alerts  # noqa: E402
import generate  # noqa: E402
import promql  # noqa: E402
import tables  # noqa: E402

KOORD = os.environ.get("KOORD", os.path.join(TREE, "build", "koord"))
def metrics():
    """{name: (type, labels)} of `koord docs`; of the agent's with the one that it gives all of them."""
    text = subprocess.run([KOORD, "docs"], capture_output=True, text=True, check=True).stdout
    found = {}
    for part in re.split(r"^## ", text, flags=re.M):
        common = {"node"} if part.startswith("--role=koordlet\n") else set()
        for name, kind, labels in re.findall(r"^\| (\w+) \| (gauge|counter|histogram) \| ([^|]*) \|", part, re.M):
            found[name] = kind, set(filter(None, labels.split(", "))) | common
    return found


def queries():
    """(where, query, legend) of every panel and alert."""
    for name, (_, _, rows) in tables.DASHBOARDS.items():
        for row, panels in rows:
            for title, _, several, _, _ in panels:
                for query, legend in several:
                    yield f"{name}: {row}: {title}", query.replace("{JOB, ", "{").replace("{JOB}", ""), legend
    for name, query, *texts in alerts.ALERTS:
        yield f"alert {name}", query, " ".join(texts)


def faults(query, legend, known):
    """What of it no role has, or is not left for the legend."""
    asked = promql.Query(query, known)
    said = re.findall(r"\{\{(\w+)\}\}", legend) + re.findall(r"\$labels\.(\w+)", legend)
    return asked.faults + [f"no label {label} is left" for label in said if label not in (asked.left or ())]


class Dashboards(unittest.TestCase):
    def test_queries_name_what_the_roles_have(self):
        known, count = metrics(), 0
        self.assertGreater(len(known), 150)
        for where, query, legend in queries():
            count += 1
            with self.subTest(where):
                self.assertEqual(faults(query, legend, known), [], query)
        self.assertGreater(count, 150)

    def test_the_check_fails_where_it_should(self):
        known = metrics()
        for query, legend in (
                ("sum(koordlet_nothing_at_all)", ""), ('koordlet_devices{colour="red"}', ""), ("sum(koordlet_devices) by (colour)", ""),
                ("koordlet_devices", "{{colour}}"), ("koordlet_tick_lateness_seconds", ""), ("koordlet_devices_sum", ""),
                ("koordlet_ticks_missed_total > 5", ""),
                # A label that another metric of the query has.
                ('koordlet_devices + koordlet_devices{collector="cpi"}', ""),
                ('sum(koordlet_devices) + sum(koordlet_collector_available{healthy="true"})', ""),
                ("sum(koordlet_devices) by (collector) / sum(koordlet_collector_available) by (collector)", ""),
                # One of the agent's alone, or of buckets.
                ('scheduler_pending_pods{node="a"}', ""), ("koordlet_devices", "{{le}}"),
                # What an aggregation has not kept.
                ("sum(koordlet_devices) by (type)", "{{healthy}}"), ("sum(koordlet_devices)", "{{type}}"), ("sum(sum(koordlet_devices) by (type)) by (healthy)", ""),
                ("sum by (type) (koordlet_devices)", "{{healthy}}"), ("koordlet_devices > 0", "{{ $labels.colour }} $labels.colour"),
                ("histogram_quantile(0.5, sum(rate(koordlet_tick_lateness_seconds_bucket[5m])) by (node))", ""),
                ("histogram_quantile(0.5, sum(rate(koordlet_tick_lateness_seconds_bucket[5m])) by (le))", "{{node}}"),
                # Both sides match by all labels that they have.
                ("sum(koordlet_devices) by (type) / sum(koordlet_devices) by (node)", ""), ("koordlet_devices / koordlet_ticks_missed_total", ""),
                # No query.
                ("sum(koordlet_devices", ""), ("sum(koordlet_devices))", ""), ("", ""), ("sum(koordlet_devices) ? 1", "")):
            self.assertNotEqual(faults(query, legend, known), [], query)

    def test_what_is_left(self):
        known = {"one": ("gauge", {"a", "b"}), "two": ("counter", {"a"}), "three": ("histogram", {"a"})}
        for query, left in (("one", {"a", "b", "job", "instance"}), ("sum(one)", set()), ("1 - 2", None), ("topk(3, sum(one) by (a, job))", {"a", "job"}),
                            ('sum by (b) (one{a=~"x|y (z)", b!="}"}) > 0', {"b"}), ("100 * rate(two[5m])", {"a", "job", "instance"}),
                            ("histogram_quantile(0.5, sum(rate(three_bucket[5m])) by (le, a))", {"a"}), ("(sum(one) by (a) / sum(rate(two[1m])) by (a)) * 100", {"a"})):
            asked = promql.Query(query, known)
            self.assertEqual((asked.faults, asked.left), ([], left), query)

    def test_files_are_what_the_tables_say(self):
        for name, text in generate.files().items():
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text, f"{name}: run packaging/dashboards/generate.py")

    def test_panels_have_room_and_a_number_of_their_own(self):
        for name in tables.DASHBOARDS:
            taken, numbers = set(), []
            for panel in json.loads(generate.files()[f"{name}.json"])["panels"]:
                at = panel["gridPos"]
                numbers.append(panel["id"])
                places = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(places & taken, f"{name}: {panel['title']} lies on another")
                self.assertLessEqual(at["x"] + at["w"], 24)
                taken |= places
            self.assertEqual(len(numbers), len(set(numbers)))

    def test_alerts_say_what_to_do(self):
        for name, _, wait, severity, summary, runbook in alerts.ALERTS:
            self.assertRegex(wait, r"^\d+m$", name)
            self.assertIn(severity, ("info", "warning", "critical"), name)
            self.assertGreater(min(len(summary), len(runbook)), 20, name)


if __name__ == "__main__":
    unittest.main()
