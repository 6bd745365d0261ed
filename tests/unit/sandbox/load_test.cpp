// Manifests: pieces, lines, mistakes.
#include "sandbox/load/loader.hpp"

#include "live_cluster.hpp"

using namespace koord;
using namespace koord::sandbox;

TEST_CASE("manifests are read piece by piece, mistakes are named") {
  struct Row {
    std::string text;
    int objects;
    std::string error;
  };
  const Row rows[] = {
      {R"({"kind":"List","apiVersion":"v1","items":[{"kind":"A"},{"kind":"B","items":[{}]}]})", 2, ""},
      {R"({"kind":"A"}{"kind":"B"})", 2, ""},
      {R"({"kind":"ConfigMap","data":{"items":[1]}})", 1, ""},
      {"kind: A\n---\n# nothing\n---\nkind: B\n", 2, ""},
      {"apiVersion: v1\nkind: List\nitems:\n- kind: A\n- kind: B\n", 2, ""},
      {"", 0, ""},
      {R"({"kind":"List","items":[{"kind":"A"})", 1, "f: the list does not end"},
      {"{\"a\":1}\n{\"b\":", 1, "f:2: the object does not end"},
      {"kind: A\nkind: B\n", 0, "f:2: .kind: the key is there twice"},
      {"a: [", 0, "f:1: "},
      {"kind: A\n---\n# a remark\nkind: B\nkind: B\n", 1, "f:5: .kind: the key is there twice"},
      {"kind: A\n---\na: " + std::string(std::size_t{17} << 20, 'x'), 1, "f:3: a YAML document of "},
      {"kind: A\n---\n- 1\n", 1, "f:3: expected an object"},
      {std::string(400'000, '['), 0, "f:1: nested too deeply"},
      {"kind: A\n---\na: " + std::string(400'000, '['), 1, "f:3: nested too deeply"},
      {"{\"kind\":\"A\"}\n{\"a\":" + std::string(400'000, '['), 1, "f:2: the object does not end"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text.substr(0, 60));
    ManifestReader reader = ManifestReader::from_text(row.text, "f");
    int objects = 0;
    std::string error;
    for (;;) {
      auto item = reader.next();
      if (!item) error = item.error().message();
      if (!item || !*item) break;
      ++objects;
    }
    CHECK(objects == row.objects);
    CHECK((row.error.empty() ? error.empty() : error.starts_with(row.error)));
  }
  LiveCluster cluster;
  CHECK(load_object(cluster.verbs, TestCluster::pod("loaded")).has_value());
  auto refused =
      load_object(cluster.verbs, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{}})");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message() == "Pod \"x\" is invalid: spec.containers: Required value");
  const std::string brackets(400'000, '['), ends(400'000, ']');
  CHECK_FALSE(load_object(cluster.verbs, R"({"apiVersion":"v1","kind":"Pod","spec":)" + brackets + ends + "}")
                  .has_value());
}
