"""Every flag of the agent is read somewhere, or says when it is used that it does nothing, and why."""
import glob
import os
import re
import unittest

TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 4))
AGENT = os.path.join(TREE, "roles", "koordlet")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Flags(unittest.TestCase):
    def test_are_read_or_warn(self):
        table = text_of(os.path.join(AGENT, "setup", "flags.cpp"))
        rows = re.findall(r'^    (\w*)[({]"([a-z-]+)", FlagType::', table, re.MULTILINE)
        self.assertGreater(len(rows), 100)
        rest = "".join(text_of(path) for path in glob.glob(os.path.join(AGENT, "**", "*.?pp"), recursive=True))
        for kind, name in rows:
            with self.subTest(name):
                self.assertIn(kind, ("", "ignored", "later"))
                # Its row is one mention, its reader another.
                self.assertEqual(rest.count(f'"{name}"') > 1, kind == "")


if __name__ == "__main__":
    unittest.main()
