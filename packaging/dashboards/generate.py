"""Makes Grafana's dashboards and Prometheus' alert rules of the tables beside this file.

usage: generate.py [--check] [--recording-rules]
  --check            writes nothing; fails where a file is not what the tables say
  --recording-rules  prints every panel's query as a recording rule: what `promtool check rules` can parse
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import alerts  # noqa: E402
import tables  # noqa: E402

WIDTH, HEIGHT, STAT_WIDTH, STAT_HEIGHT = 12, 8, 4, 4
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def query_of(text, job, rate="$__rate_interval", whole="$__range"):
    if job is None:
        assert "JOB" not in text, text
    text = text.replace("JOB", f'job=~"{job}"' if job else "")
    return text.replace("RATE", rate).replace("RANGE", whole)


def panel_of(number, panel, job, at):
    title, unit, queries, kind, meaning = panel
    shape = {"timeseries": "timeseries", "stack": "timeseries"}.get(kind, kind)
    custom = {"drawStyle": "line", "fillOpacity": 20 if kind == "stack" else 0, "stacking": {"mode": "normal" if kind == "stack" else "none"}}
    options = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
    if kind in ("stat", "bargauge"):
        custom, options = {}, {"reduceOptions": {"calcs": ["lastNotNull"]}}
    return {"id": number, "type": shape, "title": title, "description": meaning, "datasource": SOURCE, "gridPos": at, "options": options,
            "fieldConfig": {"defaults": {"unit": unit, "custom": custom}, "overrides": []},
            "targets": [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": query_of(text, job), "legendFormat": legend} for i, (text, legend) in enumerate(queries)]}


def dashboard_of(name):
    title, chosen_by, rows = tables.DASHBOARDS[name]
    job = "$job" if chosen_by else None
    panels, top, number = [], 0, 0
    for row, members in rows:
        number += 1
        panels.append({"id": number, "type": "row", "title": row, "collapsed": False, "gridPos": {"x": 0, "y": top, "w": 24, "h": 1}, "panels": []})
        top += 1
        left = tall = 0
        for panel in members:
            wide, high = (STAT_WIDTH, STAT_HEIGHT) if panel[3] == tables.STAT else (WIDTH, HEIGHT)
            if left + wide > 24 or (left and high != tall):
                top, left = top + tall, 0
            number += 1
            panels.append(panel_of(number, panel, job, {"x": left, "y": top, "w": wide, "h": high}))
            left, tall = left + wide, high
        top += tall
    variables = [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}]
    if chosen_by:
        variables.append({"name": "job", "type": "query", "datasource": SOURCE, "query": f"label_values({chosen_by}, job)", "refresh": 2, "includeAll": True,
                          "allValue": ".*", "multi": True, "label": "Job"})
    return {"uid": name, "title": title, "tags": ["koord"], "schemaVersion": 39, "timezone": "browser", "refresh": "30s", "time": {"from": "now-1h", "to": "now"},
            "templating": {"list": variables}, "panels": panels}


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def alert_rules():
    lines = ["# Made from alerts.py: see generate.py.", "groups:", "- name: koord", "  rules:"]
    for name, expression, wait, severity, summary, runbook in alerts.ALERTS:
        lines += [f"  - alert: {name}", f"    expr: {quoted(expression)}", f"    for: {wait}", f"    labels: {{severity: {severity}}}", "    annotations:",
                  f"      summary: {quoted(summary)}", f"      runbook: {quoted(runbook)}"]
    return "\n".join(lines) + "\n"


def recording_rules():
    lines, number = ["groups:", "- name: panels", "  rules:"], 0
    for name, (_, chosen_by, rows) in tables.DASHBOARDS.items():
        for _, members in rows:
            for _, _, queries, _, _ in members:
                for text, _ in queries:
                    number += 1
                    query = query_of(text, ".*" if chosen_by else None, "5m", "1h")
                    lines += [f"  - record: panel:{re.sub('[^a-z]', '_', name)}:{number}", f"    expr: {quoted(query)}"]
    return "\n".join(lines) + "\n"


def files():
    made = {f"{name}.json": json.dumps(dashboard_of(name), indent=1, ensure_ascii=False) + "\n" for name in tables.DASHBOARDS}
    made["alerts.yaml"] = alert_rules()
    return made


def main(words):
    if words == ["--recording-rules"]:
        sys.stdout.write(recording_rules())
        return 0
    stale = []
    for name, text in files().items():
        path = os.path.join(HERE, name)
        old = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        if old == text:
            continue
        stale.append(name)
        if words != ["--check"]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if words == ["--check"] and stale:
        print(f"not what the tables say: {', '.join(stale)}; run packaging/dashboards/generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
