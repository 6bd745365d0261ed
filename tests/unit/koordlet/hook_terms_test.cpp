// What pods and nodes say to the runtime hooks, malformed ones among them.
#include "framework/states/hook_terms.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/states/pod_info.hpp"
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
                                       std::size_t complaints = 0) {
  std::string list;
  for (std::size_t i = 0; i + 1 < annotations.size(); i += 2)
    list +=
        fmt::format("{}{}:{}", i > 0 ? "," : "", in_quotes(annotations[i]), in_quotes(annotations[i + 1]));
  const auto pod = api::decode<api::Pod>(
      fmt::format(R"({{"metadata":{{"name":"p","uid":"u","annotations":{{{}}}}},"spec":{}}})", list, spec));
  REQUIRE(pod.has_value());
  std::vector<std::string> told;
  auto found = hook_terms(*pod, told);
  CHECK(told.size() == complaints);
  return found;
}
constexpr std::string_view kPlain = R"({"containers":[{"name":"c"}]})";

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

TEST_CASE("What the webhook wrote down counts where the spec says nothing", "[koordlet][hooks]") {
  const std::string name = "node.koordinator.sh/extended-resource-spec";
  const std::string spec =
      R"({"containers":{"c":{"requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"},"limits":{"kubernetes.io/batch-cpu":1000,"kubernetes.io/batch-memory":"1Gi"}}}})";
  const auto found = terms(kPlain, {name, spec});
  REQUIRE(found);
  CHECK(found->lent == LentResources{500, 1000, kGiB});
  CHECK(found->lent_to.at("c") == *found->lent);
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
  const auto own = [&](const std::string& text, std::size_t complaints = 0) -> std::optional<CpuQosTerms> {
    const auto found = terms(kPlain, {name, text}, complaints);
    return found ? found->cpu_qos : std::nullopt;
  };
  CHECK(own(R"({"enable":true,"groupIdentity":-1})") == CpuQosTerms{true, -1});
  CHECK(own(R"({"enable":false,"groupIdentity":1})") == CpuQosTerms{false, 1});
  CHECK(own(R"({"groupIdentity":1})") == CpuQosTerms{false, 1});
  CHECK(own(R"({"enable":true})") == CpuQosTerms{true, {}});
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
    std::size_t complaints;
  };
  for (const Row& row : {Row{"1.20", 1.2, 0}, Row{"1.10", 1.1, 0}, Row{"[}", 1, 1}, Row{"1", 1, 0},
                         Row{"0.8", 0.8, 0}, Row{"-1", 1, 1}, Row{"0", 1, 1}, Row{"nan", 1, 1},
                         Row{"inf", 1, 1}, Row{"1e300", 1, 1}, Row{"fast", 1, 1}}) {
    INFO(row.text);
    const auto node = api::decode<api::Node>(fmt::format(
        R"({{"metadata":{{"name":"n","annotations":{{"node.koordinator.sh/cpu-normalization-ratio":"{}","node.koordinator.sh/system-qos-resource":"{{\"cpuset\":\"0-1\",\"cpusetExclusive\":false}}"}}}}}})",
        row.text));
    REQUIRE(node.has_value());
    std::vector<std::string> complaints;
    const NodeInfo info = read_node(*node, complaints);
    CHECK(info.cpu_normalization == row.ratio);
    CHECK(complaints.size() == row.complaints);
    CHECK(info.system_qos_pool.to_string() == "0-1");
    CHECK(info.system_qos_cpus.empty());
  }
}

}  // namespace
}  // namespace koord::koordlet
