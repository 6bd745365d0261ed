// `koord explain node`: the sum line by line, which is the manager's own, and why it changes.
#include "explain/node_story.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "explain/node_teller.hpp"

namespace koord::manager {
namespace {

/// What the lines add up to, without what is capped and multiplied.
double left_of(const NodeStory& story) {
  double left = 0;
  for (const FigureView& figure : story.figures) {
    if (figure.of_above || !figure.cpu_cores) continue;
    if (figure.name == "capacity") left += *figure.cpu_cores;
    if (figure.name == "margin" || figure.name == "taken" || figure.name == "pods") left -= *figure.cpu_cores;
  }
  return left;
}

// What issues 2297 (why more requests do not change it) and 1906 (why a new pod makes it fall steeply) ask.
TEST_CASE("a node's batch resources, line by line: the sum is the manager's") {
  Case c = lending_case();
  const NodeStory story = tell(c);
  CHECK(story.lends);
  CHECK(left_of(story) == Approx(story.lent.cpu_cores));
  CHECK(story.lent.cpu_cores == Approx(static_cast<double>(batch_amount(c.view()).cpu.value()) / 1000));
  CHECK(render(story) ==
        "Node n lends 31.00 cores and 48.00Gi to batch pods.\n"
        "Batch pods on it ask for 0.00 cores and 0.00Gi.\n"
        "\n"
        "policy of CPU: usage, of memory: usage                     CPU       MEMORY\n"
        "capacity                                                100.00     120.00Gi\n"
        "- kept free: 35% of CPU, 35% of memory                   35.00      42.00Gi\n"
        "- the larger of                                           7.00      12.00Gi\n"
        "      reserved (kubelet's, or the node's annotation)      2.00       2.00Gi\n"
        "      what the system uses                                7.00      12.00Gi\n"
        "- 3 pods of class prod, mid or none                      27.00      18.00Gi\n"
        "      2 measured: what they use                          15.00      13.00Gi\n"
        "      1 not measured yet: what they ask for              10.00       4.00Gi\n"
        "      1 gone, still in the agent's report                 2.00       1.00Gi\n"
        "= lent to batch pods                                     31.00      48.00Gi\n"
        "As the agent reported 0s ago.\n"
        "\n"
        "Who takes most CPU from it:\n"
        "  default/web uses 11.00 cores and 11.00Gi\n"
        "  default/new asks for (it is not measured yet) 10.00 cores and 4.00Gi\n"
        "  default/own asks for (it is LSE: its CPUs are its own) 4.00 cores and 2.00Gi\n"
        "\n"
        "Why it changes:\n"
        "- The node says 41.00 cores, and by the figures of now it is 31.00: a difference of more than 10% "
        "is written at once, a smaller one 300 s after the last.\n"
        "- 1 pod is not measured yet and counts with all that it asks for, 10.00 cores: the agent's next "
        "report lends again what it does not use (default/new).\n"
        "- 1 pod is gone and counts with 2.00 cores until the agent's next report.\n"
        "- What measured pods ask for does not count for CPU (policy usage): a request without load lends no "
        "less, and one that goes lends no more.\n");
}

TEST_CASE("the sum is the manager's with every policy") {
  for (const char* cpu : {"usage", "maxUsageRequest"})
    for (const char* memory : {"usage", "request", "maxUsageRequest"}) {
      CAPTURE(cpu, memory);
      Case c = lending_case();
      c.strategy.cpu_calculate_policy = cpu;
      c.strategy.memory_calculate_policy = memory;
      const NodeStory story = tell(c);
      CHECK(left_of(story) == Approx(story.lent.cpu_cores));
      std::int64_t left = 0;
      for (const FigureView& figure : story.figures) {
        if (figure.of_above || !figure.memory_bytes) continue;
        if (figure.name == "capacity") left += *figure.memory_bytes;
        if (figure.name == "margin" || figure.name == "taken" || figure.name == "pods")
          left -= *figure.memory_bytes;
      }
      CHECK(std::max<std::int64_t>(left, 0) == story.lent.memory_bytes);
    }
}

TEST_CASE("what is asked for beyond what is lent, a level, and a node that lends nothing") {
  Case c = lending_case();
  auto greedy = std::make_shared<api::Pod>();
  greedy->metadata.name = "greedy";
  greedy->status.phase = Symbol("Running");
  greedy->spec.containers.emplace_back().resources.requests[api::kBatchCpu] = api::Quantity::from_int(50'000);
  greedy->metadata.labels[api::kQosLabel] = Symbol("BE");
  c.pods.push_back(greedy);
  const NodeStory asked = tell(c);
  CHECK(asked.over_asked);
  CHECK(render(asked).find("Batch pods on it ask for 50.00 cores and 0.00Gi: more than it lends (!).\n") !=
        std::string::npos);

  c.strategy.abnormal_node_step_percent = 20;
  const NodeStory lowered = tell(c, OvercommitLevel{60, c.now});
  CHECK(lowered.lent.cpu_cores == Approx(asked.lent.cpu_cores * 0.6).margin(0.002));
  CHECK(render(lowered).find("x 60%, the level after what went wrong there") != std::string::npos);

  c.metric.status.update_time.reset();
  CHECK(render(tell(c)) ==
        "Node n lends nothing to batch pods: there is no NodeMetric; is koordlet running there?\n"
        "It still says 41.00 cores and 40.00Gi.\n"
        "Batch pods on it ask for 50.00 cores and 0.00Gi: more than it lends (!).\n");
}

TEST_CASE("what pods ask for may be more than a number holds") {
  Case c = lending_case();
  for (int i = 0; i < 3; ++i) {
    auto greedy = std::make_shared<api::Pod>();
    greedy->metadata.name = fmt::format("greedy-{}", i);
    greedy->status.phase = Symbol("Running");
    greedy->spec.containers.emplace_back().resources.requests[api::kBatchMemory] =
        api::Quantity::must("9223372036854775807");
    greedy->metadata.labels[api::kQosLabel] = Symbol("BE");
    c.pods.push_back(greedy);
  }
  const NodeStory story = tell(c);
  CHECK(story.over_asked);
  CHECK(story.asked.memory_bytes == std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace koord::manager
