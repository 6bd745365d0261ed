// Amplified nodes: upstream's 6 rows of what a status becomes and 7 of what counts as a change (with those of
// its operations, which are the handler's, 16), and annotations that cannot be read.
#include "admission/node/node_amplification.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

std::string node(std::string_view annotations, std::string_view allocatable) {
  return fmt::format(R"({{"metadata":{{"annotations":{{{}}}}},"status":{{"allocatable":{{{}}}}}}})",
                     annotations, allocatable);
}

struct Outcome {
  std::string cpu, memory, raw, error;
};

Outcome amplify(std::string_view text, std::string_view before = "null") {
  json::Document it = json::parse(text).value();
  const json::Document old = json::parse(before).value();
  Outcome out;
  if (const auto done = amplify_node(it, old, it.arena()); !done) out.error = done.error().message();
  out.cpu = json::text_at(it, "status", "allocatable", "cpu");
  out.memory = json::text_at(it, "status", "allocatable", "memory");
  out.raw = json::text_at(it, "metadata", "annotations", "node.koordinator.sh/raw-allocatable");
  return out;
}

std::string ratio(std::string_view ratios) {
  return fmt::format(R"("node.koordinator.sh/resource-amplification-ratio":"{}")", ratios);
}
std::string raw(std::string_view amounts) {
  return fmt::format(R"("node.koordinator.sh/raw-allocatable":"{}")", amounts);
}

TEST_CASE("A status is multiplied by its ratios above 1, and kept as it was") {
  struct Row {
    std::string annotations;
    std::string_view cpu, kept;
  };
  const Row rows[] = {
      {ratio(R"({\"cpu\": 1.5})"), "1500m", R"({"cpu":"1"})"},
      {ratio(R"({\"cpu\": 0.5})"), "1", R"({"cpu":"1"})"},
      {ratio(R"({\"cpu\": 1})"), "1", R"({"cpu":"1"})"},
      {raw("{}"), "1", ""},
      {ratio(R"({\"eni\": 2})"), "1", R"({"cpu":"1"})"},
      {ratio(R"({\"cpu\": 2})") + "," + raw(R"({\"cpu\":\"1\"})"), "2", R"({"cpu":"1"})"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.annotations);
    const Outcome out = amplify(node(row.annotations, R"("cpu":"1")"));
    CHECK(out.error.empty());
    CHECK(out.cpu == row.cpu);
    CHECK(out.raw == row.kept);
  }
}

TEST_CASE("What the kubelet reports is kept anew whenever its cpu or memory are others") {
  const std::string annotations =
      ratio(R"({\"cpu\":2,\"memory\":1.25})") + "," + raw(R"({\"cpu\":\"3\",\"memory\":\"4Gi\"})");
  struct Row {
    std::string_view before, now, cpu, memory, kept;
  };
  const std::string_view same = R"("cpu":"4","memory":"8Gi")", kept = R"({"cpu":"3","memory":"4Gi"})";
  for (const Row& row : {
           Row{same, same, "6", "5Gi", kept},
           Row{R"("cpu":"4")", same, "8", "10Gi", R"({"cpu":"4","memory":"8Gi"})"},
           Row{same, R"("cpu":"4")", "8", "", R"({"cpu":"4"})"},
           Row{same, R"("cpu":"5","memory":"8Gi")", "10", "10Gi", R"({"cpu":"5","memory":"8Gi"})"},
           Row{R"("cpu":"4","ephemeral-storage":"80")", R"("cpu":"4","ephemeral-storage":"100")", "6", "5Gi",
               kept},
           Row{R"("cpu":"4","memory":"8Gi")", R"("cpu":"4000m","memory":"8192Mi")", "6", "5Gi", kept},
       }) {
    CAPTURE(row.before, row.now);
    const Outcome out = amplify(node(annotations, row.now), node("", row.before));
    CHECK(out.error.empty());
    CHECK(out.cpu == row.cpu);
    CHECK(out.memory == row.memory);
    CHECK(out.raw == row.kept);
  }
  // Who it was before is not known, or it has no resources: nothing changed.
  CHECK(amplify(node(annotations, same)).cpu == "6");
  CHECK(amplify(fmt::format(R"({{"metadata":{{"annotations":{{{}}}}}}})", annotations)).cpu.empty());
}

TEST_CASE("A node whose annotations cannot be read keeps what its kubelet reports") {
  struct Row {
    std::string annotations;
    std::string_view error;
  };
  for (const Row& row : {
           Row{ratio("{"), "failed to unmarshal node resource amplification ratio: "},
           Row{ratio("[1]"),
               "failed to unmarshal node resource amplification ratio: .: expected an object, got a list"},
           Row{ratio(R"({\"cpu\":\"2\"})"),
               "failed to unmarshal node resource amplification ratio: [cpu]: expected a number, got a "
               "string"},
           Row{ratio(R"({\"cpu\":2})") + "," + raw("x"), "failed to unmarshal node raw allocatable: "},
           Row{ratio(R"({\"cpu\":2})") + "," + raw(R"({\"cpu\":\"many\"})"),
               "failed to unmarshal node raw allocatable: [cpu]: quantities must match"},
       }) {
    CAPTURE(row.annotations);
    const Outcome out = amplify(node(row.annotations, R"("cpu":"1")"));
    CHECK(out.error.starts_with(row.error));
    CHECK(out.cpu == "1");
  }
  // Numbers that no machine has.
  CHECK(amplify(node(ratio(R"({\"cpu\":1e300})"), R"("cpu":"1")")).cpu == "1");
  CHECK(amplify(node(ratio("null"), R"("cpu":"1")")).cpu == "1");
}

}  // namespace
}  // namespace koord::manager
