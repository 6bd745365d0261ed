"""packaging/REFERENCE.md: the metrics that it lists, and what a running role shows that it does not."""
import os
import re

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "packaging", "REFERENCE.md")
ROW = re.compile(r"\| (\w+) \| (counter|gauge|histogram) \| ([\w, ]*) \| (.*) \|")
SERIES = re.compile(r"([A-Za-z_:][\w:]*?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? ")


def listed(role):
    """{name: (type, labels, meaning)} of the process and of `role`."""
    with open(PATH, encoding="utf-8") as file:
        chapters = re.split(r"^## ", file.read(), flags=re.MULTILINE)
    rows = [ROW.fullmatch(line) for chapter in chapters if chapter.startswith(("The process\n", f"--role={role}\n"))
            for line in chapter.splitlines()]
    return {row[1]: (row[2], set(filter(None, row[3].split(", "))), row[4]) for row in rows if row}


def unlisted(exposition, role, common=()):
    """The lines of a role's /metrics that the reference has otherwise or not at all; `common`: labels that all have."""
    known, wrong = listed(role), []
    for line in exposition.splitlines():
        if line.startswith("# "):
            _, what, name, text = line.split(" ", 3)
            kind, _, meaning = known.get(name, ("", set(), ""))
            if text != (meaning if what == "HELP" else kind):
                wrong.append(line)
            continue
        name, labels = SERIES.match(line).groups()
        names = set(re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', labels or "")) - {"le", *common}
        wanted = [known[one][1] for one in (name, line.split("{")[0].split(" ")[0]) if one in known]
        if names not in wanted:
            wrong.append(line)
    return wrong
