// Configuration files: what is read, and the line of what is refused.
#include "koord/runtime/config.hpp"

#include <catch2/catch.hpp>

#include "koord/api/types/scheduling_v1/priority_class.hpp"

namespace koord::runtime {
namespace {

TEST_CASE("a configuration that is wrong names file, line and field") {
  const std::string head = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n";
  struct Row {
    std::string text, message;
  };
  const Row rows[] = {
      {"kind: PriorityClass\n", "f.yaml:1: .apiVersion: missing, expected scheduling.k8s.io/v1"},
      {"apiVersion: scheduling.k8s.io/v1\nkind: Pod\n", "f.yaml:2: .kind: \"Pod\", expected PriorityClass"},
      {head + "valeu: 1\n", "f.yaml:3: .valeu: "},
      {head + "metadata:\n  name: a\nvalue: x\n", "f.yaml:5: .value: "},
      {head + "value: 1\nvalue: 2\n", "f.yaml:4: .value: the key is there twice"},
      {"- 1\n", "f.yaml:1: .apiVersion: missing, expected scheduling.k8s.io/v1"},
      {"", "f.yaml:1: .apiVersion: missing, expected scheduling.k8s.io/v1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    api::PriorityClass object;
    const auto done = read_config(row.text, "f.yaml", api::schema<api::PriorityClass>(), &object);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().message().substr(0, row.message.size()) == row.message);
  }
  api::PriorityClass object;
  REQUIRE(read_config(head + "value: 7\n", "f.yaml", api::schema<api::PriorityClass>(), &object).has_value());
  CHECK(object.value == 7);
  const auto missing = load_config<api::PriorityClass>("no/such/file");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message() == "no/such/file: No such file or directory");
}

}  // namespace
}  // namespace koord::runtime
