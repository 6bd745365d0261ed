"""Which labels a query of Prometheus leaves, and what in it no metric has; of the parts of PromQL that the dashboards use."""
import re

TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[A-Za-z_:][\w:]*|\d[\w.]*|[<>=!]=|[=!]~|[-+*/%^<>=(){}\[\],])')
AGGREGATIONS = {"sum", "avg", "min", "max", "count"}
FIRST = {"topk", "bottomk"}  # of a number and a vector, whose labels stay
FUNCTIONS = {"rate", "increase", "changes"}
# What tells of a counter more than its sum since the start; the sum of several is asked for on purpose.
OF_COUNTERS = FUNCTIONS | {"sum"}
OPERATORS = {"+", "-", "*", "/", "%", "^", "==", "!=", "<", ">", "<=", ">=", "and", "or", "unless"}
SUFFIXES = ("_bucket", "_sum", "_count")
TARGET = {"job", "instance"}  # Prometheus' own, of each process that it asks


class Query:
    """`left` are the labels of what it comes to, None of a number; `faults` what is wrong in it. `known`: {metric: (type, labels)}."""

    def __init__(self, text, known):
        self.known, self.faults = known, []
        self.tokens = [match.group(1) for match in TOKEN.finditer(text)]
        if (rest := TOKEN.sub("", text).strip()):
            self.faults.append(f"promql.py does not know '{rest}'")
        self.left = self.binary(())
        if self.tokens:
            self.faults.append(f"'{self.tokens[0]}' is too much")

    def take(self, *wanted):
        if not self.tokens or wanted and self.tokens[0] not in wanted:
            self.faults.append(f"{' or '.join(wanted) or 'something'} is missing before '{''.join(self.tokens[:1])}'")
            return ""
        return self.tokens.pop(0)

    def next_is(self, *wanted):
        return bool(self.tokens) and self.tokens[0] in wanted

    def names(self, begin, end):
        """What stands between two brackets, without what stands between the commas."""
        self.take(begin)
        found = []
        while self.tokens and not self.next_is(end):
            found.append(self.take())
            while self.tokens and not self.next_is(",", end):
                self.take()
            if self.next_is(","):
                self.take()
        self.take(end)
        return found

    def only(self, labels, there, of):
        self.faults += [f"{of} has no label {label}" for label in labels if there is None or label not in there]

    def binary(self, within):
        """All operators alike, from left to right: which comes first is nothing to labels."""
        left = self.operand(within)
        while self.next_is(*OPERATORS):
            sign, right = self.take(), self.operand(within)
            if left is not None and right is not None and left != right:
                self.faults.append(f"left and right of {sign} have other labels, and match nowhere: {sorted(left)} and {sorted(right)}")
            left = right if left is None else left
        return left

    def operand(self, within):
        if self.next_is("("):
            self.take()
            left = self.binary(within)
            self.take(")")
            return left
        name = self.take()
        if not name or name[0].isdigit():
            return None
        if name in AGGREGATIONS:
            return self.aggregation(name, within)
        if name == "histogram_quantile" or name in FIRST:
            return self.second(name, within)
        if name in FUNCTIONS:
            self.take("(")
            left = self.binary((*within, name))
            self.take(")")
            return left
        return self.selector(name, within)

    def aggregation(self, name, within):
        by = self.by() if self.next_is("by") else []
        self.take("(")
        there = self.binary((*within, name))
        self.take(")")
        by = by or (self.by() if self.next_is("by") else [])
        self.only(by, there, f"what is left in {name}")
        return set(by)

    def by(self):
        self.take("by")
        return self.names("(", ")")

    def second(self, name, within):
        self.take("(")
        self.binary(within)
        self.take(",")
        left = self.binary((*within, name))
        self.take(")")
        if name in FIRST:
            return left
        self.only(["le"], left, f"what is left in {name}")
        return (left or set()) - {"le"}

    def selector(self, name, within):
        base = next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end) and name.removesuffix(end) in self.known), name)
        kind, labels = self.known.get(base, ("", set()))
        if not kind:
            self.faults.append(f"no metric {name}")
        elif (kind == "histogram") != (base != name):
            self.faults.append(f"{name} is of a {kind}")
        elif kind == "counter" and not OF_COUNTERS & set(within):
            self.faults.append(f"{name} is a counter, and its sum since the start says nothing")
        labels = labels | TARGET | ({"le"} if name == base + "_bucket" else set())
        if self.next_is("{"):
            self.only(self.names("{", "}"), labels, name)
        if self.next_is("["):
            self.names("[", "]")
        return labels
