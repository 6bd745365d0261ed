"""Fenced blocks of Markdown pages, with what a test is to do with each, and links between pages.

A fence says it behind its language: `sh WHERE [stays]`, `yaml KIND`, or `text printed`.
  sh sandbox         run beside a `koord sandbox`           sh machine       run on a machine of the test's own
  sh kube-apiserver  run beside a real API server           sh not-run-here  not run; the page says so, and why
  yaml manifest      an object, or several                  yaml strategy    keys of slo-controller-config
  yaml scheduler     a KubeSchedulerConfiguration           yaml descheduler, standalone   likewise
A YAML block begins with `# FILE.yaml`, the name under which the page's commands look for it. `stays` is a program that runs
until the page ends. `text printed` is what the block before it prints; `...` stands for anything. `text` alone is a drawing.
Blocks without a fence, which are indented, are the README's alone: tests/roles/readme/readme_test.py runs each of its lines."""
import collections
import os
import re

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCS = os.path.join(TREE, "packaging", "docs")
README = os.path.join(TREE, "README.md")
WHERE = {"sh": ("sandbox", "machine", "kube-apiserver", "not-run-here"), "text": ("", "printed"),
         "yaml": ("manifest", "strategy", "scheduler", "descheduler", "standalone")}
NOT_RUN = re.compile(r"\bnot run\b", re.I)
FENCE = re.compile(r"^```(.*)$")
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
FILE = re.compile(r"# ([\w.-]+\.yaml)$")

Block = collections.namedtuple("Block", "page line language where stays text said")


def pages(folder=DOCS):
    """Of all documentation, the README too; or of a folder."""
    first = [README] if folder == DOCS else []
    return first + sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".md"))


def blocks(page):
    """Its fenced blocks, in order; `said` is the paragraph before each."""
    found, said, inside, begun, blank = [], [], None, 0, True
    with open(page, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = FENCE.match(line)
            if match and inside is None:
                words, inside, begun = [*match.group(1).split(), "", "", ""], [], number
            elif match:
                found.append(Block(page, begun, words[0] or "text", words[1], "stays" in words, "".join(inside), " ".join(said)))
                inside, said = None, []
            elif inside is not None:
                inside.append(line)
            elif line.strip():
                said = [*said, line.strip()] if not blank else [line.strip()]
            if inside is None:
                blank = not line.strip()
    return found


def indented(page):
    """(number, line) of what is a block by its blanks alone, and no fence says anything of."""
    found, inside, block, blank = [], False, False, True
    with open(page, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            inside ^= bool(FENCE.match(line))
            block = not inside and bool(line.strip()) and bool(re.match(r"    |\t", line)) and (block or blank)
            if block:
                found.append((number, line.strip()))
            blank = not line.strip()
    return found


def file_of(block):
    """The name that a YAML block gives itself."""
    match = FILE.match(block.text.split("\n", 1)[0])
    return match and match.group(1)


def anchors(page):
    """GitHub's names of its headings."""
    with open(page, encoding="utf-8") as file:
        heads = re.findall(r"^#+ (.*)$", file.read(), re.M)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head).strip().lower() for head in heads]
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in plain}


def broken_links(page):
    """What it links to in this tree and is not there."""
    with open(page, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
    for link in (one or other for one, other in LINK.findall(text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(to):
            yield link
        elif anchor and to.endswith(".md") and anchor not in anchors(to):
            yield link
