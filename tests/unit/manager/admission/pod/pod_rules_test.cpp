// What the pod-validating webhook refuses, in upstream's words: its tables of profiles (19 rows), devices (8)
// and reserved annotations (1), and what they leave open.
#include "admission/pod/pod_rules.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <chrono>

#include "koord/base/result.hpp"

namespace koord::manager {
namespace {

struct ClassRow {
  std::string_view pod, before, wrong;
  bool priority_may_change = false;
};

std::string check(const ClassRow& row) {
  const json::Document pod = json::parse(row.pod).value();
  const json::Document before = json::parse(row.before.empty() ? "null" : row.before).value();
  return check_classes(pod, before, {.priority_may_change = row.priority_may_change});
}

/// A pod with a class, a priority and a container that asks for `requests`.
std::string pod(std::string_view qos, int priority, std::string_view requests) {
  return fmt::format(
      R"({{"metadata":{{"labels":{{"koordinator.sh/qosClass":"{}"}}}},"spec":{{"priority":{},"containers":[)"
      R"({{"name":"a","resources":{{"limits":{{{}}},"requests":{{{}}}}}}}]}}}})",
      qos, priority, requests, requests);
}

TEST_CASE("Classes of pods that do not go together are refused: upstream's table") {
  const std::string batch = R"("kubernetes.io/batch-cpu":"1","kubernetes.io/batch-memory":"4Gi")";
  const std::string ls = R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LS"}}})";
  const std::string be = R"({"metadata":{"labels":{"koordinator.sh/qosClass":"BE"}}})";
  const std::string p8888 = R"({"metadata":{"labels":{"koordinator.sh/priority":"8888"}}})";
  const std::string p9999 = R"({"metadata":{"labels":{"koordinator.sh/priority":"9999"}}})";
  const std::string combined =
      "Pod: Forbidden: koordinator.sh/qosClass={} and priorityClass={} cannot be used in combination";
  const auto combination = [&](std::string_view qos, std::string_view priority) {
    return fmt::format(fmt::runtime(combined), qos, priority);
  };
  const std::string be_prod = combination("BE", "koord-prod"), lsr_batch = combination("LSR", "koord-batch"),
                    lsr_mid = combination("LSR", "koord-mid"), lsr_free = combination("LSR", "koord-free");
  const std::string be_pod = pod("BE", 5000, batch), none_pod = pod("", 6666, batch),
                    be_5000 = pod("BE", 5000, ""), lsr_9999 = pod("LSR", 9999, R"("cpu":"1")"),
                    be_9999 = pod("BE", 9999, ""), lsr_5999 = pod("LSR", 5999, R"("cpu":"1")"),
                    lsr_7999 = pod("LSR", 7999, R"("cpu":"1")"), lsr_3999 = pod("LSR", 3999, R"("cpu":"1")"),
                    ls_9999 = pod("LS", 9999, R"("cpu":"1","memory":"4Gi")"),
                    unset = pod("LSR", 9999, R"("memory":"0Gi")"),
                    fraction = pod("LSR", 9999, R"("cpu":"100m","memory":"0Gi")");
  const ClassRow rows[] = {
      {"{}", "", ""},
      {ls, be, R"(labels.koordinator.sh/qosClass: Invalid value: "LS": field is immutable)"},
      {"{}", be, R"(labels.koordinator.sh/qosClass: Invalid value: "": field is immutable)"},
      {be_pod, "", ""},
      {none_pod, "",
       "labels.koordinator.sh/qosClass: Required value: must specify koordinator QoS BE with koordinator "
       "colocation "
       "resources"},
      {R"({"spec":{"priority":9999}})", R"({"spec":{"priority":5000}})",
       R"(spec.priority: Invalid value: "koord-prod": field is immutable)"},
      {"{}", R"({"spec":{"priority":5000}})", R"(spec.priority: Invalid value: "": field is immutable)"},
      {p8888, p9999, R"(labels.koordinator.sh/priority: Invalid value: "8888": field is immutable)"},
      {p8888, p9999, "", true},
      {"{}", p9999, R"(labels.koordinator.sh/priority: Invalid value: "": field is immutable)"},
      {be_5000, "", ""},
      {lsr_9999, "", ""},
      {be_9999, "", be_prod},
      {lsr_5999, "", lsr_batch},
      {lsr_7999, "", lsr_mid},
      {lsr_3999, "", lsr_free},
      {ls_9999, "", ""},
      {unset, "",
       "pod.spec.containers[*].resources.requests: Required value: LSR Pod must declare the requested CPUs"},
      {fraction, "",
       R"(pod.spec.containers[*].resources.requests: Invalid value: "100m": the requested CPUs of LSR Pod must be integer)"},
  };
  static_assert(std::size(rows) == 19);
  for (const ClassRow& row : rows) {
    CAPTURE(row.pod, row.before);
    CHECK(check(row) == row.wrong);
  }
}

TEST_CASE("Several faults of a pod are told together") {
  CHECK(
      check({R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LSR"}}})",
             R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LS"}}})", ""}) ==
      R"([labels.koordinator.sh/qosClass: Invalid value: "LSR": field is immutable, )"
      "Pod: Forbidden: koordinator.sh/qosClass=LSR and priorityClass= cannot be used in combination, "
      "pod.spec.containers[*].resources.requests: Required value: LSR Pod must declare the requested CPUs]");
}

TEST_CASE("The label of the priority class stands above spec.priority, an unknown one is no class at all") {
  const auto labelled = [](std::string_view priority_class) {
    return fmt::format(R"({{"metadata":{{"labels":{{"koordinator.sh/qosClass":"BE",)"
                       R"("koordinator.sh/priority-class":"{}"}}}},"spec":{{"priority":9500}}}})",
                       priority_class);
  };
  CHECK(check({labelled("koord-batch"), "", ""}).empty());
  CHECK(check({labelled("koord-nothing"), "", ""}) ==
        "Pod: Forbidden: koordinator.sh/qosClass=BE and priorityClass= cannot be used in combination");
}

TEST_CASE("Requests of a pod: init containers, sidecars, overhead and pod-level resources count") {
  struct Row {
    std::string_view spec;
    bool whole;
  };
  for (
      const Row& row : {
          Row{R"("containers":[{"resources":{"requests":{"cpu":"500m"}}},{"resources":{"requests":{"cpu":"500m"}}}])",
              true},
          Row{R"("initContainers":[{"resources":{"requests":{"cpu":"1500m"}}}],)"
              R"("containers":[{"resources":{"requests":{"cpu":"1"}}}])",
              false},
          Row{R"("initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}}],)"
              R"("containers":[{"resources":{"requests":{"cpu":1.5}}}])",
              true},
          Row{R"("containers":[{"resources":{"requests":{"cpu":"1"}}}],"overhead":{"cpu":"250m"})", false},
          Row{R"("containers":[{"resources":{"requests":{"cpu":"1"}}}],"resources":{"requests":{"cpu":"1500m"}})",
              false},
      }) {
    CAPTURE(row.spec);
    const std::string text = fmt::format(
        R"({{"metadata":{{"labels":{{"koordinator.sh/qosClass":"LSE"}}}},"spec":{{{}}}}})", row.spec);
    CHECK(check({text, "", ""}).empty() == row.whole);
  }
}

TEST_CASE("Devices: upstream's table and what it leaves out") {
  constexpr std::string_view kPath = "pod.spec.containers[*].resources.requests: ";
  struct Row {
    std::string_view requests, wrong;
  };
  const Row rows[] = {
      {R"("koordinator.sh/gpu":"200")", ""},
      {R"("koordinator.sh/gpu":"70")", ""},
      {R"("koordinator.sh/gpu-memory":"4000","koordinator.sh/gpu-memory-ratio":"100","koordinator.sh/gpu.shared":"1")",
       "Forbidden: declare GPU memory and GPU memory ratio at same time"},
      {R"("koordinator.sh/gpu.shared":"2")", "Forbidden: GPU memory and GPU memory ratio all is zero"},
      {R"("koordinator.sh/gpu-core":"101","koordinator.sh/gpu-memory-ratio":"100","koordinator.sh/gpu.shared":"2")",
       R"(Invalid value: "101": the requested gpuCore must multiple of shared)"},
      {R"("koordinator.sh/gpu-memory-ratio":"101","koordinator.sh/gpu.shared":"2")",
       R"(Invalid value: "101": the requested gpuMemoryRatio must multiple of shared)"},
      {R"("huawei.com/npu-core":"8","koordinator.sh/gpu.shared":"1")", ""},
      // The eighth row, the gate that is off, is the handler's. Beyond the table:
      {R"("koordinator.sh/gpu":"100","koordinator.sh/gpu.shared":"1")",
       "Forbidden: Forbidden declare GPU and GPU share at same time"},
      {R"("koordinator.sh/gpu":"0")", R"(Invalid value: "0": the requested GPU must be greater than zero)"},
      {R"("koordinator.sh/gpu":"150")",
       R"(Invalid value: "150": the requested GPU must be percentage of 100)"},
      {R"("koordinator.sh/gpu.shared":"-1","koordinator.sh/gpu-memory-ratio":"-9223372036854775808")", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.requests);
    const json::Document pod =
        json::parse(fmt::format(R"({{"spec":{{"containers":[{{"resources":{{"requests":{{{}}}}}}}]}}}})",
                                row.requests))
            .value();
    CHECK(check_device_resources(pod) == (row.wrong.empty() ? "" : fmt::format("{}{}", kPath, row.wrong)));
  }
}

TEST_CASE("An annotation that only the scheduler sets is refused, whatever it says") {
  const json::Document pod =
      json::parse(R"({"metadata":{"annotations":{"scheduling.koordinator.sh/reserve-pod":""}}})").value();
  for (const bool created : {true, false}) {
    CHECK(check_reserved_annotations(pod, created) ==
          "annotations.scheduling.koordinator.sh/reserve-pod: Forbidden: cannot set in annotations");
    CHECK(check_reserved_annotations(json::parse("{}").value(), created).empty());
  }
  const json::Document given =
      json::parse(R"({"metadata":{"annotations":{"scheduling.koordinator.sh/device-allocated":"{}"}}})")
          .value();
  CHECK(check_reserved_annotations(given, true) ==
        "annotations.scheduling.koordinator.sh/device-allocated: Forbidden: only the scheduler says which "
        "devices a pod is given");
  CHECK(check_reserved_annotations(given, false).empty());  // the scheduler has said it
}

TEST_CASE("Names in descending order are read like any others") {
  std::string list;
  for (int i = 15'000; i > 0; --i) list += fmt::format(R"({}"x.io/{:05}":"1")", list.empty() ? "" : ",", i);
  const json::Document asked = json::parse(pod("LSR", 9999, list + R"(,"cpu":"1500m")")).value();
  const auto began = std::chrono::steady_clock::now();
  CHECK(check_classes(asked, json::Value(), {}).find("1500m") != std::string::npos);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  CHECK(took.count() < 10);
}

}  // namespace
}  // namespace koord::manager
