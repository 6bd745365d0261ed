// What pods and nodes say to the runtime hooks, malformed ones among them.
#include "framework/hooks/hook_terms.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/objects/pod_info.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::string in_quotes(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + "\"";
}

/// Null: nothing. `annotations`: name and value, one after the other.
std::shared_ptr<const HookTerms> terms(std::string_view spec, std::vector<std::string> annotations = {},
                                       std::size_t warnings = 0) {
  std::string list;
  for (std::size_t i = 0; i + 1 < annotations.size(); i += 2)
    list +=
        fmt::format("{}{}:{}", i > 0 ? "," : "", in_quotes(annotations[i]), in_quotes(annotations[i + 1]));
  const auto pod = api::decode<api::Pod>(
      fmt::format(R"({{"metadata":{{"name":"p","uid":"u","annotations":{{{}}}}},"spec":{}}})", list, spec));
  REQUIRE(pod.has_value());
  std::vector<std::string> told;
  auto found = hook_terms(*pod, told);
  CHECK(told.size() == warnings);
  return found;
}
constexpr std::string_view kPlain = R"({"containers":[{"name":"c"}]})";

TEST_CASE("OOM scores: what a pod says of its containers, as the original's rows have it",
          "[koordlet][hooks]") {
  constexpr std::string_view kAll = "koordinator.sh/oom-score-adj";
  constexpr std::string_view kNamed = "koordinator.sh/oom-score-adj-spec";
  struct Row {
    const char* what;
    std::string_view all, named;  // empty: not there
    std::optional<std::int64_t> c1;
    std::size_t warnings = 0;
  };
  const Row rows[] = {
      {"nothing", "", "", {}},
      {"of all", "-500", "", -500},
      {"its own wins", "-500", R"({"c1": 100})", 100},
      {"another's is named", "-500", R"({"c2": 100})", -500},
      {"another's alone", "", R"({"c2": 100})", {}},
      {"no JSON", "", "{invalid}", {}, 1},
      {"no JSON: nothing is known of any", "-500", "{invalid}", {}, 1},
      {"no number", "not-a-number", "", {}, 1},
      {"no number, but its own", "not-a-number", R"({"c1": 1})", 1, 1},
      {"too low", "-2000", "", {}, 1},
      {"too high", "1001", "", {}, 1},
      {"the ends", "-1000", R"({"c1": 1000})", 1000},
      {"of its own too low: not the others'", "5", R"({"c1": -1001})", {}, 1},
      {"with a sign", "+7", "", 7},
      {"with two", "+-7", "", {}, 1},
      {"with a blank", " 7", "", {}, 1},
      {"no whole number", "5", R"({"c2": 1.5, "c1": 1})", {}, 1},
      {"a text", "5", R"({"c1": "1"})", {}, 1},
      {"a list", "5", R"([1])", {}, 1},
      {"beyond all numbers", "99999999999999999999", "", {}, 1},
      {"null", "5", "null", 5},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    std::vector<std::string> annotations;
    if (!row.all.empty()) annotations.insert(annotations.end(), {std::string(kAll), std::string(row.all)});
    if (!row.named.empty())
      annotations.insert(annotations.end(), {std::string(kNamed), std::string(row.named)});
    const auto found = terms(kPlain, annotations, row.warnings);
    CHECK((found ? found->oom_score_of("c1") : std::nullopt) == row.c1);
  }
  std::string many = "{";
  for (int i = 0; i < 1025; ++i) many += fmt::format(R"({}"c{}":1)", i > 0 ? "," : "", i);
  CHECK_FALSE(terms(kPlain, {std::string(kNamed), many + "}"}, 1));
}

TEST_CASE("What is lent: containers and sidecars added up, as much as an init container needs",
          "[koordlet][hooks]") {
  const auto plain = [](std::string_view name, std::string_view request, std::string_view limit,
                        std::string_view memory, std::string_view more = "") {
    return fmt::format(
        R"({{"name":"{}"{},"resources":{{"requests":{{"kubernetes.io/batch-cpu":"{}"}},"limits":{{"kubernetes.io/batch-cpu":"{}","kubernetes.io/batch-memory":"{}"}}}}}})",
        name, more, request, limit, memory);
  };
  const auto found =
      terms(fmt::format(R"({{"containers":[{},{},{{"name":"other"}}],"initContainers":[{},{}]}})",
                        plain("a", "500", "1000", "1Gi"), plain("b", "250", "500", "2Gi"),
                        plain("side", "100", "100", "1Gi", R"(,"restartPolicy":"Always")"),
                        plain("first", "2000", "3000", "512Mi")));
  REQUIRE(found);
  CHECK(found->lent == LentResources{2100, 3100, 4 * kGiB});
  CHECK(found->lent_to.size() == 4);
  CHECK(found->lent_to.at("b") == LentResources{250, 500, 2 * kGiB});
  // Without a limit of one of them there is none of the pod's.
  const auto open = terms(
      R"({"containers":[{"name":"a","resources":{"requests":{"kubernetes.io/batch-cpu":"500"}}},
                        {"name":"b","resources":{"limits":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"0"}}}]})");
  REQUIRE(open);
  CHECK(open->lent == LentResources{500, {}, {}});
  const auto mid = terms(
      R"({"containers":[{"name":"a","resources":{"requests":{"kubernetes.io/mid-cpu":"500"},"limits":{"kubernetes.io/mid-cpu":"1000","kubernetes.io/mid-memory":"1Gi"}}}]})");
  REQUIRE(mid);
  CHECK(mid->lent == LentResources{500, 1000, kGiB});
  CHECK(terms(kPlain) == nullptr);
}

TEST_CASE("What is lent beside the node's own: each container's limit has room in its pod's",
          "[koordlet][hooks]") {
  struct Row {
    const char* what;
    std::string other;  // beside "a" with 500m and 1 GiB of mid resources
    LentResources pod;
    std::optional<LentResources> itself;
  };
  const Row rows[] = {
      {"nothing of its own", R"({"name":"b"})", {500, 1000, kGiB}, {}},
      {"a limit of its own",
       R"({"name":"b","resources":{"requests":{"cpu":"100m"},"limits":{"cpu":"2","memory":"1Gi"}}})",
       {600, 3000, 2 * kGiB},
       {}},
      {"a limit of memory alone",
       R"({"name":"b","resources":{"limits":{"memory":"1Gi"}}})",
       {500, 1000, 2 * kGiB},
       {}},
      {"CPU that is lent, memory that is not",
       R"({"name":"b","resources":{"requests":{"kubernetes.io/mid-cpu":"200"},"limits":{"kubernetes.io/mid-cpu":"300","memory":"1Gi"}}})",
       {700, 1300, 2 * kGiB},
       LentResources{200, 300, kGiB}},
      {"memory that is lent, CPU that is not",
       R"({"name":"b","resources":{"requests":{"cpu":"200m"},"limits":{"kubernetes.io/mid-memory":"1Gi"}}})",
       {700, {}, 2 * kGiB},
       LentResources{200, {}, kGiB}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const auto found = terms(fmt::format(
        R"({{"containers":[{{"name":"a","resources":{{"requests":{{"kubernetes.io/mid-cpu":"500"}},"limits":{{"kubernetes.io/mid-cpu":"1000","kubernetes.io/mid-memory":"1Gi"}}}}}},{}]}})",
        row.other));
    REQUIRE(found);
    CHECK(found->lent == row.pod);
    const auto itself = found->lent_to.find("b");
    CHECK((itself == found->lent_to.end()) == !row.itself);
    if (row.itself) CHECK(itself->second == *row.itself);
  }
  const auto first = terms(
      R"({"containers":[{"name":"a","resources":{"limits":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"1Gi"}}}],
          "initContainers":[{"name":"first","resources":{"limits":{"cpu":"3","memory":"512Mi"}}}]})");
  REQUIRE(first);
  CHECK(first->lent == LentResources{0, 3000, kGiB});
}

TEST_CASE("What the webhook wrote down counts where the spec says nothing", "[koordlet][hooks]") {
  const std::string name = "node.koordinator.sh/extended-resource-spec";
  const std::string spec =
      R"({"containers":{"c":{"requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"},"limits":{"kubernetes.io/batch-cpu":1000,"kubernetes.io/batch-memory":"1Gi"}}}})";
  const auto found = terms(kPlain, {name, spec});
  REQUIRE(found);
  CHECK(found->lent == LentResources{500, 1000, kGiB});
  CHECK(found->lent_to.at("c") == *found->lent);
  // A sidecar runs beside the containers: it has its own, and counts in the pod.
  const auto sidecar = terms(
      R"({"containers":[{"name":"c"}],"initContainers":[{"name":"mesh","restartPolicy":"Always"}]})",
      {name,
       R"({"containers":{"c":{"requests":{"kubernetes.io/batch-cpu":"500"},"limits":{"kubernetes.io/batch-cpu":"1000"}},)"
       R"("mesh":{"requests":{"kubernetes.io/batch-cpu":"100"},"limits":{"kubernetes.io/batch-cpu":"200"}}}})"});
  REQUIRE(sidecar);
  CHECK(sidecar->lent == LentResources{600, 1200, {}});
  CHECK(sidecar->lent_to.at("mesh") == LentResources{100, 200, {}});
  const auto both =
      terms(R"({"containers":[{"name":"c","resources":{"requests":{"kubernetes.io/batch-cpu":"250"}}}]})",
            {name, spec});
  REQUIRE(both);
  CHECK(both->lent == LentResources{250, {}, {}});
  for (const std::string& bad :
       {std::string(R"({"containers":{"c":{"limits":{"kubernetes.io/batch-cpu":"much"}}}})"),
        std::string("{"), std::string(70'000, ' '), std::string("[]")})
    CHECK(terms(kPlain, {name, bad}, 1) == nullptr);
  CHECK(terms(kPlain, {name, R"({"containers":{}})"}) == nullptr);  // upstream: a memory limit of 0
}

TEST_CASE("The NUMA nodes whose CPUs a pod was given", "[koordlet][hooks]") {
  const auto nodes = [](const std::string& status) {
    const auto found = terms(kPlain, {"scheduling.koordinator.sh/resource-status", status});
    return found ? found->numa_nodes : std::vector<int>();
  };
  CHECK(
      nodes(
          R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"2"}},{"node":1,"resources":{"cpu":"2"}}]})") ==
      std::vector{0, 1});
  CHECK(nodes(R"({"numaNodeResources":[{"node":1,"resources":{"kubernetes.io/batch-cpu":"2000"}}]})") ==
        std::vector{1});
  CHECK(nodes(R"({"numaNodeResources":[{"node":0,"resources":{"hugepages-1Gi":"2Gi"}}]})").empty());
  CHECK(nodes(R"({"numaNodeResources":[{"node":-1,"resources":{"cpu":"2"}},{"node":"x"},7]})").empty());
}

TEST_CASE("A pod's own group identity", "[koordlet][hooks]") {
  const std::string name = "koordinator.sh/cpuQOS";
  const auto own = [&](const std::string& text, std::size_t warnings = 0) -> std::optional<api::PodCpuQos> {
    const auto found = terms(kPlain, {name, text}, warnings);
    return found ? found->cpu_qos : std::nullopt;
  };
  CHECK(own(R"({"enable":true,"groupIdentity":-1})") == api::PodCpuQos{true, -1});
  CHECK(own(R"({"enable":false,"groupIdentity":1})") == api::PodCpuQos{false, 1});
  CHECK(own(R"({"groupIdentity":1})") == api::PodCpuQos{{}, 1});
  CHECK(own(R"({"enable":true})") == api::PodCpuQos{true, {}});
  CHECK(own(R"({"enable":true,"groupIdentity":3})", 1) == std::nullopt);
  CHECK(own(R"({"enable":"yes"})", 1) == std::nullopt);
  CHECK(own("bad", 1) == std::nullopt);
}

TEST_CASE("Pods in a virtual machine of their own", "[koordlet][hooks]") {
  const auto found = terms(R"({"runtimeClassName":"kata","containers":[{"name":"c"}]})");
  REQUIRE(found);
  CHECK(found->virtual_machine);
}

TEST_CASE("How much faster a node's CPUs are, and which are for SYSTEM pods", "[koordlet][hooks]") {
  struct Row {
    std::string text;
    double ratio;
    std::size_t warnings;
  };
  for (const Row& row : {Row{"1.20", 1.2, 0}, Row{"1.10", 1.1, 0}, Row{"[}", 1, 1}, Row{"1", 1, 0},
                         Row{"0.8", 0.8, 0}, Row{"-1", 1, 1}, Row{"0", 1, 1}, Row{"nan", 1, 1},
                         Row{"inf", 1, 1}, Row{"1e300", 1, 1}, Row{"fast", 1, 1}}) {
    INFO(row.text);
    const auto node = api::decode<api::Node>(fmt::format(
        R"({{"metadata":{{"name":"n","annotations":{{"node.koordinator.sh/cpu-normalization-ratio":"{}","node.koordinator.sh/system-qos-resource":"{{\"cpuset\":\"0-1\",\"cpusetExclusive\":false}}"}}}}}})",
        row.text));
    REQUIRE(node.has_value());
    std::vector<std::string> warnings;
    const NodeInfo info = read_node(*node, warnings);
    CHECK(info.cpu_normalization == row.ratio);
    CHECK(warnings.size() == row.warnings);
    CHECK(info.system_qos_pool.to_string() == "0-1");
    CHECK(info.system_qos_cpus.empty());
  }
}

}  // namespace
}  // namespace koord::koordlet
