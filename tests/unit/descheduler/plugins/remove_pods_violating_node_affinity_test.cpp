// RemovePodsViolatingNodeAffinity: all 22 rows of sigs' TestRemovePodsViolatingNodeAffinity and the 5 of its
// validation; where a pod prefers a node that is full.
#include <catch2/catch.hpp>

#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kRemovePodsViolatingNodeAffinity;
}

namespace koord::descheduler::test {
namespace {

const std::string kRequired = R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution"]})";
const std::string kPreferred = R"({"nodeAffinityType":["preferredDuringSchedulingIgnoredDuringExecution"]})";
const std::string kWants =
    R"( {"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
    R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":["yes"]}]}]}}}}})";
const std::string kLikes =
    R"( {"spec":{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":)"
    R"([{"weight":10,"preference":{"matchExpressions":[{"key":"k","operator":"In","values":["yes"]}]}}]}}}})";

TEST_CASE("pods leave a node that their affinity does not want") {
  struct Row {
    const char* what;
    std::size_t gone;
    const char* pods_on;
    std::vector<std::string> nodes;
    const char* holds = "";
    const char* word = "";
  };
  const std::vector<std::string> both = {"without", "with label:k=yes"};
  const std::vector<std::string> cordoned = {"without", "other label:k=yes cordoned"};
  const std::vector<std::string> right_already = {"with label:k=yes", "other label:k=yes cordoned"};
  const Row rows[] = {
      {"it is where it should be", 0, "with", {"with label:k=yes"}},
      {"another node is right", 1, "without", both},
      {"one may leave the node", 1, "without", both, "node=1"},
      {"none may leave the node", 0, "without", both, "node=0"},
      {"it is terminating", 0, "without", both, "node=1", " terminating"},
      {"one may leave the namespace", 1, "without", both, "ns=1"},
      {"none may leave the namespace", 0, "without", both, "ns=0"},
      {"it is terminating, one of the namespace", 0, "without", both, "ns=1", " terminating"},
      {"the right node is cordoned", 0, "without", cordoned, "nodefit"},
      {"its node is not looked at", 0, "without", right_already, "node=1 nodefit"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    for (const bool required : {true, false}) {
      INFO(required);
      const std::string on = std::string(" ") + row.pods_on + row.word;
      const Rows world{
          row.nodes, {"liking" + on + (required ? kWants : kLikes), "pod1" + on, "pod2" + on}, row.holds};
      CHECK(count_gone(kRemovePodsViolatingNodeAffinity, required ? kRequired : kPreferred, world) ==
            row.gone);
    }
  }
  const Rows world{both, {"liking without" + kWants, "pod1 without", "pod2 without"}};
  CHECK(gone(kRemovePodsViolatingNodeAffinity, kRequired, world) == "liking");
  CHECK(gone(kRemovePodsViolatingNodeAffinity, kPreferred, world).empty());
  Rows full = world;
  full.holds = "ns=1 total=0";
  CHECK(gone(kRemovePodsViolatingNodeAffinity, kRequired, full).empty());
  CHECK(gone(kRemovePodsViolatingNodeAffinity,
             R"({"nodeAffinityType":["requiredDuringSchedulingRequiredDuringExecution"]})", world)
            .empty());
}

TEST_CASE("a pod goes once, though it breaks both kinds of affinity") {
  std::string both = kWants;
  both.replace(both.find("}}}}}"), 5,
               R"(},"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":)"
               R"({"matchExpressions":[{"key":"k","operator":"Exists"}]}}]}}}})");
  const Rows world{{"without", "with label:k=yes"}, {"p1 without" + both}};
  CHECK(gone(kRemovePodsViolatingNodeAffinity,
             R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution",)"
             R"("preferredDuringSchedulingIgnoredDuringExecution"]})",
             world) == "p1");
}

TEST_CASE("a pod stays where it likes no other node better") {
  CHECK(gone(kRemovePodsViolatingNodeAffinity, kPreferred, {{"a", "b"}, {"p1 a" + kLikes}}).empty());
  CHECK(gone(kRemovePodsViolatingNodeAffinity, kPreferred,
             {{"a label:k=yes", "b label:k=yes"}, {"p1 a" + kLikes}})
            .empty());
}

TEST_CASE("a pod stays while the node that it prefers is full") {
  const std::vector<std::string> nodes = {"with label:k=yes cpu=100", "without"};
  CHECK(gone(kRemovePodsViolatingNodeAffinity, kPreferred, {nodes, {"p1 without" + kLikes}}) == "p1");
  CHECK(gone(kRemovePodsViolatingNodeAffinity, kPreferred, {nodes, {"p1 without" + kLikes, "p2 with cpu=50"}})
            .empty());
}

TEST_CASE("only pods of the namespaces and labels that are chosen go") {
  const Rows world{{"without", "with label:k=yes"},
                   {"p1 without ns=a label:x=1" + kWants, "p2 without ns=b label:x=1" + kWants,
                    "p3 without ns=a label:x=2" + kWants}};
  const auto with = [](const std::string& more) { return kRequired.substr(0, kRequired.size() - 1) + more; };
  const auto& entry = kRemovePodsViolatingNodeAffinity;
  CHECK(gone(entry, with("}"), world) == "p1 p3 p2");
  CHECK(gone(entry, with(R"(,"namespaces":{"include":["a"]}})"), world) == "p1 p3");
  CHECK(gone(entry, with(R"(,"namespaces":{"exclude":["a"]}})"), world) == "p2");
  CHECK(gone(entry, with(R"(,"namespaces":{}})"), world) == "p1 p3 p2");
  CHECK(gone(entry, with(R"(,"labelSelector":{"matchLabels":{"x":"1"}}})"), world) == "p1 p2");
  CHECK(gone(entry, with(R"(,"namespaces":{"include":["a"]},"labelSelector":{"matchLabels":{"x":"1"}}})"),
             world) == "p1");
}

TEST_CASE("arguments that contradict each other are refused in sigs' words") {
  const auto refused = [](const char* args) { return why_refused(kRemovePodsViolatingNodeAffinity, args); };
  CHECK(refused("{}") == "nodeAffinityType needs to be set");
  CHECK(refused(R"({"nodeAffinityType":[]})") == "nodeAffinityType needs to be set");
  CHECK(refused(kRequired.c_str()).empty());
  CHECK(refused(R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution"],)"
                R"("namespaces":{"include":["default"],"exclude":["kube-system"]}})") ==
        "only one of Include/Exclude namespaces can be set");
  CHECK(refused(R"({"namespaces":{"include":["default"],"exclude":["kube-system"]}})") ==
        "[nodeAffinityType needs to be set, only one of Include/Exclude namespaces can be set]");
  CHECK(refused(R"({"nodeAffinityTypes":[]})").find("nodeAffinityTypes") != std::string::npos);
}

}  // namespace
}  // namespace koord::descheduler::test
