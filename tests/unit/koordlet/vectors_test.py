"""The table of README.md: the tests that it names exist, and its sums are right."""
import os
import re
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
UNIT = os.path.dirname(HERE)
ROLES = os.path.join(os.path.dirname(UNIT), "roles", "koordlet")


def rows():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 5 and cells[1].isdigit():
                yield cells[0], [int(cell) for cell in cells[1:4]], cells[4]


def files():
    """(folder, file, where) of the second table."""
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 3 and cells[0].startswith("`"):
                for name in cells[1].split(", "):
                    yield cells[0].strip("`"), name, cells[2]


def named(cell):
    """(file, test) of "`file`: "a", "b"; `other`: "c"". """
    for part in re.findall(r'`([^`]+)`: ((?:"[^"]*"(?:, )?)+)', cell):
        for test in re.findall(r'"([^"]*)"', part[1]):
            yield part[0], test


class Vectors(unittest.TestCase):
    def test_named_tests_exist(self):
        texts, count = {}, 0
        for original, _, ours in rows():
            for name, test in named(ours):
                path = os.path.join(ROLES, os.path.basename(name)) if name.startswith("roles/") else os.path.join(UNIT, name)
                if path not in texts:
                    with open(path, encoding="utf-8") as file:
                        texts[path] = file.read()
                wanted = f"def {test}(" if name.endswith(".py") else f'TEST_CASE("{test}"'
                self.assertTrue(wanted in texts[path].replace("\n          ", ""), f"{original}: {name} has no {wanted}")
                count += 1
        self.assertGreater(count, 50)

    def test_rows_with_figures_or_tests_name_ours(self):
        for original, (figures, tests, _), ours in rows():
            if original != "**all**":
                self.assertEqual(figures + tests > 0, bool(list(named(ours))), original)

    def test_sums(self):
        parts = [numbers for original, numbers, _ in rows() if original != "**all**"]
        total, = (numbers for original, numbers, _ in rows() if original == "**all**")
        self.assertEqual([sum(column) for column in zip(*parts)], total)

    def test_files_are_named_once(self):
        seen = [(folder, name) for folder, name, _ in files()]
        self.assertGreater(len(seen), 150)
        self.assertEqual(sorted(set(seen)), sorted(seen))

    @unittest.skipUnless(os.environ.get("KOORDINATOR_SOURCE"), "KOORDINATOR_SOURCE names no tree")
    def test_no_file_is_missing(self):
        top = os.path.join(os.environ["KOORDINATOR_SOURCE"], "pkg", "koordlet")
        found = [(os.path.relpath(folder, top), name.removesuffix("_test.go"))
                 for folder, _, names in os.walk(top) for name in names if name.endswith("_test.go")]
        self.assertEqual(sorted(found), sorted((folder, name) for folder, name, _ in files()))


if __name__ == "__main__":
    unittest.main()
