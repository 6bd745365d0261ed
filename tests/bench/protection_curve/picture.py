"""The frontier as a picture: p99 beside alone against how much of the machine is used, for each kind of best-effort work.
An SVG with a background of its own, so that it can be read on dark pages, too."""
import html
import math

import figures

WIDTH, HEIGHT, LEFT, TOP, GAP_X, GAP_Y = 300, 230, 64, 112, 28, 58
INK, FAINT, PAPER, AIM = "#1f2328", "#d0d7de", "#ffffff", "#dafbe1"
# Arm: colour and shape; both differ, for eyes that do not tell colours apart.
MARKS = {"alone": ("#1f2328", "diamond"), "unprotected": ("#cf222e", "square"), "kubelet": ("#cf222e", "square"),
         "weights": ("#bc4c00", "up"), "idle": ("#0969da", "circle"), "threshold 50": ("#8250df", "down"),
         "threshold 65": ("#8250df", "square"), "threshold 80": ("#8250df", "up"), "original 65": ("#6e7781", "circle"),
         "blame": ("#1a7f37", "diamond"), "blame and idle": ("#1a7f37", "circle")}
TICKS = (1, 1.1, 1.25, 1.5, 2, 3, 4)
LOWEST, HIGHEST = 0.85, 4.5  # of the scale; what is above stands at its edge, with its number


def shape(kind, x, y, colour, size=5.0):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}"/>'
    around = {"square": [(-1, -1), (1, -1), (1, 1), (-1, 1)], "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
              "up": [(0, -1.2), (1.2, 1), (-1.2, 1)], "down": [(0, 1.2), (1.2, -1), (-1.2, -1)]}[kind]
    points = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in around)
    return f'<polygon points="{points}" fill="{colour}"/>'


def text(x, y, content, size=12, anchor="start", colour=INK, **more):
    extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"{extra}>'
            f"{html.escape(content)}</text>")


class Panel:
    """One kind of best-effort work in one phase."""

    def __init__(self, left, top, cpus):
        self.left, self.top, self.cpus = left, top, cpus

    def x(self, machine):
        return self.left + WIDTH * min(1.0, max(0.0, (machine / self.cpus - 0.2) / 0.8))

    def y(self, times):
        low = math.log(LOWEST)
        return self.top + HEIGHT * (1 - (math.log(min(HIGHEST, max(LOWEST, times))) - low) / (math.log(HIGHEST) - low))

    def frame(self, heading, first_column, last_row):
        right, bottom = self.left + WIDTH, self.top + HEIGHT
        corner = self.x(figures.AIM_MACHINE * self.cpus)
        yield (f'<rect x="{corner:.1f}" y="{self.y(figures.AIM_TIMES):.1f}" width="{right - corner:.1f}" '
               f'height="{bottom - self.y(figures.AIM_TIMES):.1f}" fill="{AIM}"/>')
        for tick in TICKS:
            yield f'<line x1="{self.left}" x2="{right}" y1="{self.y(tick):.1f}" y2="{self.y(tick):.1f}" stroke="{FAINT}"/>'
            if first_column:
                yield text(self.left - 6, self.y(tick) + 4, f"{tick:g}", 11, "end")
        for percent in range(20, 101, 20):
            at = self.x(percent / 100 * self.cpus)
            yield f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{self.top}" y2="{bottom}" stroke="{FAINT}"/>'
            if last_row:
                yield text(at, bottom + 16, f"{percent}%", 11, {20: "start", 100: "end"}.get(percent, "middle"))
        yield f'<rect x="{self.left}" y="{self.top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="{INK}"/>'
        yield text(self.left, self.top - 8, heading, 13, font_weight="600")

    def points(self, points):
        line = sorted((point.machine, point.times[0]) for point in points if point.arm.startswith("threshold"))
        path = " ".join(f"{self.x(machine):.1f},{self.y(times):.1f}" for machine, times in line)
        yield f'<polyline points="{path}" fill="none" stroke="{MARKS["threshold 65"][0]}" stroke-dasharray="4 3"/>'
        for point in points:
            middle, low, high = point.times
            if math.isnan(middle):
                continue
            colour, kind = MARKS.get(point.arm, (INK, "circle"))
            x = self.x(point.machine)
            if not math.isinf(high):
                yield (f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.y(low):.1f}" y2="{self.y(high):.1f}" stroke="{colour}" '
                       'stroke-width="1.5"/>')
            yield shape(kind, x, self.y(middle), colour)
            if middle > HIGHEST:
                yield text(x - 9, self.top + 14, f"{middle:.0f} \u2191", 11, "end", colour)


def draw(result):
    """Of the scenario in which the service does what it can, on plain groups."""
    cpus = result["machine"]["cpus"]
    panels = {key: phases for key, phases in figures.panels(result).items() if key[:2] == ("plain", "service")}
    kinds = [kind for kind in ("spinners", "streamers", "forkers") if ("plain", "service", kind) in panels]
    rows = [phase for phase in ("steady", "bursts") if any(phase in phases for phases in panels.values())]
    width = LEFT + len(kinds) * (WIDTH + GAP_X)
    height = TOP + len(rows) * (HEIGHT + GAP_Y) + 6
    heading = f"p99 of the service, times that of the service alone, against how much of {cpus} CPUs is used"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="Helvetica, Arial, sans-serif">', f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
             text(16, 26, heading, 15, font_weight="600")]
    names = []
    for line, phase in enumerate(rows):
        for column, kind in enumerate(kinds):
            points = panels[("plain", "service", kind)][phase]
            panel = Panel(LEFT + column * (WIDTH + GAP_X), TOP + line * (HEIGHT + GAP_Y), cpus)
            parts += panel.frame(f"{kind}, {phase}", column == 0, line + 1 == len(rows))
            parts += panel.points(points)
            names += [point.arm for point in points if point.arm not in names]
        middle = TOP + line * (HEIGHT + GAP_Y) + HEIGHT / 2
        parts.append(text(20, middle, "p99, times alone (log)", 12, "middle", transform=f"rotate(-90 20 {middle:.1f})"))
    x = 22
    for name in (name for name in figures.ORDER if name in names):
        parts += [shape(MARKS[name][1], x, 52, MARKS[name][0]), text(x + 10, 56, name)]
        x += 26 + 7.2 * len(name)
    parts.append(f'<rect x="16" y="66" width="12" height="12" fill="{AIM}" stroke="{FAINT}"/>')
    parts.append(text(34, 76, f"the aim: within {figures.AIM_TIMES - 1:.0%} of alone with {figures.AIM_MACHINE:.0%} of the "
                      "machine in use. Bars: 95% intervals over the repeats.", 12))
    parts.append(text(LEFT + (width - LEFT) / 2, height - 12, "the machine in use", 12, "middle"))
    return "\n".join([*parts, "</svg>", ""])
