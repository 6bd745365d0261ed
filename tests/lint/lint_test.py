"""Tests of the lint scripts themselves: each rule must be able to fail."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import include_graph
import tree_rules


class IncludeGraph(unittest.TestCase):
    def violations(self, path, line, others=()):
        files = {other: "" for other in others}
        files[path] = line + "\n"
        return list(include_graph.check(files))

    def test_allowed(self):
        cases = [
            ("include/koord/kube/client.hpp", '#include "koord/api/meta.hpp"'),
            ("src/kube/client.cpp", "#include <boost/beast/http.hpp>"),
            ("src/kube/client.cpp", '#include "http_pool.hpp"'),
            ("roles/scheduler/role.cpp", '#include "koord/runtime/role.hpp"'),
            ("roles/scheduler/plugins/fit/fit.cpp", '#include "../../framework/plugin.hpp"'),
            ("src/app/start.cpp", '#include "roles/scheduler/role.hpp"'),
            ("src/main.cpp", '#include "app/app.hpp"'),
            ("src/precompiled.hpp", "#include <boost/asio.hpp>"),
            ("tests/support/reference/cycle.cpp", '#include "koord/api/rules/pod_requests.hpp"'),
            ("tests/support/reference/cycle.cpp", '#include "support/reference/cycle.hpp"'),
        ]
        others = ["src/kube/http_pool.hpp", "roles/scheduler/framework/plugin.hpp", "roles/scheduler/role.hpp",
                  "src/app/app.hpp", "include/koord/api/meta.hpp", "include/koord/runtime/role.hpp"]
        for path, line in cases:
            with self.subTest(path=path, line=line):
                self.assertEqual(self.violations(path, line, others), [])

    def test_forbidden(self):
        cases = [
            ("include/koord/base/log.hpp", '#include "koord/async/channel.hpp"', "base may not depend on async"),
            ("src/kube/client.cpp", '#include "koord/host/root.hpp"', "kube may not depend on host"),
            ("src/json/value.cpp", '#include "koord/net/tls.hpp"', "json may not depend on net"),
            ("src/net/server.cpp", '#include "koord/api/meta.hpp"', "net may not depend on api"),
            ("tests/support/reference/cycle.cpp", '#include "framework/plugin.hpp"', "the oracle has koord/api alone"),
            ("tests/support/reference/cycle.cpp", "#include <koord/kube/client.hpp>", "the oracle has koord/api alone"),
            ("include/koord/api/json.hpp", "#include <rapidjson/reader.h>", "a seam includes"),
            ("include/koord/kube/stream.hpp", "#include <boost/beast/core.hpp>", "a seam includes"),
            ("include/koord/host/cri.hpp", '#include "runtime.pb.h"', "a seam includes"),
            ("src/kube/client.cpp", '#include "../api/codec.hpp"', "a private header of api"),
            ("src/kube/client.cpp", '#include "api/codec.hpp"', "a private header of api"),
            ("src/kube/client.cpp", '#include "codec.hpp"', "a private header of api"),
            ("roles/scheduler/role.cpp", '#include "roles/manager/role.hpp"', "only app and the role itself"),
            ("roles/scheduler/role.cpp", '#include "../manager/role.hpp"', "only app and the role itself"),
            ("roles/scheduler/role.cpp", '#include "koord/sandbox/server.hpp"', "roles may not depend on sandbox"),
            ("roles/scheduler/role.cpp", '#include "api/codec.hpp"', "a private header of api"),
            ("src/sandbox/server.cpp", '#include "roles/scheduler/role.hpp"', "only app and the role itself"),
            ("src/main.cpp", '#include "koord/base/log.hpp"', "main is one call into app"),
            ("src/kube/client.cpp", "#include <boost/asio.hpp>", "umbrella"),
            ("src/misc/x.cpp", "", "no place in the order"),
        ]
        others = ["src/api/codec.hpp", "roles/manager/role.hpp", "roles/scheduler/role.hpp",
                  "include/koord/base/log.hpp"]
        for path, line, reason in cases:
            with self.subTest(path=path, line=line):
                found = self.violations(path, line, [other for other in others if other != path])
                self.assertEqual(len(found), 1, found)
                self.assertIn(reason, found[0])

    def test_names_the_line(self):
        files = {"src/base/a.cpp": "// a\n\n#include \"koord/api/meta.hpp\"\n"}
        self.assertTrue(list(include_graph.check(files))[0].startswith("src/base/a.cpp:3: "))


class TreeRules(unittest.TestCase):
    def reasons(self, path, text):
        return [reason for _, reason in tree_rules.judge(path, text)]

    def test_clean(self):
        self.assertEqual(self.reasons("include/koord/base/a.hpp", "// A.\n#pragma once\n"), [])
        self.assertEqual(self.reasons("src/base/a.cpp", '#include "koord/base/a.hpp"\n'), [])
        self.assertEqual(self.reasons(".ci/run", "#!/bin/bash\n"), [])
        self.assertEqual(self.reasons("tests/golden/list.json", "x\n" * 9000), [])

    def test_each_rule(self):
        cases = [
            ("docs/a.md", "", "top level"),
            ("src/base/a.cpp", "// a\n" * 601, "ceiling"),
            ("src/base/utils.cpp", "// a\n", "bucket"),
            ("src/base/a.cpp", "// a\nco_spawn(x, y, asio::detached);\n", "detached"),
            ("src/base/a.cpp", "// a\nstd::this_thread::sleep_for(1s);\n", "sleeps"),
            ("src/base/a.cpp", "// a\n// TODO later\n", "unfinished"),
            ("src/base/a.cpp", "// a\nint x; \n", "blanks"),
            ("src/base/a.cpp", "#include <x>\n", "comment"),
            ("src/host/a.cpp", "// a\nconstexpr std::uint64_t kPage = 4096;\n", "page_size"),
            ("roles/koordlet/a.cpp", "// a\nreturn bytes / 4096;\n", "page_size"),
            ("include/koord/base/a.hpp", "// a\n", "pragma once"),
            ("packaging/x.sh", "# a\ncd /home/someone/koord\n", "path of one machine"),
        ]
        for path, text, reason in cases:
            with self.subTest(path=path, text=text):
                found = self.reasons(path, text)
                self.assertEqual(len(found), 1, found)
                self.assertIn(reason, found[0])

    def test_each_plugin_has_a_test(self):
        plugin = "roles/scheduler/plugins/fit/fit.cpp"
        cases = [
            ([plugin, "roles/scheduler/plugins/fit/args.cpp"], 1),
            ([plugin, "tests/unit/scheduler/fit_test.cpp"], 0),
            ([plugin, "tests/unit/scheduler/plugins/fit_test.cpp"], 0),
            ([plugin, "tests/unit/koordlet/plugins/fit_test.cpp"], 1),
            ([plugin, "tests/unit/scheduler/plugins/unfit_test.cpp"], 1),
            (["roles/koordlet/strategies/suppress/README.md"], 1),
            (["roles/scheduler/plugins.cpp"], 0),
        ]
        for paths, expected in cases:
            with self.subTest(paths=paths):
                self.assertEqual(len(list(tree_rules.untested_plugins(paths))), expected)

    def test_joins(self):
        two = 'a = "x" + b;\nb = c + "y";\nint d = 1 + 2;\n'
        for path, most, expected in [("src/base/a.cpp", 2, 0), ("src/base/a.cpp", 1, 1), ("tests/unit/base/a.cpp", 0, 0)]:
            with self.subTest(path=path, most=most):
                self.assertEqual(len(list(tree_rules.too_many_joins({path: two}, most))), expected)

    def test_insertion_in_order(self):
        cases = [
            ("const auto at = std::lower_bound(list.begin(), list.end(), one);\nlist.insert(at, one);\n", 1),
            ("list.insert(std::upper_bound(list.begin(), list.end(), one), one);\n", 1),
            ("const auto place = [&](auto& k) {\n  return std::ranges::lower_bound(pools, k); };\npools.insert(place(k), p);\n", 1),
            ("const auto at = std::lower_bound(list.begin(), list.end(), one);\nset.insert(one);\n", 0),
            ("const auto at = names.find(one);\nlist.insert(at, one);\n", 0),
        ]
        for text, expected in cases:
            with self.subTest(text=text):
                self.assertEqual(len(list(tree_rules.inserted_in_order(text))), expected)

    def test_rows_name_tests_that_exist(self):
        table = "| difference | reason | test |\n|---|---|---|\n"
        row = "| What one two three four five six seven eight | a | tests/unit/a_test.cpp |\n"
        cases = [
            (table + row, []),
            (table + row + "\n## Two\n\n" + table + row.replace("What one", "What else"), []),
            (table + row + row.replace("eight", "nine"), ["begins as line 3"]),
            (table + row + "\n## Two\n\n" + table + row, ["begins as line 3"]),
            (table + row.replace("a_test", "b_test"), ["'tests/unit/b_test.cpp' does not exist"]),
            (table + row.replace("tests/unit/a_test.cpp", "as above"), ["names no test"]),
        ]
        for text, expected in cases:
            with self.subTest(text=text):
                found = [reason for _, _, reason in
                         tree_rules.untrue_rows({"packaging/COMPATIBILITY.md": text}, {"tests/unit/a_test.cpp"})]
                self.assertEqual(len(found), len(expected), found)
                for reason, part in zip(found, expected):
                    self.assertIn(part, reason)
        faults = {"tests/FAULTS.md": table + row.replace("tests/unit", "unit")}
        self.assertEqual(list(tree_rules.untrue_rows(faults, {"tests/unit/a_test.cpp"})), [])

    def test_repeated_passages(self):
        passage = "".join(f"int n{i} = f({i});\n// so\n\n" for i in range(tree_rules.PASSAGE))
        longer, shorter = passage + passage.replace("n", "m"), passage.split("// so", 1)[1]
        for paths, text, expected in [(("include/koord/base/a.hpp", "src/net/a.cpp"), passage, 1),
                                      (("src/net/a.cpp", "src/net/b.cpp"), longer, 0),
                                      (("include/koord/net/a.hpp", "src/net/a.cpp"), passage, 0),
                                      (("roles/koordlet/a.cpp", "roles/scheduler/a.cpp"), passage, 1),
                                      (("src/net/a.cpp", "src/kube/b.cpp"), shorter, 0),
                                      (("src/net/a.cpp", "tests/unit/kube/b.cpp"), passage, 0)]:
            with self.subTest(paths=paths):
                self.assertEqual(len(list(tree_rules.repeated_passages({path: text for path in paths}))), expected)


if __name__ == "__main__":
    unittest.main()
