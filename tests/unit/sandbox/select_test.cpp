// Selectors of very many terms, against very many objects.
#include "cluster.hpp"
#include "moment.hpp"
#include "support/sanitized.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

Selection parsed(const Registry& registry, const std::string& labels, const std::string& fields = "") {
  auto selection = Selection::parse(labels, fields, registry.get("", "pods"));
  REQUIRE(selection.has_value());
  return *std::move(selection);
}

}  // namespace

TEST_CASE("terms of one label or field hold together") {
  struct Row {
    std::string labels, fields;
    bool matches;
  };
  const Row rows[] = {
      {"a in (1,2),a in (2,3)", "", true},
      {"a in (1,3),a in (3,4)", "", false},
      {"a!=1,a!=3", "", true},
      {"a!=1,a!=2", "", false},
      {"a,!b", "", true},
      {"!a", "", false},
      {"a>1,a>0,a<3", "", true},
      {"a>1,a>2", "", false},
      {"a>1,a!=2", "", false},
      {"b notin (x),c!=y,a=2", "", true},
      {"a=2,b", "", false},
      {"", "status.phase=Running,status.phase!=Failed", true},
      {"", "status.phase=Running,status.phase=Failed", false},
      {"", "status.phase!=Failed,status.phase!=Running", false},
      {"", "spec.nodeName=,metadata.name=p", true},
      {"", "spec.nodeName!=", false},
  };
  TestCluster cluster;
  Object pod;
  pod.name = "p";
  pod.labels = {{"a", "2"}, {"z", "1"}};
  pod.fields = {{"status.phase", "Running"}};
  for (const Row& row : rows) {
    CAPTURE(row.labels, row.fields);
    CHECK(parsed(cluster.registry, row.labels, row.fields).matches(pod) == row.matches);
  }
}

TEST_CASE("a hundred thousand terms against twenty thousand objects take a moment") {
  TestCluster cluster;
  std::string absent, values, fields;
  const int terms = static_cast<int>(test::hostile(100'000)),
            objects = static_cast<int>(test::hostile(20'000));
  for (int i = 0; i < terms; ++i) {
    absent += fmt::format("{}!k{}", i ? "," : "", i);
    values += fmt::format("{}v{}", i ? "," : "", i);
    fields += fmt::format("{}metadata.name!=n{}", i ? "," : "", i);
  }
  const Moment moment;
  for (const auto& selection :
       {parsed(cluster.registry, absent), parsed(cluster.registry, fmt::format("x in ({})", values)),
        parsed(cluster.registry, "", fields)}) {
    Object object;
    object.name = "p";
    object.labels = {{"a", "1"}, {"b", "2"}, {"x", fmt::format("v{}", terms - 1)}};
    int found = 0;
    for (int i = 0; i < objects; ++i) found += selection.matches(object);
    CHECK(found == objects);
  }
}
