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
            ("src/net/http_machine.hpp", "#include <boost/beast/http/field.hpp>"),
            ("tests/bench/json_bench.cpp", "#include <rapidjson/writer.h>"),
            ("src/kube/client.cpp", '#include "http_pool.hpp"'),
            ("roles/scheduler/role.cpp", '#include "koord/runtime/role.hpp"'),
            ("roles/scheduler/plugins/fit/fit.cpp", '#include "../../framework/plugin.hpp"'),
            ("src/app/start.cpp", '#include "roles/scheduler/role.hpp"'),
            ("roles/scheduler/queue/driver.cpp", '#include "koord/scheduling/engine.hpp"'),
            ("src/scheduling/engine.cpp", '#include "koord/runtime/role.hpp"'),
            ("src/main.cpp", '#include "app/app.hpp"'),
            ("src/precompiled.hpp", "#include <boost/asio.hpp>"),
            ("src/precompiled.hpp", '#include "koord/api/meta.hpp"'),
            ("src/scheduling/precompiled.hpp", '#include "../precompiled.hpp"'),
            ("tests/support/reference/cycle.cpp", '#include "koord/api/rules/pod_requests.hpp"'),
            ("tests/support/reference/cycle.cpp", '#include "support/reference/cycle.hpp"'),
        ]
        others = ["src/kube/http_pool.hpp", "roles/scheduler/framework/plugin.hpp", "roles/scheduler/role.hpp",
                  "src/app/app.hpp", "include/koord/api/meta.hpp", "include/koord/runtime/role.hpp",
                  "include/koord/scheduling/engine.hpp"]
        for path, line in cases:
            with self.subTest(path=path, line=line):
                self.assertEqual(self.violations(path, line, others), [])

    def test_forbidden(self):
        cases = [
            ("include/koord/base/log.hpp", '#include "koord/async/channel.hpp"', "base may not depend on async"),
            ("src/kube/client.cpp", '#include "koord/host/root.hpp"', "kube may not depend on host"),
            ("src/json/value.cpp", '#include "koord/net/tls.hpp"', "json may not depend on net"),
            ("src/net/server.cpp", '#include "koord/api/meta.hpp"', "net may not depend on api"),
            ("src/net/server.cpp", '#include "precompiled.hpp"', "it is the build's"),
            ("tests/unit/net/server_test.cpp", '#include "../../../src/precompiled.hpp"', "it is the build's"),
            ("tests/support/reference/cycle.cpp", '#include "framework/plugin.hpp"', "the oracle has koord/api and koord/cel alone"),
            ("tests/support/reference/cycle.cpp", "#include <koord/kube/client.hpp>", "the oracle has koord/api and koord/cel alone"),
            ("include/koord/api/json.hpp", "#include <rapidjson/reader.h>", "a seam includes"),
            ("include/koord/kube/stream.hpp", "#include <boost/beast/core.hpp>", "a seam includes"),
            ("src/kube/client.cpp", "#include <boost/beast/http/field.hpp>", "at home in src/net/ alone"),
            ("roles/proxy/relay.cpp", "#include <boost/beast/http/field.hpp>", "at home in src/net/ alone"),
            ("tests/unit/net/server_test.cpp", "#include <boost/beast/http/field.hpp>", "at home in src/net/ alone"),
            ("src/api/codec.cpp", "#include <rapidjson/reader.h>", "at home in src/json/ alone"),
            ("tests/unit/kube/config_test.cpp", "#include <yaml-cpp/yaml.h>", "at home in src/json/ alone"),
            ("include/koord/host/cri.hpp", '#include "runtime.pb.h"', "a seam includes"),
            ("src/kube/client.cpp", '#include "../api/codec.hpp"', "a private header of api"),
            ("src/kube/client.cpp", '#include "api/codec.hpp"', "a private header of api"),
            ("src/kube/client.cpp", '#include "codec.hpp"', "a private header of api"),
            ("roles/scheduler/role.cpp", '#include "roles/manager/role.hpp"', "only app and the role itself"),
            ("roles/scheduler/role.cpp", '#include "../manager/role.hpp"', "only app and the role itself"),
            ("roles/scheduler/role.cpp", '#include "koord/sandbox/server.hpp"', "roles may not depend on sandbox"),
            ("roles/scheduler/role.cpp", '#include "api/codec.hpp"', "a private header of api"),
            ("src/sandbox/server.cpp", '#include "roles/scheduler/role.hpp"', "only app and the role itself"),
            ("roles/scheduler/role.cpp", '#include "scheduling/queue.hpp"', "a private header of scheduling"),
            ("src/scheduling/engine.cpp", '#include "roles/manager/role.hpp"', "only app and the role itself"),
            ("src/scheduling/engine.cpp", '#include "koord/sandbox/server.hpp"', "scheduling may not depend on sandbox"),
            ("src/main.cpp", '#include "koord/base/log.hpp"', "main is one call into app"),
            ("src/kube/client.cpp", "#include <boost/asio.hpp>", "umbrella"),
            ("src/misc/x.cpp", "", "no place in the order"),
        ]
        others = ["src/api/codec.hpp", "roles/manager/role.hpp", "roles/scheduler/role.hpp",
                  "include/koord/base/log.hpp", "src/scheduling/queue.hpp"]
        for path, line, reason in cases:
            with self.subTest(path=path, line=line):
                found = self.violations(path, line, [other for other in others if other != path])
                self.assertEqual(len(found), 1, found)
                self.assertIn(reason, found[0])

    def test_names_the_line(self):
        files = {"src/base/a.cpp": "// a\n\n#include \"koord/api/meta.hpp\"\n"}
        self.assertTrue(list(include_graph.check(files))[0].startswith("src/base/a.cpp:3: "))


class Rooms(unittest.TestCase):
    """A module src/m of folders, each a file that includes others by name."""

    def tree(self, *edges, root="src/sandbox"):
        files = {}
        for path, other in edges:
            files.setdefault(f"{root}/{other}", "")
            files[f"{root}/{path}"] = files.get(f"{root}/{path}", "// a\n") + f'#include "{root.removeprefix("src/")}/{other}"\n'
        return files

    def test_no_knot(self):
        for edges in [[("a/x.cpp", "a/y.hpp"), ("a/y.hpp", "a/z.hpp")],
                      [("a/x.cpp", "b/x.hpp"), ("b/x.hpp", "c/x.hpp"), ("a/x.cpp", "c/x.hpp")],
                      [("a/b/x.cpp", "a/x.hpp")]]:
            with self.subTest(edges=edges):
                self.assertEqual(list(include_graph.check_rooms(self.tree(*edges))), [])

    def test_knots(self):
        cases = [
            ([("a/x.cpp", "b/x.hpp"), ("b/y.cpp", "a/y.hpp")], "a -> b -> a"),
            ([("a/x.cpp", "a/b/x.hpp"), ("a/b/y.cpp", "a/y.hpp")], "a -> a/b -> a"),
            ([("x.cpp", "b/x.hpp"), ("b/y.cpp", "y.hpp")], ". -> b -> ."),
            ([("a/x.cpp", "b/x.hpp"), ("b/x.hpp", "c/x.hpp"), ("c/x.hpp", "a/x.hpp")], "a -> b -> c -> a"),
            ([("a/x.cpp", "b/x.hpp"), ("b/x.hpp", "c/x.hpp"), ("c/x.hpp", "a/x.hpp"), ("c/x.hpp", "b/y.hpp")],
             "b -> c -> b (of 3 rooms: a, b, c)"),
        ]
        for edges, way in cases:
            with self.subTest(edges=edges):
                found = list(include_graph.check_rooms(self.tree(*edges)))
                self.assertTrue(found[0].endswith("rooms of sandbox form a knot: " + way), found)
                self.assertEqual(len(found), 1 + way.split(" (")[0].count("->"), found)

    def test_each_edge_names_its_include(self):
        files = self.tree(("a/x.cpp", "b/x.hpp"), ("a/x.cpp", "b/y.hpp"), ("b/z.cpp", "a/y.hpp"))
        self.assertEqual(list(include_graph.check_rooms(files)), [
            "src/sandbox/a/x.cpp:2: rooms of sandbox form a knot: a -> b -> a",
            "    a -> b: src/sandbox/a/x.cpp:2 includes src/sandbox/b/x.hpp, and 1 more",
            "    b -> a: src/sandbox/b/z.cpp:2 includes src/sandbox/a/y.hpp"])

    def test_seams_and_sources_are_one_room(self):
        files = {"include/koord/kube/a/x.hpp": '#include "koord/kube/b/x.hpp"\n', "include/koord/kube/b/x.hpp": "",
                 "src/kube/b/x.cpp": '#include "koord/kube/a/x.hpp"\n'}
        self.assertIn("rooms of kube form a knot: a -> b -> a", list(include_graph.check_rooms(files))[0])

    def test_a_role_is_a_module(self):
        files = {"roles/manager/a/x.cpp": '#include "b/x.hpp"\n', "roles/manager/b/x.hpp": '#include "../a/x.hpp"\n',
                 "roles/manager/a/x.hpp": "", "roles/scheduler/b/x.hpp": '#include "a/x.hpp"\n', "roles/scheduler/a/x.hpp": ""}
        found = list(include_graph.check_rooms(files))
        self.assertEqual(len(found), 3, found)
        self.assertIn("rooms of roles/manager form a knot: a -> b -> a", found[0])

    def test_rows_of_knots(self):
        files = self.tree(("a/x.cpp", "b/x.hpp"), ("b/y.cpp", "a/y.hpp"))
        self.assertEqual(list(include_graph.check_rooms(files, knots=[("sandbox", ("b", "a"))])), [])
        found = list(include_graph.check_rooms(files, knots=[("sandbox", ("a", "b", "c"))]))
        self.assertIn("form a knot", found[0])
        self.assertIn("has no knot of a, b, c any more", found[-1])
        self.assertIn("has no knot", list(include_graph.check_rooms({}, knots=[("sandbox", ("a", "b"))]))[0])

    def test_plugins(self):
        plugins = "roles/scheduler/plugins"
        for files, expected in [
                ({f"{plugins}/fit/fit.cpp": '#include "args.hpp"\n', f"{plugins}/fit/args.hpp": ""}, 0),
                ({f"{plugins}/fit/fit.cpp": '#include "plugins/spread/args.hpp"\n', f"{plugins}/spread/args.hpp": ""}, 1),
                ({f"{plugins}/fit/fit.cpp": '#include "../spread/args.hpp"\n', f"{plugins}/spread/args.hpp": ""}, 1),
                ({f"{plugins}/fit/fit.cpp": '#include "../table.hpp"\n', f"{plugins}/table.hpp": ""}, 0),
                ({"roles/scheduler/plugins.cpp": '#include "plugins/fit/fit.hpp"\n', f"{plugins}/fit/fit.hpp": ""}, 0),
                ({"src/scheduling/plugins/fit/fit.cpp": '#include "koord/scheduling/plugins/spread/args.hpp"\n',
                  "include/koord/scheduling/plugins/spread/args.hpp": ""}, 1)]:
            with self.subTest(files=files):
                found = list(include_graph.check_plugins(files, (), ()))
                self.assertEqual(len(found), expected, found)
        files = {f"{plugins}/fit/fit.cpp": '#include "../spread/args.hpp"\n', f"{plugins}/spread/args.hpp": ""}
        pair, shared = ("roles/scheduler", "fit", "spread"), {("roles/scheduler", "spread"): "why"}
        self.assertEqual(list(include_graph.check_plugins(files, [pair], ())), [])
        self.assertEqual(list(include_graph.check_plugins(files, (), shared)), [])
        self.assertEqual(len(list(include_graph.check_plugins({}, [pair], shared))), 2)

    def test_folders(self):
        def held(folder, count):
            return [f"{folder}/{number}.cpp" for number in range(count)] + [f"{folder}/meson.build", f"{folder}/README.md"]
        for paths, crowded, expected in [
                (held("src/net", 30), {}, 0), (held("src/net", 31), {}, 1), (held("tests/unit/net", 99), {}, 0),
                (held("src/net", 15) + held("include/koord/net", 16), {}, 0),
                (held("src/net", 33), {"src/net": 33}, 0), (held("src/net", 34), {"src/net": 33}, 1),
                (held("src/net", 30), {"src/net": 33}, 1), ([], {"src/net": 33}, 1)]:
            with self.subTest(count=len(paths), crowded=crowded):
                self.assertEqual(len(list(include_graph.check_folders(paths, crowded))), expected)


class TreeRules(unittest.TestCase):
    def reasons(self, path, text):
        return [reason for _, reason in tree_rules.judge(path, text)]

    def test_clean(self):
        self.assertEqual(self.reasons("include/koord/base/a.hpp", "// A.\n#pragma once\n"), [])
        self.assertEqual(self.reasons("src/base/a.cpp", '#include "koord/base/a.hpp"\n'), [])
        self.assertEqual(self.reasons(".ci/run", "#!/bin/bash\n"), [])
        self.assertEqual(self.reasons("tests/golden/list.json", "x\n" * 9000), [])

    def test_words_of_the_wire(self):
        word = '"koordinator.sh/qosClass"'
        cases = [
            ("include/koord/api/koordinator/classes.hpp", f"// a\n#pragma once\nconstexpr auto kQos = {word};\n"),
            ("tests/unit/api/a_test.cpp", f"// a\nlabels[{word}] = 1;\n"),
            ("src/api/a.cpp", '// a\nKind("slo.koordinator.sh/v1alpha1", "NodeSLO", "nodeslos")\n'),
            ("roles/manager/a.cpp", '// a\n"The label koordinator.sh/priority of a pod may change."\n'),
            ("roles/manager/a.cpp", '// a\n{.name = "vpod.koordinator.sh", .group = "scheduling.koordinator.sh"}\n'),
            ("roles/manager/a.cpp", f"// a\nint x;  // {word}\n"),
            ("src/sandbox/a.cpp", '// a\nconstexpr auto kLoad = "sandbox.koordinator.sh/load";\n'),
        ]
        for path, text in cases:
            with self.subTest(path=path, text=text):
                self.assertEqual(self.reasons(path, text), [])

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
            ("roles/koordlet/a.cpp", '// a\nconstexpr auto kQos = "koordinator.sh/qosClass";\n', "koordinator/ alone"),
            ("src/scheduling/a.cpp", '// a\nif (name == "kubernetes.io/batch-cpu") return;\n', "koordinator/ alone"),
            ("src/scheduling/a.cpp", '// a\nR"([{"name":"koordinator.sh/gpu-core","weight":1}])"\n', "koordinator/ alone"),
            ("include/koord/a.hpp", '// a\n#pragma once\n"gang.scheduling.koordinator.sh/name"\n', "koordinator/ alone"),
            ("roles/manager/a.cpp", '// a\n"koordinator.sh/priority,!koordinator.sh/qosClass"\n', "koordinator/ alone"),
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
            (table + row.replace("a_test.cpp", 'a_test.cpp "One", "goes on in a second line"'), []),
            (table + row.replace("a_test.cpp", 'a_test.cpp "Two"'), ['"Two"']),
        ]
        case = 'TEST_CASE("One that "\n          "goes on in a second line") {'
        for text, expected in cases:
            with self.subTest(text=text):
                found = [reason for _, _, reason in
                         tree_rules.untrue_rows({"packaging/COMPATIBILITY.md": text}, {"tests/unit/a_test.cpp"}, lambda path: case)]
                self.assertEqual(len(found), len(expected), found)
                for reason, part in zip(found, expected):
                    self.assertIn(part, reason)
        faults = {"tests/FAULTS.md": table + row.replace("tests/unit", "unit")}
        self.assertEqual(list(tree_rules.untrue_rows(faults, {"tests/unit/a_test.cpp"})), [])

    def test_untrue_names(self):
        known = {"src/api/README.md", "src/api/schema/codec.cpp", "include/koord/api/schema/codec.hpp", "src/net/README.md"}
        cases = [
            ("`schema/codec.hpp`, `codec.cpp` and `include/koord/api/schema/codec.hpp`\n", 0),
            ("[net](../net/README.md#servers), [the folder](schema), [their site](https://example.org/a.cpp)\n", 0),
            ("`schema/NAME.cpp`, `koord docs`, `/proc/a.py`\n", 0),
            ("`schema/decoder.hpp`\n", 1),
            ("`codec.py` of [hosts](../host/README.md)\n", 2),
        ]
        for text, expected in cases:
            with self.subTest(text=text):
                found = list(tree_rules.untrue_names({"src/api/README.md": text}, known))
                self.assertEqual(len(found), expected, found)

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
