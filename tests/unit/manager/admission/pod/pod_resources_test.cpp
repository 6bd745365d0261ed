// What admitted pods ask for: batch and mid resources, the annotation of them (upstream's test of it),
// devices (3 rows).
#include "admission/pod/pod_resources.hpp"

#include <catch2/catch.hpp>

#include "admission/handler_rig.hpp"

namespace koord::manager {
namespace {

using testing::over;
using testing::same_document;

std::string translated(std::string_view text) {
  json::Document pod = json::parse(text).value();
  translate_resources(pod, pod.arena());
  return json::to_text(pod);
}

std::string pod(std::string_view labels, std::string_view rest, std::string_view requests) {
  return fmt::format(
      R"({{"metadata":{{"labels":{{{}}}}},"spec":{{{}"containers":[{{"name":"a","resources":{}}}]}}}})",
      labels, rest, requests);
}

TEST_CASE("Batch and mid pods ask for their class's resources, others for cpu and memory") {
  const std::string_view some = R"({"requests":{"cpu":"500m","memory":1024}})";
  struct Row {
    std::string_view labels, rest, resources, expected;
  };
  for (
      const Row& row : {
          Row{"", R"("priority":5000,)", some,
              R"({"requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1024"}})"},
          Row{"", R"("priority":7999,)", some,
              R"({"requests":{"kubernetes.io/mid-cpu":"500","kubernetes.io/mid-memory":"1024"}})"},
          Row{"", R"("priority":9000,)", some, some},
          Row{"", R"("priority":3000,)", some, some},
          // By quality of service where no priority says otherwise: Koordinator's, then Kubernetes'.
          Row{R"("koordinator.sh/qosClass":"BE")", "", some,
              R"({"requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1024"}})"},
          Row{R"("koordinator.sh/qosClass":"LS")", "", some, some},
          Row{"", "", some, some},
          Row{"", "", R"({"limits":{"nvidia.com/gpu":"1"}})", R"({"limits":{"nvidia.com/gpu":"1"}})"},
          // The label stands above the number, an unknown one is no class, and quality of service decides.
          Row{R"("koordinator.sh/priority-class":"koord-mid")", R"("priority":9000,)", some,
              R"({"requests":{"kubernetes.io/mid-cpu":"500","kubernetes.io/mid-memory":"1024"}})"},
          Row{R"("koordinator.sh/priority-class":"koord-x")", R"("priority":5000,)", some, some},
          // A limit without a request gives one, whichever way it came.
          Row{"", R"("priority":5000,)", R"({"limits":{"cpu":"1"}})",
              R"({"limits":{"kubernetes.io/batch-cpu":"1k"},"requests":{"kubernetes.io/batch-cpu":"1k"}})"},
          Row{"", R"("priority":5000,)", R"({"limits":{"kubernetes.io/batch-memory":"2Gi"}})",
              R"({"limits":{"kubernetes.io/batch-memory":"2Gi"},"requests":{"kubernetes.io/batch-memory":"2Gi"}})"},
          Row{"", R"("priority":5000,)", R"({"limits":null,"requests":{"cpu":"1"}})",
              R"({"limits":null,"requests":{"kubernetes.io/batch-cpu":"1k"}})"},
          // No machine has that, and nothing breaks.
          Row{"", R"("priority":5000,)", R"({"requests":{"cpu":"9E","memory":"-1"}})",
              R"({"requests":{"kubernetes.io/batch-cpu":"9223372036854775807","kubernetes.io/batch-memory":"-1"}})"},
      }) {
    CAPTURE(row.labels, row.rest, row.resources);
    CHECK(same_document(translated(pod(row.labels, row.rest, row.resources)),
                        pod(row.labels, row.rest, row.expected)));
  }
}

struct Annotated {
  std::string annotation, error;
};

constexpr std::string_view kName = "node.koordinator.sh/extended-resource-spec";

Annotated annotate(std::string_view resources, std::string_view before) {
  json::Document it = json::parse(pod("", "", resources)).value();
  if (!before.empty())
    json::set_text(json::object_at(json::object_at(it, "metadata", it.arena()), "annotations", it.arena()),
                   kName, before, it.arena());
  Annotated out;
  if (const auto set = set_extended_resource_spec(it, it.arena()); !set) out.error = set.error().message();
  out.annotation = json::text_at(it, "metadata", "annotations", kName);
  return out;
}

TEST_CASE("Batch resources of containers are told in an annotation") {
  const std::string_view batch =
      R"({"limits":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"4Gi","unknown-resource":"1"},)"
      R"("requests":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"4Gi","unknown-resource":"1"}})";
  const std::string_view told =
      R"({"containers":{"a":{"limits":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"4Gi"},)"
      R"("requests":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"4Gi"}}}})";
  struct Row {
    std::string_view resources, before, after;
  };
  const std::string_view spaced =
      R"( {"containers" : {"a": {"requests": {"kubernetes.io/batch-cpu": "1000"}}}, "x": 1} )";
  for (const Row& row : {
           Row{batch, "", told},
           Row{batch, R"({"containers":{"b":{}}})", told},
           Row{batch, "null", told},
           Row{R"({"requests":{"kubernetes.io/batch-cpu":"1000"}})", spaced, spaced},  // says so already
           Row{R"({"requests":{"cpu":"1"}})", "", ""},
           Row{R"({"requests":{"cpu":"1"}})", "{}", "{}"},
           Row{R"({"requests":{"kubernetes.io/mid-cpu":"1"}})", "", ""},
           Row{R"({"requests":{"cpu":"1"}})", told, "{}"},
       }) {
    CAPTURE(row.resources, row.before);
    const Annotated out = annotate(row.resources, row.before);
    CHECK(out.error.empty());
    CHECK(out.annotation == row.after);
  }
  for (const std::string_view bad :
       {"{", "7", R"({"containers":[]})", R"({"containers":{"a":{"limits":{"cpu":"x"}}}})"}) {
    CAPTURE(bad);
    CHECK(annotate(batch, bad).error.starts_with("failed to get current extended resource spec, err: "));
  }
}

TEST_CASE("Sidecars are told in the annotation as containers are, what runs before them is not") {
  json::Document it = json::parse(R"({"spec":{"priority":5000,"initContainers":[
          {"name":"first","resources":{"requests":{"cpu":"3"}}},
          {"name":"mesh","restartPolicy":"Always","resources":{"limits":{"cpu":"200m","memory":"64Mi"}}}],
        "containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}})")
                          .value();
  translate_resources(it, it.arena());
  REQUIRE(set_extended_resource_spec(it, it.arena()).has_value());
  const std::string_view lent = R"({"kubernetes.io/batch-cpu":"200","kubernetes.io/batch-memory":"64Mi"})";
  CHECK(same_document(
      json::text_at(it, "metadata", "annotations", kName),
      fmt::format(R"({{"containers":{{"main":{{"requests":{{"kubernetes.io/batch-cpu":"1k"}}}},)"
                  R"("mesh":{{"limits":{0},"requests":{0}}}}}}})",
                  lent)));
}

TEST_CASE("GPUs become shares of them") {
  struct Row {
    std::string_view before, after;
    bool limits = true;
  };
  for (
      const Row& row : {
          Row{R"("koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"4k","koordinator.sh/gpu-memory-ratio":"50")",
              R"("koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"4k","koordinator.sh/gpu-memory-ratio":"50",
                  "koordinator.sh/gpu.shared":"1")"},
          Row{R"("koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"8k","koordinator.sh/gpu-memory-ratio":"200")",
              R"("koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"8k","koordinator.sh/gpu-memory-ratio":"200",
                  "koordinator.sh/gpu.shared":"2")"},
          Row{R"("koordinator.sh/gpu":"200")",
              R"("koordinator.sh/gpu-core":"200","koordinator.sh/gpu-memory-ratio":"200","koordinator.sh/gpu.shared":"2")"},
          // Beyond upstream's table.
          Row{R"("koordinator.sh/gpu-core":"300")",
              R"("koordinator.sh/gpu-core":"300","koordinator.sh/gpu.shared":"3")"},
          Row{R"("koordinator.sh/gpu-memory-ratio":"150")",
              R"("koordinator.sh/gpu-memory-ratio":"150","koordinator.sh/gpu.shared":"1")"},
          Row{R"("koordinator.sh/gpu.shared":"4")", R"("koordinator.sh/gpu.shared":"4")"},
          Row{R"("nvidia.com/gpu":"1")", R"("nvidia.com/gpu":"1")"},
      }) {
    CAPTURE(row.before);
    json::Document it =
        json::parse(pod("", "", fmt::format(R"({{"requests":{{{0}}},"limits":{{{0}}}}})", row.before)))
            .value();
    set_device_resources(it, it.arena());
    CHECK(same_document(json::to_text(it),
                        pod("", "", fmt::format(R"({{"requests":{{{0}}},"limits":{{{0}}}}})", row.after))));
  }
  // Requests without limits: upstream panics.
  json::Document it = json::parse(pod("", "", R"({"requests":{"koordinator.sh/gpu":"100"}})")).value();
  set_device_resources(it, it.arena());
  CHECK(json::text_at(json::find(it, "spec", "containers")->elements()[0], "resources", "limits",
                      "koordinator.sh/gpu-core") == "100");
}

}  // namespace
}  // namespace koord::manager
