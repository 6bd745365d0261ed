#!/usr/bin/env python3
"""packaging/koordlet.service: what it runs after a stop, by what systemd says of the stop."""
import os
import shlex
import subprocess
import tempfile
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def unit():
    """Its settings, each with all its values; a backslash at the end of a line joins it with the next."""
    settings = {}
    with open(os.path.join(TREE, "packaging", "koordlet.service"), encoding="utf-8") as file:
        for line in file.read().replace("\\\n", " ").splitlines():
            if line and line[0] not in "#[":
                name, value = line.split("=", 1)
                settings.setdefault(name, []).append(value.strip())
    return settings


class AfterAStop(unittest.TestCase):
    def cleans_up(self, result, jobs):
        """Whether --cleanup runs; `jobs` is what systemctl prints of the unit, None where there is no systemctl."""
        command, = unit()["ExecStopPost"]
        with tempfile.TemporaryDirectory(prefix="koord-unit.") as folder:
            told = os.path.join(folder, "told")
            self.program(folder, "koord", f'echo "$@" >> {told}')
            if jobs is not None:
                self.program(folder, "systemctl", f'test "$*" = "list-jobs --plain --no-legend koordlet.service" && printf "{jobs}"')
            self.program(folder, "grep", 'exec /bin/grep "$@"')
            words = [word.replace("$$", "$").replace("%n", "koordlet.service").replace("/usr/bin/koord", f"{folder}/koord")
                     for word in shlex.split(command)]
            done = subprocess.run(words, env={"PATH": folder, "SERVICE_RESULT": result}, capture_output=True, text=True, timeout=20)
            self.assertEqual(done.returncode, 0, done.stderr)
            if not os.path.exists(told):
                return False
            with open(told, encoding="utf-8") as file:
                self.assertEqual([line.split()[-1] for line in file.readlines()], ["--cleanup", "--cleanup=undo"])
            return True

    def program(self, folder, name, script):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(path, 0o755)

    def test_that_is_meant_to_be_for_good_what_was_held_back_is_set_free(self):
        for what, result, jobs, cleans in (
                ("systemctl stop", "success", "1204 koordlet.service stop running\\n", True),
                ("systemctl stop of an agent that hangs", "timeout", "7 koordlet.service stop    running\\n", True),
                ("systemctl restart", "success", "1204 koordlet.service restart running\\n", False),
                ("try-restart", "success", "1204 koordlet.service try-restart running\\n", False),
                ("it ended by itself, to be started again", "success", "", False),
                ("a crash", "signal", "", False),
                ("a crash while it stops", "core-dump", "1 koordlet.service stop running\\n", False),
                ("the watchdog", "watchdog", "", False),
                ("it failed", "exit-code", "", False),
                ("no systemctl", "success", None, False)):
            with self.subTest(what):
                self.assertEqual(self.cleans_up(result, jobs), cleans)


class TheUnit(unittest.TestCase):
    def test_is_watched_and_comes_back(self):
        settings = unit()
        for name, value in (("Type", "notify"), ("Restart", "always"), ("StartLimitIntervalSec", "0"),
                            ("RuntimeDirectoryPreserve", "yes")):
            self.assertEqual(settings[name], [value])
        self.assertGreaterEqual(int(settings["WatchdogSec"][0]), 60)  # ticks may be missing for 30 s

    def test_cleans_up_what_it_runs(self):
        """The same file says what is held back and what is set free."""
        settings = unit()
        config, = (word for word in settings["ExecStart"][0].split() if word.startswith("--standalone-config="))
        self.assertIn(f" {config} ", settings["ExecStopPost"][0])


if __name__ == "__main__":
    unittest.main()
