"""Every gate of the agent is asked for somewhere, or says that it has no effect; nobody asks for one that is in no table."""
import glob
import os
import re
import unittest

TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 4))
AGENT = os.path.join(TREE, "roles", "koordlet")
ROW = re.compile(r'gate_o(?:n|ff)\(\s*"(\w+)"(,?)')
# Who asks: a strategy's list of gates, a collector's row, and code.
ASKS = (re.compile(r"kGates\[\] = \{([^}]*)\}"), re.compile(r"\.gate = ([^,}]*)"), re.compile(r"\benabled\(([^()]*)\)"))
CONSTANT = re.compile(r'\b(k\w+) = "(\w+)"')


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"//[^\n]*", "", file.read())


def asked_of(text):
    """The gates that a source asks for, by name or by a constant of the same file."""
    constants = dict(CONSTANT.findall(text))
    found = set()
    for pattern in ASKS:
        for words in pattern.findall(text):
            found |= set(re.findall(r'"(\w+)"', words))
            found |= {constants[word] for word in re.findall(r"\bk\w+", words) if word in constants}
    return found


# By a name that is given to them: a strategy's list, a collector's row, and the table itself.
PASSED_ON = [("framework/hooks/desk.cpp", "gate"), ("framework/qos/manager.cpp", "gate"), ("setup/agent.cpp", "gate"),
             ("setup/gates.cpp", "gate.name")]
CALL = re.compile(r"\benabled\(((?:[^()]|\([^()]*\))*)\)")


def unread_of(text):
    """What is asked for by no name that stands in the same source."""
    constants = dict(CONSTANT.findall(text))
    return [words for words in CALL.findall(text)
            if not re.search(r'"\w+"', words) and not set(re.findall(r"\bk\w+", words)) & set(constants)]


def differences(table, asked):
    """What is wrong between a table's text and the gates that somebody asks for."""
    rows = ROW.findall(table)
    told = {name for name, comma in rows if comma}
    return sorted(asked - {name for name, _ in rows}), sorted(told - asked), sorted(asked & {name for name, comma in rows if not comma})


class Gates(unittest.TestCase):
    def setUp(self):
        paths = glob.glob(os.path.join(AGENT, "**", "*.?pp"), recursive=True)
        self.table = text_of(os.path.join(AGENT, "setup", "gates.cpp"))
        self.asked = set().union(*(asked_of(text_of(path)) for path in paths if os.path.basename(path) != "gates.cpp"))

    def test_are_asked_for_or_have_no_effect(self):
        self.assertGreater(len(self.asked), 15)
        unknown, unused, silent = differences(self.table, self.asked)
        self.assertEqual(unknown, [], "asked for, and in no table")
        self.assertEqual(unused, [], "nobody asks for them: leave out their help, so that they say so")
        self.assertEqual(silent, [], "they have an effect and say that they have none")

    def test_a_gate_without_a_user_fails(self):
        table = self.table + 'gate_off("Fresh", "Does something."), gate_on("Idle"),'
        self.assertEqual(differences(table, self.asked), ([], ["Fresh"], []))

    def test_a_user_without_a_gate_fails(self):
        asked = asked_of('if (gates.enabled("Unheard")) {}\nkMine = "Other";\nkGates[] = {kMine};\n.gate = "BECPUManager",')
        self.assertEqual(asked, {"Unheard", "Other", "BECPUManager"})
        self.assertEqual(differences(self.table, self.asked | asked), (["Other", "Unheard"], [], ["BECPUManager"]))

    def test_a_form_that_names_no_gate_fails(self):
        """Somebody asks by a name that nobody here can read: the gates that it stands for would count as without a user."""
        paths = glob.glob(os.path.join(AGENT, "**", "*.?pp"), recursive=True)
        unread = sorted((os.path.relpath(path, AGENT), words) for path in paths for words in unread_of(text_of(path)))
        self.assertEqual(unread, PASSED_ON)
        self.assertEqual(unread_of('if (gates.enabled(name_of(row))) {}'), ["name_of(row)"])
        self.assertEqual(unread_of('gates.enabled(kFar) || enabled("Near")'), ["kFar"])
        self.assertEqual(unread_of('constexpr auto kNear = "Near"; enabled(kNear)'), [])


if __name__ == "__main__":
    unittest.main()
