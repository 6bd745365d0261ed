#!/usr/bin/env python3
"""The README's pictures, of what koord printed.

usage: draw.py [--check]   draws day.svg of day.txt, top.svg and explain.svg of their texts, protection.svg of MEASURED.md's table;
                           --check writes nothing, and fails where one is not what would be drawn
       draw.py record      writes the texts: plays the demonstration's day (packaging/demo, three minutes), asks `koord top --cluster` and
                           `koord explain` in its afternoon; then draws

All follow the reader's light or dark mode."""
import html
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
KOORD = os.environ.get("KOORD", os.path.join(TREE, "build", "koord"))
DAY_SECONDS, ASKED, AFTERNOON = 180, 87, range(13, 17)
COLUMNS = 124  # of a terminal in a picture, at most
# By name: in light mode, in dark.
COLOURS = {"paper": ("#ffffff", "#0d1117"), "ink": ("#1f2328", "#e6edf3"), "dim": ("#59636e", "#9198a1"), "line": ("#d1d9e0", "#3d444d"),
           "services": ("#4c8dd6", "#3f7cc0"), "batch": ("#58a55c", "#468f4a"), "bar": ("#f6f8fa", "#151b23"), "red": ("#c8332c", "#ff7b72")}


def colours(mode):
    return "".join(f".f-{name}{{fill:{each[mode]}}}.s-{name}{{stroke:{each[mode]}}}" for name, each in COLOURS.items())


STYLE = f"""<style>
text{{font-family:system-ui,"Segoe UI",Helvetica,Arial,sans-serif;font-size:13px}}
.mono{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12px;white-space:pre}}
.head{{font-weight:600;font-size:15px}}.small{{font-size:12px}}.end{{text-anchor:end}}.middle{{text-anchor:middle}}
{colours(0)}
@media (prefers-color-scheme:dark){{{colours(1)}}}
</style>"""


def picture(width, height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">\n'
            f'<title>{html.escape(title)}</title>\n{STYLE}\n<rect width="{width}" height="{height}" rx="8" class="f-paper"/>\n'
            + "\n".join(body) + "\n</svg>\n")


def text(x, y, words, style=""):
    colour = "f-dim" if "small" in style else "f-ink"
    return f'<text x="{x:g}" y="{y:g}" class="{" ".join((colour, *style.split()))}" xml:space="preserve">{html.escape(words)}</text>'


def line(x1, y1, x2, y2, colour="line", more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="s-{colour}" {more}/>'


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


# -- the day

ROW = re.compile(r"^ *(\d\d):(\d\d) +(\d+)% +(\d+)% +\S+ +(\d+) CPUs +\d+ +\d+ +\d+ +(\d+)%", re.M)
TOTAL = 12 * 16


def day():
    printed = read("day.txt")
    rows, last = [], -1.0
    for hour, minute, services, batch, lent, without in ROW.findall(printed):
        at = int(hour) + int(minute) / 60
        if at <= last:
            break  # the next day
        last = at
        rows.append((at, int(services), int(batch), 100 * int(lent) / TOTAL, int(without)))
    asked = int(re.search(r"services ask for (\d+)%", printed).group(1))
    left, top, wide, high = 52, 56, 700, 260
    x, y = lambda hour: left + wide * hour / 24, lambda share: top + high * (1 - share / 100)
    body = [text(16, 26, "A day with co-location: 12 nodes of 16 CPUs, usage in percent of all CPUs", "head")]
    for share in range(0, 101, 25):
        body += [line(left, y(share), left + wide, y(share)), text(left - 8, y(share) + 4, f"{share}%", "small end")]
    for hour in range(0, 25, 6):
        body.append(text(x(hour), top + high + 18, f"{hour:02}:00", "small middle"))

    def area(lower, upper, colour):
        way = [(x(row[0]), y(upper(row))) for row in rows] + [(x(row[0]), y(lower(row))) for row in reversed(rows)]
        return f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in way)}" class="f-{colour}"/>'

    def curve(of, colour, more):
        way = " ".join(f"{x(row[0]):.1f},{y(of(row)):.1f}" for row in rows)
        return f'<polyline points="{way}" fill="none" class="s-{colour}" stroke-width="2" {more}/>'

    body += [area(lambda row: 0, lambda row: row[1], "services"), area(lambda row: row[1], lambda row: row[1] + row[2], "batch"),
             curve(lambda row: row[1] + row[4], "ink", 'stroke-dasharray="5 4"'), line(left, y(asked), left + wide, y(asked), "red", 'stroke-width="2"'),
             text(left + 6, y(asked) - 6, f"services ask for {asked}%")]
    at = left
    for colour, words in (("services", "services use"), ("batch", "batch work uses, with koord")):
        body += [f'<rect x="{at}" y="{top + high + 34}" width="14" height="14" class="f-{colour}"/>', text(at + 20, top + high + 46, words)]
        at += 130 if colour == "services" else 220
    body += [line(at, top + high + 41, at + 24, top + high + 41, "ink", 'stroke-width="2" stroke-dasharray="5 4"'),
             text(at + 32, top + high + 46, "what both use without co-location")]
    return picture(left + wide + 32, top + high + 64, "A day of usage with co-location and without", body)


# -- a terminal

def terminal(name):
    rows = [row[:COLUMNS - 1] + "~" if len(row) > COLUMNS else row for row in read(name + ".txt").rstrip("\n").split("\n")]
    wide, step = round(7.3 * max(map(len, rows)) + 32), 17
    body = [f'<rect width="{wide:g}" height="30" rx="8" class="f-bar"/>', *(
        f'<circle cx="{20 + 18 * at}" cy="15" r="5" class="f-line"/>' for at in range(3))]
    body += [text(16, 52 + step * at, row, "mono") for at, row in enumerate(rows) if row]
    return picture(f"{wide:g}", 52 + step * len(rows), f"koord {name} in a terminal", body)


# -- protection in one panel

ARMS = (("kubelet", "the kubelet's own weights", "dim"), ("original 65", "Koordinator, threshold 65", "red"),
        ("idle", "koord, cpu.idle", "batch"))
CELL = re.compile(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)")


def protection():
    """Of MEASURED.md's table of a real node: p99 of a steady rate, and of bursts, against best-effort work that is done."""
    with open(os.path.join(TREE, "packaging", "MEASURED.md"), encoding="utf-8") as file:
        table = re.search(r"^\| spinners on a real node .*?(?=\n\n)", file.read(), re.M | re.S).group(0)
    cells = {row.split("|")[1].strip(): [cell.strip() for cell in row.split("|")[2:-1]] for row in table.splitlines()}
    left, top, wide, high = 60, 76, 520, 250
    x, y = lambda work: left + wide * work / 1.5, lambda ratio: top + high * (1 - (ratio - 0.5) / 4.5)
    body = [text(16, 26, "How late a service answers, beside how much batch work is done", "head"),
            text(16, 46, "p99, times that of the service alone, with 95% intervals; a real node of 2 CPUs", "small")]
    for ratio in (0.5, 1, 2, 3, 4, 5):
        body += [line(left, y(ratio), left + wide, y(ratio)), text(left - 8, y(ratio) + 4, f"{ratio:g}", "small end")]
    for work in (0, 0.5, 1, 1.5):
        body.append(text(x(work), top + high + 18, f"{work:g}", "small middle"))
    body.append(text(left + wide / 2, top + high + 38, "CPUs that batch work used", "small middle"))
    for at, (arm, words, colour) in enumerate(ARMS):
        for ratio, work, filled in ((cells[arm][0], cells[arm][1], True), (cells[arm][3], cells[arm][4], False)):
            middle, low, up = map(float, CELL.match(ratio).groups())
            work = float(work)
            body += [line(x(work), y(low), x(work), y(up), colour, 'stroke-width="2"'),
                     f'<circle cx="{x(work):.1f}" cy="{y(middle):.1f}" r="7" stroke-width="2.5" '
                     f'class="s-{colour} f-{colour if filled else "paper"}"/>']
        body += [f'<circle cx="{left + wide + 30}" cy="{top + 20 + 26 * at}" r="7" class="f-{colour}"/>',
                 text(left + wide + 46, top + 25 + 26 * at, words)]
    for at, (words, filled) in enumerate((("filled: a steady rate", True), ("hollow: bursts", False))):
        body += [f'<circle cx="{left + wide + 30}" cy="{top + 120 + 26 * at}" r="7" stroke-width="2.5" '
                 f'class="s-ink f-{"ink" if filled else "paper"}"/>', text(left + wide + 46, top + 125 + 26 * at, words)]
    return picture(left + wide + 240, top + high + 56, "p99 of a service against batch work that is done, by means of protection", body)


# Batch work that no node has room for now.
POD = """apiVersion: v1
kind: Pod
metadata: {name: crunch, labels: {koordinator.sh/qosClass: BE}}
spec:
  schedulerName: koord-scheduler
  priorityClassName: koord-batch
  containers:
  - name: main
    image: none
    resources: {requests: {kubernetes.io/batch-cpu: "12000", kubernetes.io/batch-memory: 4Gi}}
"""
DRAWN = {"day.svg": day, "top.svg": lambda: terminal("top"), "explain.svg": lambda: terminal("explain"), "protection.svg": protection}


def asked(kubeconfig, *words):
    return subprocess.run([KOORD, *words, f"--kubeconfig={kubeconfig}"], capture_output=True, text=True, timeout=60, check=True,
                          env={**os.environ, "COLUMNS": str(COLUMNS)}).stdout.rstrip("\n")


def write(name, words):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write(words)


def record():
    demo = subprocess.Popen([sys.executable, "-u", os.path.join(TREE, "packaging", "demo", "demo.py"), f"--day={DAY_SECONDS}", f"--asked={ASKED}"],
                            stdout=subprocess.PIPE, text=True, env={**os.environ, "KOORD": KOORD})
    printed, kubeconfig, begun, told = [], "", 0.0, False
    for row in demo.stdout:
        printed.append(row)
        kubeconfig = kubeconfig or (re.findall(r"KUBECONFIG=(\S+)", row) or [""])[0]
        if ROW.match(row):
            begun = begun or time.monotonic()
            if int(ROW.match(row).group(1)) in AFTERNOON and not told:
                told = True
                table = re.sub(r"https://\S+", "https://127.0.0.1:6443", asked(kubeconfig, "top", "--cluster", "--once", "--rows=6"))
                write("top.txt", "$ koord top --cluster --once --rows=6\n" + table + "\n")
                with tempfile.NamedTemporaryFile("w", suffix=".yaml") as pod:
                    pod.write(POD)
                    pod.flush()
                    write("explain.txt", "$ koord explain -q -f pod.yaml\n" + asked(kubeconfig, "explain", "-q", "-f", pod.name) + "\n")
            if time.monotonic() - begun > DAY_SECONDS - 2:
                demo.send_signal(signal.SIGINT)
    demo.wait(60)
    write("day.txt", re.sub(r"^  export KUBECONFIG=.*\n", "", "".join(printed), flags=re.M))


def main():
    if sys.argv[1:] == ["record"]:
        record()
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] not in ([], ["record"], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = [name for name, draw in DRAWN.items() if check and draw() != read(name)]
    if stale:
        print(f"draw.py: not what would be drawn: {', '.join(stale)}", file=sys.stderr)
    for name, draw in DRAWN.items() if not check else ():
        write(name, draw())
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
