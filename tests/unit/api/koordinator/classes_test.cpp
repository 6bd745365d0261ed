// Classes of pods: names, bands of priority, defaults.
#include "koord/api/koordinator/classes.hpp"

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/pod.hpp"

using namespace koord::api;

TEST_CASE("Koordinator's classes") {
  struct Row {
    const char* qos;
    const char* kube_qos;
    const char* priority_class;  // nullptr: no label
    std::optional<std::int32_t> priority;
    KoordQos expected_qos;
    KoordPriority expected_priority;
    KoordPriority raw_priority;
  };
  const Row rows[] = {
      {"LSR", "Burstable", nullptr, 9999, KoordQos::lsr, KoordPriority::prod, KoordPriority::prod},
      {"BE", "Guaranteed", nullptr, {}, KoordQos::be, KoordPriority::batch, KoordPriority::none},
      {"", "Guaranteed", nullptr, {}, KoordQos::lsr, KoordPriority::prod, KoordPriority::none},
      {"", "Burstable", nullptr, 7000, KoordQos::ls, KoordPriority::mid, KoordPriority::mid},
      {"", "BestEffort", nullptr, 10000, KoordQos::be, KoordPriority::batch, KoordPriority::none},
      {"nope", "BestEffort", nullptr, 3999, KoordQos::be, KoordPriority::free, KoordPriority::free},
      {"SYSTEM", "BestEffort", "koord-mid", 9000, KoordQos::system, KoordPriority::mid, KoordPriority::mid},
      {"LS", "Burstable", "other", 9000, KoordQos::ls, KoordPriority::prod, KoordPriority::none}};
  for (const Row& row : rows) {
    INFO(row.qos << " " << row.kube_qos);
    Pod pod;
    pod.metadata.labels[kQosLabel] = row.qos;
    if (row.priority_class != nullptr) pod.metadata.labels[kPriorityClassLabel] = row.priority_class;
    pod.status.qos_class = row.kube_qos;
    pod.spec.priority = row.priority;
    const KoordQos qos = with_default(koord_qos(pod), kube_qos(pod));
    CHECK(qos == row.expected_qos);
    CHECK(with_default(koord_priority(pod), qos) == row.expected_priority);
    CHECK(koord_priority(pod) == row.raw_priority);
  }
}

TEST_CASE("priority classes are bands of spec.priority") {
  struct Row {
    std::optional<std::int32_t> priority;
    KoordPriority want;
  };
  const Row rows[] = {
      {std::nullopt, KoordPriority::none}, {0, KoordPriority::none},     {2999, KoordPriority::none},
      {3000, KoordPriority::free},         {3999, KoordPriority::free},  {4000, KoordPriority::none},
      {5000, KoordPriority::batch},        {5999, KoordPriority::batch}, {7000, KoordPriority::mid},
      {7999, KoordPriority::mid},          {9000, KoordPriority::prod},  {9999, KoordPriority::prod},
      {10000, KoordPriority::none},
  };
  for (const Row& row : rows) CHECK(koord_priority_of(row.priority) == row.want);
}

TEST_CASE("names of classes go both ways") {
  for (const KoordQos qos : {KoordQos::lse, KoordQos::lsr, KoordQos::ls, KoordQos::be, KoordQos::system})
    CHECK(parse_koord_qos(to_string(qos)) == qos);
  CHECK(parse_koord_qos("ls") == KoordQos::none);
  CHECK(parse_koord_qos("") == KoordQos::none);
  CHECK(to_string(KoordQos::none).empty());
  CHECK(to_string(KoordQos::system) == "SYSTEM");
  for (const KoordPriority priority :
       {KoordPriority::prod, KoordPriority::mid, KoordPriority::batch, KoordPriority::free})
    CHECK(parse_koord_priority(to_string(priority)) == priority);
  CHECK(to_string(KoordPriority::none).empty());
  CHECK(to_string(KoordPriority::batch) == "koord-batch");
  CHECK(to_string(KubeQos::besteffort) == "BestEffort");
}
