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
import tables  # noqa: E402

KOORD = os.environ.get("KOORD", os.path.join(TREE, "build", "koord"))
# Prometheus' own, of each target, and the agent's common one.
COMMON = {"job", "instance", "node", "le"}
WORDS = {"sum", "rate", "increase", "by", "histogram_quantile", "topk", "count", "changes", "and", "unless", "avg", "max"}
SUFFIXES = {"_bucket", "_sum", "_count"}


def metrics():
    """{name: (type, labels)} of `koord docs`."""
    text = subprocess.run([KOORD, "docs"], capture_output=True, text=True, check=True).stdout
    return {name: (kind, set(filter(None, labels.split(", ")))) for name, kind, labels in re.findall(r"^\| (\w+) \| (gauge|counter|histogram) \| ([^|]*) \|", text, re.M)}


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
    """What of it no role has."""
    bare = re.sub(r'"[^"]*"', '""', query)
    found, labels_of = [], set(COMMON)
    for name in re.findall(r"\b[a-z][a-z0-9_]*_[a-z0-9_]+\b(?=[{\[ )]|$)", re.sub(r"\{[^}]*\}|by \([^)]*\)", " ", bare)):
        if name in WORDS:
            continue
        base = next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end) and name.removesuffix(end) in known), name)
        if base not in known:
            found.append(f"no metric {name}")
            continue
        kind, labels = known[base]
        if (kind == "histogram") != (base != name):
            found.append(f"{name} is of a {kind}")
        if kind == "counter" and not re.search(r"(rate|increase)\(\s*" + name, bare) and "sum" not in bare and "changes(" not in bare:
            found.append(f"{name} is a counter, and its sum since the start says nothing")
        labels_of |= labels
    said = [label for part in re.findall(r"\{([^}]*)\}", bare) for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", part)]
    said += [label.strip() for part in re.findall(r"by \(([^)]*)\)", bare) for label in part.split(",")]
    said += re.findall(r"\{\{(\w+)\}\}", legend) + re.findall(r"\$labels\.(\w+)", legend)
    found += [f"no label {label}" for label in said if label not in labels_of]
    return found


class Dashboards(unittest.TestCase):
    def test_queries_name_what_the_roles_have(self):
        known, count = metrics(), 0
        self.assertGreater(len(known), 150)
        for where, query, legend in queries():
            count += 1
            self.assertEqual(faults(query, legend, known), [], f"{where}: {query}")
            self.assertEqual(query.count("("), query.count(")"), where)
        self.assertGreater(count, 150)

    def test_the_check_fails_where_it_should(self):
        known = metrics()
        for query, legend in (("sum(koordlet_nothing_at_all)", ""), ('koordlet_devices{colour="red"}', ""), ("sum(koordlet_devices) by (colour)", ""),
                              ("koordlet_devices", "{{colour}}"), ("koordlet_tick_lateness_seconds", ""), ("koordlet_devices_sum", ""),
                              ("koordlet_ticks_missed_total > 5", "")):
            self.assertNotEqual(faults(query, legend, known), [], query)

    def test_legends_name_what_is_left(self):
        """What a sum is not made by is not there any more."""
        for where, query, legend in queries():
            outer = re.match(r"(?:topk\(\d+, )?(?:sum|count|histogram_quantile|\(?sum)\b", query)
            kept = re.findall(r"by \(([^)]*)\)", query)
            if outer and where.startswith("koord") and "{{" in legend:
                self.assertTrue(kept, f"{where}: {query}")
                left = {label.strip() for part in kept for label in part.split(",")}
                self.assertLessEqual(set(re.findall(r"\{\{(\w+)\}\}", legend)), left, f"{where}: {query}")

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
