// Strategic merge patches; the results are those of k8s.io/apimachinery's strategicpatch at 0.35.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/api/kinds/patch.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

using namespace koord;
using namespace koord::api;

namespace {
std::string pod(const char* target, const char* patch) {
  auto document = json::parse(target);
  REQUIRE(document.has_value());
  const auto done = strategic_patch(*document, *json::parse(patch), "", "Pod", document->arena());
  return done ? json::to_text(*document) : "error: " + done.error().message();
}
}  // namespace

TEST_CASE("strategic merge patches") {
  struct Case {
    const char *name, *target, *patch, *result;
  };
  const Case cases[] = {
      {"maps merge, null removes", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
       R"({"metadata":{"labels":{"a":null,"c":"3"}}})", R"({"metadata":{"labels":{"b":"2","c":"3"}}})"},
      {"containers by name", R"({"spec":{"containers":[{"name":"a","image":"x","z":1},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"y"},{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"y","z":1},{"name":"c"},{"name":"b"}]}})"},
      {"$patch delete in a list", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"$patch replace in a list", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"replace"},{"name":"z"}]}})",
       R"({"spec":{"containers":[{"name":"z"}]}})"},
      {"$patch replace keeps the new order", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"$patch":"replace"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
      {"$patch replace of a map", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"replace","b":"2"}}})", R"({"metadata":{"labels":{"b":"2"}}})"},
      {"$patch delete of a map", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"delete"}}})", R"({"metadata":{"labels":{}}})"},
      {"tolerations are atomic", R"({"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"spec":{"tolerations":[{"key":"b"}]}})", R"({"spec":{"tolerations":[{"key":"b"}]}})"},
      {"finalizers are a set", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"finalizers":["c","a"]}})", R"({"metadata":{"finalizers":["c","a","b"]}})"},
      {"$deleteFromPrimitiveList", R"({"metadata":{"finalizers":["a","b","c"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"]}})",
       R"({"metadata":{"finalizers":["a","c"]}})"},
      {"$setElementOrder", R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"s"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"c"},{"name":"a"}],"containers":[{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a"},{"name":"s"}]}})"},
      {"$setElementOrder alone", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
      {"$retainKeys", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
       R"({"spec":{"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}})"},
      {"nested keys",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"}],"ports":[{"containerPort":80}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"2"},{"name":"Y","value":null}],"ports":[{"containerPort":80,"name":"h"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"2"},{"name":"Y"}],"ports":[{"containerPort":80,"name":"h"}]}]}})"},
      {"conditions by type", R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"PodScheduled","status":"False"}],"nominatedNodeName":"n"}})",
       R"({"status":{"conditions":[{"type":"PodScheduled","status":"False"},{"type":"Ready","status":"True"}],"nominatedNodeName":"n"}})"},
      {"directives do not land in what is new", "{}",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"$retainKeys":["containers"],"containers":[{"name":"a","x":null},{"$patch":"delete","name":"q"}]}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
      {"an element without its key", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"image":"x"}]}})",
       "error: strategic merge patch: containers: an element lacks the merge key name"},
      {"an unknown directive", "{\"spec\":{}}", R"({"spec":{"$patch":"frob"}})",
       "error: strategic merge patch: unknown $patch directive \"frob\""},
      {"$retainKeys must name what is set", R"({"spec":{"volumes":[{"name":"v"}]}})",
       R"({"spec":{"volumes":[{"name":"v","$retainKeys":["name"],"emptyDir":{}}]}})",
       "error: strategic merge patch: $retainKeys lacks emptyDir, which the patch sets"},
      {"an order that contradicts", R"({"spec":{"containers":[]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"b"},{"name":"a"}]}})",
       "error: strategic merge patch: the order of containers does not match $setElementOrder/containers"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(pod(c.target, c.patch) == c.result);
  }
}

TEST_CASE("a strategic patch of long lists is sorted, not searched") {
  constexpr int kMany = 10'000;
  const auto list = [](auto&& element) {
    std::string text = "[";
    for (int i = 0; i < kMany; ++i) text += element(i) + ",";
    text.back() = ']';
    return text;
  };
  const auto named = [](int i) { return fmt::format(R"({{"name":"e{}","value":"x"}})", i); };
  const auto backwards = [](int i) { return fmt::format(R"({{"name":"e{}"}})", kMany - 1 - i); };
  const auto text = [](int i) { return fmt::format("\"f{}\"", i); };
  const std::string target =
      fmt::format(R"({{"metadata":{{"finalizers":{}}},"spec":{{"volumes":{}}}}})", list(text), list(named));
  const std::string patches[] = {
      fmt::format(R"({{"spec":{{"volumes":{}}}}})", list(backwards)),
      fmt::format(R"({{"spec":{{"volumes":{}}}}})",
                  list([](int i) { return fmt::format(R"({{"$patch":"delete","name":"e{}"}})", i); })),
      fmt::format(R"({{"spec":{{"$setElementOrder/volumes":{},"volumes":{}}}}})", list(backwards),
                  list(backwards)),
      fmt::format(R"({{"spec":{{"$setElementOrder/volumes":{}}}}})", list(backwards)),
      fmt::format(R"({{"metadata":{{"$deleteFromPrimitiveList/finalizers":{}}}}})", list(text)),
      fmt::format(R"({{"metadata":{{"finalizers":{}}}}})",
                  list([](int i) { return fmt::format("\"g{}\"", i); })),
      fmt::format(R"({{"spec":{{"$retainKeys":{}}}}})", list(text)),
  };
  for (const std::string& patch : patches) {
    INFO(patch.substr(0, 60));
    auto document = json::parse(target);
    REQUIRE(document.has_value());
    CHECK(strategic_patch(*document, *json::parse(patch), "", "Pod", document->arena()).has_value());
  }
}

TEST_CASE("an element whose members move while it merges is still found") {
  CHECK(
      pod(R"({"spec":{"containers":[{"x":1,"name":"a"},{"y":1,"name":"b"}]}})",
          R"({"spec":{"containers":[{"name":"b","y":null,"z":2},{"name":"a","x":null},{"name":"b","w":3}]}})") ==
      R"({"spec":{"containers":[{"name":"b","z":2,"w":3},{"name":"a"}]}})");
}

TEST_CASE("custom resources have no strategic merge") {
  json::Document document = *json::parse("{}");
  const auto done =
      strategic_patch(document, *json::parse("{}"), "slo.koordinator.sh", "NodeSLO", document.arena());
  REQUIRE(done.has_error());
  CHECK(done.error().code() == Code::unsupported);
}

TEST_CASE("the merge rules of lists") {
  using Merge = ListRule::Merge;
  struct Case {
    const char *group, *kind, *path;
    Merge merge;
    const char* key;
  };
  const Case cases[] = {
      {"", "Pod", "spec.containers", Merge::by_key, "name"},
      {"", "Pod", "spec.containers.env", Merge::by_key, "name"},
      {"", "Pod", "spec.initContainers.volumeMounts", Merge::by_key, "mountPath"},
      {"", "Pod", "spec.tolerations", Merge::atomic, ""},
      {"", "Pod", "spec.containers.args", Merge::atomic, ""},
      {"", "Pod", "metadata.finalizers", Merge::set, ""},
      {"", "Node", "spec.taints", Merge::atomic, ""},
      {"", "Node", "status.addresses", Merge::by_key, "type"},
      {"", "Node", "metadata.ownerReferences", Merge::by_key, "uid"},
      {"apps", "Deployment", "spec.template.spec.containers.ports", Merge::by_key, "containerPort"},
      {"apps", "Deployment", "spec.template.metadata.finalizers", Merge::set, ""},
      {"batch", "CronJob", "spec.jobTemplate.spec.template.spec.volumes", Merge::by_key, "name"},
      {"", "Service", "spec.ports", Merge::by_key, "port"},
      {"example.com", "Pod", "spec.containers", Merge::atomic, ""},
  };
  for (const Case& c : cases) {
    INFO(c.kind << " " << c.path);
    const ListRule rule = list_rule(c.group, c.kind, c.path);
    CHECK(rule.merge == c.merge);
    CHECK(rule.key == c.key);
  }
}
