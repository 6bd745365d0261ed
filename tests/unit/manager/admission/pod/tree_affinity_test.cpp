// Pods of quota trees: upstream's rows.
#include "admission/pod/tree_affinity.hpp"

#include <catch2/catch.hpp>

#include "admission/handler_rig.hpp"

namespace koord::manager {
namespace {

TEST_CASE("Each term of a pod asks for the tree's nodes, too") {
  constexpr std::string_view kAsked = R"({"key":"node-pool","operator":"In","values":["a"]})",
                             kZone = R"({"key":"zone","operator":"NotIn","values":["x","y"]})",
                             kGpu = R"({"key":"gpu","operator":"Exists"})";
  struct Row {
    std::string_view pod, selector, affinity;
  };
  const auto required = [](std::string_view terms) {
    return fmt::format(
        R"({{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{}]}}}}}})",
        terms);
  };
  const std::string one = fmt::format(R"({{"matchExpressions":[{}]}})", kAsked);
  const std::string own =
      required(fmt::format(R"({{"matchExpressions":[{}]}},{{"matchFields":[{}]}})", kGpu, kGpu));
  const std::string both =
      required(fmt::format(R"({{"matchExpressions":[{},{}]}},{{"matchFields":[{}],"matchExpressions":[{}]}})",
                           kGpu, kAsked, kGpu, kAsked));
  const std::string all = required(fmt::format(R"({{"matchExpressions":[{},{},{}]}})", kAsked, kZone, kGpu));
  const std::string none = required(""), added = required(one);
  constexpr std::string_view kLabels = R"({"matchLabels":{"node-pool":"a"}})";
  for (
      const Row& row : {
          Row{"null", kLabels, added},
          Row{R"({})", kLabels, added},
          Row{R"({"nodeAffinity":null})", kLabels, added},
          Row{none, kLabels, added},
          Row{own, kLabels, both},
          Row{"null",
              R"({"matchLabels":{"node-pool":"a"},"matchExpressions":[{"key":"zone","operator":"NotIn","values":)"
              R"(["x","y"]},{"key":"gpu","operator":"Exists"}]})",
              all},
          // Upstream would add a term that no node satisfies.
          Row{own, "{}", own},
      }) {
    CAPTURE(row.pod, row.selector);
    json::Document pod = json::parse(fmt::format(R"({{"spec":{{"affinity":{}}}}})", row.pod)).value();
    require_nodes(pod, api::decode<api::LabelSelector>(row.selector).value(), pod.arena());
    CHECK(testing::same_document(json::to_text(pod),
                                 fmt::format(R"({{"spec":{{"affinity":{}}}}})", row.affinity)));
  }
}

}  // namespace
}  // namespace koord::manager
