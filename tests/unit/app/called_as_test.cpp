// By which name the program was called, and what of the line that decides.
#include "app/called_as.hpp"

#include <catch2/catch.hpp>

namespace koord::app {
namespace {

using Words = std::vector<std::string>;

struct Row {
  std::string_view program;
  Words given, taken;
};

TEST_CASE("the program's name chooses the role") {
  const Row rows[] = {
      {"koord", {"--v=2"}, {"--v=2"}},
      {"/usr/bin/koord", {}, {}},
      {"/koordlet", {"-addr=:9316", "--v=2"}, {"--role=koordlet", "-addr=:9316", "--v=2"}},
      {"/koord-manager", {}, {"--role=manager"}},
      {"koord-scheduler", {"--config=/c"}, {"--role=scheduler", "--config=/c"}},
      {"./koord-descheduler", {"--v", "4"}, {"--role=descheduler", "--v", "4"}},
      {"/usr/local/bin/koord-runtime-proxy", {"--help"}, {"--role=proxy", "--help"}},
      {"/koord-device-daemon", {}, {"--role=device-daemon"}},
      // kubectl's plugin looks at clusters, unless the line says otherwise.
      {"kubectl-koord", {"top"}, {"top", "--cluster"}},
      {"kubectl-koord", {"top", "--addr=n:9316", "--once"}, {"top", "--addr=n:9316", "--once"}},
      {"kubectl-koord", {"top", "--cluster=true"}, {"top", "--cluster=true"}},
      {"kubectl-koord", {"explain", "pod", "p"}, {"explain", "pod", "p"}},
      {"/usr/bin/kubectl-koord", {}, {"__kubectl-help"}},
      {"/usr/bin/kubectl-koord", {"-h"}, {"__kubectl-help"}},
      {"/usr/bin/kubectl_complete-koord", {"top", "--"}, {"__kubectl-complete", "top", "--"}},
      // A line that says roles itself, or begins with a command, means what it says.
      {"/koordlet", {"--role=manager", "--v=2"}, {"--role=manager", "--v=2"}},
      {"/koordlet", {"-role", "koordlet"}, {"-role", "koordlet"}},
      {"/koordlet", {"top", "--once"}, {"top", "--once"}},
      {"/koordlet", {"--", "--role=manager"}, {"--role=koordlet", "--", "--role=manager"}},
      // Names that are no names of it.
      {"", {"--v=2"}, {"--v=2"}},
      {"/", {"--v=2"}, {"--v=2"}},
      {"/koordlet/", {"--v=2"}, {"--v=2"}},
      {"/koordlet/koord", {"--v=2"}, {"--v=2"}},
      {"koordlet.old", {"--v=2"}, {"--v=2"}},
      {"Koordlet", {"--v=2"}, {"--v=2"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.program, row.given);
    CHECK(arguments_as_called(row.program, row.given) == row.taken);
  }
}

TEST_CASE("roles that a line names") {
  const std::pair<Words, Words> rows[] = {
      {{}, {}},
      {{"--role=a"}, {"a"}},
      {{"-role=a,b", "--v=2", "--role", "c"}, {"a", "b", "c"}},
      {{"--role"}, {}},
      {{"--role="}, {""}},
      {{"--", "--role=a"}, {}},
      {{"--roles=a", "role=b"}, {}},
  };
  for (const auto& [given, named] : rows) {
    CAPTURE(given);
    CHECK(named_roles(given) == named);
  }
}

TEST_CASE("each name stands once") {
  for (const ProgramName& name : program_names()) {
    CAPTURE(name.name);
    CHECK(std::ranges::count(program_names(), name.name, &ProgramName::name) == 1);
  }
}

}  // namespace
}  // namespace koord::app
