// What the shells are told: the tables' words, by role, command and name.
// tests/roles/process/completion_test.py runs it in bash.
#include <catch2/catch.hpp>

#include "sample_program.hpp"

namespace koord::app {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("both shells list what the tables have") {
  for (const std::string& script : {bash_completion(sample_program()), zsh_completion(sample_program())}) {
    CHECK_THAT(script, Contains("_koord_commands() { printf '%s\\n' crds top; }\n"));
    CHECK_THAT(script, Contains("_koord_roles() { printf '%s\\n' koordlet scheduler; }\n"));
    CHECK_THAT(script, Contains("_koord_process_flags() { printf '%s\\n' --role= --help; }\n"));
    CHECK_THAT(script, Contains("    koordlet) printf '%s\\n' --addr= --quiet ;;\n"));
    CHECK_THAT(script, Contains("    koordlet) printf '%s\\n' Evicts= ;;\n"));
    CHECK_THAT(script, Contains("    top) printf '%s\\n' --once --file= ;;\n"));
    CHECK_THAT(script, Contains("    koord-runtime-proxy) printf '%s\\n' proxy ;;\n"));
    CHECK_THAT(script, !Contains("crds)") && !Contains("--old") && !Contains("--no-flag") &&
                           !Contains("Kubernetes="));
  }
}

TEST_CASE("kubectl is told what may follow, of the plugin's commands alone") {
  struct Row {
    std::vector<std::string> words;
    const char* told;
  };
  for (const Row& row : {Row{{}, "top\ta table\n:4\n"},
                         {{""}, "top\ta table\n:4\n"},
                         {{"t"}, "top\ta table\n:4\n"},
                         {{"c"}, ":4\n"},  // crds are none of it
                         {{"top", "--"}, "--once\n--file=\n:4\n"},
                         {{"top", "--f"}, "--file=\n:4\n"},
                         {{"top", ""}, ":4\n"},
                         {{"explain", "r"}, "reservation\n:4\n"},
                         {{"nothing", "--"}, ":4\n"}}) {
    CAPTURE(row.words);
    CHECK(plugin_completion(sample_program(), row.words) == row.told);
  }
  CHECK(plugin_help(sample_program()) ==
        "kubectl koord: co-location at a glance, and why pods wait. It reads; it writes nothing.\n\n"
        "  kubectl koord top           a table\n"
        "\nEach has --help, -o json|yaml|wide, --kubeconfig and --context.\n");
}

}  // namespace
}  // namespace koord::app
