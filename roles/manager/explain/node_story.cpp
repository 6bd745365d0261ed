// The sum of what a node lends: see node_story.hpp.
#include "explain/node_story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "framework/noderesource/work.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::manager {

KOORD_SCHEMA(
    FigureView,
    ROW(name).doc(
        "capacity, margin, taken, reserved, system, pods, measured, unmeasured, gone, threshold, level, "
        "ratio, others, lent."),
    ROW(words).doc("What it is."), ROW(cpu_cores).doc("CPUs; absent: the policy does not count it."),
    ROW(memory_bytes).doc("Bytes of memory; absent: the policy does not count it."),
    ROW(of_above).doc("It is a part of a line above."));
KOORD_SCHEMA(TakerView, ROW(pod).doc("NAMESPACE/NAME."), ROW(why).doc("Whether it uses that or asks for it."),
             ROW(amount).doc("What it takes from what is lent."));
KOORD_SCHEMA(NodeStory, ROW(node).doc("The node's name."), ROW(time).doc("When that was."),
             ROW(lends).always().doc("By the figures of now."), ROW(why_not).doc("Why it lends nothing."),
             ROW(cpu_policy).doc("usage or maxUsageRequest."),
             ROW(memory_policy).doc("usage, request or maxUsageRequest."),
             ROW(figures).doc("The sum, line by line."), ROW(lent).doc("What it comes to now."),
             ROW(written).doc("What the node says."),
             ROW(asked).doc("What the batch pods that are on it ask for."),
             ROW(over_asked).doc("They ask for more than the node says."),
             ROW(reported).doc("When the agent wrote the figures."),
             ROW(takers).doc("The pods that take most CPU from it."),
             ROW(changes).doc("Why it is not what it was, or will be another."),
             ROW(notes).doc("What limits the answer."));

namespace {

using api::KoordPriority;
using api::Quantity;

constexpr std::size_t kTakers = 5;

double cores(const Quantity& cpu) { return static_cast<double>(cpu.milli_value()) / 1000; }

double percent_of(const std::optional<std::int64_t>& percent) {
  return static_cast<double>(percent.value_or(0));
}

figures::Amount batch_said(const api::ResourceList& list) {
  const Quantity* const cpu = list.find(api::kBatchCpu);
  const Quantity* const memory = list.find(api::kBatchMemory);
  return {cpu != nullptr ? static_cast<double>(cpu->value()) / 1000 : 0,
          memory != nullptr ? memory->value() : 0};
}

/// Amounts are anybody's: a sum stays at what there can be at most.
void add_to(figures::Amount& sum, const figures::Amount& one) {
  sum.cpu_cores += one.cpu_cores;
  if (__builtin_add_overflow(sum.memory_bytes, one.memory_bytes, &sum.memory_bytes))
    sum.memory_bytes = one.memory_bytes > 0 ? std::numeric_limits<std::int64_t>::max()
                                            : std::numeric_limits<std::int64_t>::min();
}

/// Pods of one sort, as the policies of CPU and memory count them.
struct Group {
  std::int64_t pods = 0;
  CpuMemory amount;
  std::vector<std::string> names;  // a few
};

class Telling {
 public:
  Telling(const NodeFacts& facts, const ColocationStrategy& strategy, const NodePlan& plan)
      : facts_(facts),
        strategy_(strategy),
        plan_(plan),
        view_{facts.node, facts.pods, facts.metric, strategy, facts.now},
        by_request_(strategy.memory_calculate_policy == "request"),
        larger_cpu_(strategy.cpu_calculate_policy == "maxUsageRequest"),
        larger_memory_(strategy.memory_calculate_policy == "maxUsageRequest") {}

  NodeStory run() {
    out_.node = facts_.node.metadata.name;
    out_.time = facts_.now;
    out_.lends = plan_.why_not.empty();
    out_.why_not = plan_.why_not;
    out_.cpu_policy = larger_cpu_ ? "maxUsageRequest" : "usage";
    out_.memory_policy = by_request_ ? "request" : larger_memory_ ? "maxUsageRequest" : "usage";
    out_.written = batch_said(facts_.node.status.allocatable);
    if (facts_.metric != nullptr) out_.reported = facts_.metric->status.update_time;
    add_asked();
    if (!out_.lends) return std::move(out_);
    out_.lent = batch_said(plan_.after.status.allocatable);
    add_sum();
    add_changes();
    return std::move(out_);
  }

 private:
  void add(std::string name, std::string words, std::optional<double> cpu, std::optional<std::int64_t> memory,
           bool of_above = false) {
    out_.figures.push_back({std::move(name), std::move(words), cpu, memory, of_above});
  }
  void add(std::string name, std::string words, const CpuMemory& amount, bool of_above = false) {
    add(std::move(name), std::move(words), cores(amount.cpu), amount.memory.value(), of_above);
  }

  void add_asked() {
    for (const auto& pod : facts_.pods) {
      const std::string_view phase = pod->status.phase.view();
      if (phase == "Succeeded" || phase == "Failed") continue;
      add_to(out_.asked, batch_said(api::pod_requests(*pod)));
    }
    out_.over_asked = out_.asked.cpu_cores > out_.written.cpu_cores + 1e-6 ||
                      out_.asked.memory_bytes > out_.written.memory_bytes;
  }

  /// What a pod takes by the policies.
  CpuMemory taken_by(const PodWork& pod) const {
    CpuMemory taken{larger_cpu_ ? pod.larger.cpu : pod.counted.cpu,
                    larger_memory_ ? pod.larger.memory : pod.counted.memory};
    if (by_request_) taken.memory = pod.pod != nullptr ? pod.requests.memory : Quantity();
    return taken;
  }

  bool is_measured(const api::Pod& pod) const {
    return std::ranges::any_of(facts_.metric->status.pods_metric, [&pod](const api::PodMetricInfo& metric) {
      return metric.name == pod.metadata.name && metric.namespace_ == pod.metadata.namespace_;
    });
  }

  void sort_pods() {
    for_each_pod(view_, [this](const PodWork& pod) {
      if (pod.low) return;
      const bool gone = pod.pod == nullptr, measured = !gone && is_measured(*pod.pod);
      Group& group = gone ? gone_ : measured ? measured_ : unmeasured_;
      const CpuMemory taken = taken_by(pod);
      ++group.pods;
      group.amount += taken;
      if (gone) return;
      const std::string name =
          fmt::format("{}/{}", pod.pod->metadata.namespace_.view(), pod.pod->metadata.name);
      if (!measured && group.names.size() < 3) group.names.push_back(name);
      std::string why = "uses";
      if (!measured)
        why = "asks for (it is not measured yet)";
      else if (taken.cpu > pod.counted.cpu || (larger_cpu_ && pod.requests.cpu == taken.cpu))
        why = "asks for (policy maxUsageRequest)";
      else if (api::koord_qos(*pod.pod) == api::KoordQos::lse)
        why = "asks for (it is LSE: its CPUs are its own)";
      out_.takers.push_back({name, std::move(why), {cores(taken.cpu), taken.memory.value()}});
    });
    std::ranges::stable_sort(out_.takers, [](const TakerView& a, const TakerView& b) {
      return a.amount.cpu_cores > b.amount.cpu_cores;
    });
    if (out_.takers.size() > kTakers) out_.takers.resize(kTakers);
  }

  void add_sum() {
    const CpuMemory capacity = CpuMemory::of(facts_.node.status.capacity),
                    reserved = reserved_of(facts_.node), system = system_used(view_, KoordPriority::batch);
    const double cpu_percent = percent_of(strategy_.cpu_reclaim_threshold_percent),
                 memory_percent = percent_of(strategy_.memory_reclaim_threshold_percent);
    const CpuMemory margin{scaled_cpu(capacity.cpu, (100 - cpu_percent) / 100),
                           scaled_memory(capacity.memory, (100 - memory_percent) / 100)};
    const CpuMemory larger = max(system, reserved);
    sort_pods();
    add("capacity", "capacity", capacity);
    add("margin",
        fmt::format("- kept free: {:.0f}% of CPU, {:.0f}% of memory", 100 - cpu_percent,
                    100 - memory_percent),
        margin);
    add("taken", by_request_ ? "- reserved; of CPU what the system uses, if more" : "- the larger of",
        cores(larger.cpu), by_request_ ? reserved.memory.value() : larger.memory.value());
    add("reserved", "reserved (kubelet's, or the node's annotation)", reserved, true);
    add("system", "what the system uses", cores(system.cpu),
        by_request_ ? std::nullopt : std::optional(system.memory.value()), true);
    CpuMemory pods = measured_.amount;
    pods += unmeasured_.amount;
    pods += gone_.amount;
    const std::int64_t count = measured_.pods + unmeasured_.pods;
    add("pods",
        fmt::format("- {} of class prod, mid or none", count == 1 ? "1 pod" : fmt::format("{} pods", count)),
        pods);
    add("measured", fmt::format("{} measured: {}", measured_.pods, how_counted()), measured_.amount, true);
    if (unmeasured_.pods > 0)
      add("unmeasured", fmt::format("{} not measured yet: what they ask for", unmeasured_.pods),
          unmeasured_.amount, true);
    if (gone_.pods > 0)
      add("gone", fmt::format("{} gone, still in the agent's report", gone_.pods), gone_.amount, true);
    const CpuMemory left =
        capacity - margin - CpuMemory{larger.cpu, by_request_ ? reserved.memory : larger.memory} - pods;
    if (left.cpu.sign() < 0 || left.memory.sign() < 0)
      add("left", "= what is left (below nothing: nothing)", left);
    if (strategy_.batch_cpu_threshold_percent || strategy_.batch_memory_threshold_percent)
      add("threshold", "at most, by the batch thresholds",
          strategy_.batch_cpu_threshold_percent
              ? std::optional(cores(capacity.cpu) * percent_of(strategy_.batch_cpu_threshold_percent) / 100)
              : std::nullopt,
          strategy_.batch_memory_threshold_percent
              ? std::optional(cut(static_cast<double>(capacity.memory.value()) *
                                  percent_of(strategy_.batch_memory_threshold_percent) / 100))
              : std::nullopt);
    const auto amount = plan_.overcommit.empty() ? std::nullopt : plan_.overcommit.front().amount;
    if (plan_.level_percent < 100 && amount)
      add("level", fmt::format("x {}%, the level after what went wrong there", plan_.level_percent),
          static_cast<double>(amount->cpu.value()) / 1000, amount->memory.value());
    if (plan_.ratio > 1 && amount)
      add("ratio", fmt::format("x {:.2f}, how fast its CPUs are (normalization)", plan_.ratio),
          static_cast<double>(amount->cpu.value()) / 1000 * plan_.ratio, amount->memory.value());
    add_others();
    add("lent", "= lent to batch pods", out_.lent.cpu_cores, out_.lent.memory_bytes);
  }

  std::string how_counted() const {
    if (larger_cpu_ && larger_memory_) return "the larger of use and request";
    if (larger_cpu_)
      return by_request_ ? "CPU the larger of both, memory asked" : "CPU the larger of both, memory used";
    if (by_request_) return "CPU used, memory asked for";
    return larger_memory_ ? "CPU used, memory the larger of both" : "what they use";
  }

  void add_others() {
    const auto all = api::read_annotation<api::ThirdPartyAllocations>(facts_.node.metadata.annotations);
    if (!all || !*all || (*all)->allocations.empty()) return;
    figures::Amount sum;
    std::string names;
    for (const api::ThirdPartyAllocation& one : (*all)->allocations) {
      if (one.priority != to_string(KoordPriority::batch)) continue;
      add_to(sum, batch_said(one.resources));
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    }
    add("others", fmt::format("- what others have taken ({})", names), sum.cpu_cores, sum.memory_bytes);
  }

  void add_changes() {
    const auto say = [this](std::string sentence) { out_.changes.push_back(std::move(sentence)); };
    const double differs = out_.lent.cpu_cores - out_.written.cpu_cores;
    if (differs > 0.0005 || differs < -0.0005)
      say(fmt::format(
          "The node says {:.2f} cores, and by the figures of now it is {:.2f}: a difference of more than "
          "{:.0f}% is written at once, a smaller one {} s after the last.",
          out_.written.cpu_cores, out_.lent.cpu_cores, strategy_.resource_diff_threshold.value_or(0.1) * 100,
          strategy_.update_time_threshold_seconds.value_or(300)));
    if (unmeasured_.pods > 0) {
      std::string names;
      for (const std::string& name : unmeasured_.names)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
      say(fmt::format(
          "{} not measured yet and {} with all that {} for, {:.2f} cores: the agent's next report lends "
          "again what {} not use ({}).",
          unmeasured_.pods == 1 ? "1 pod is" : fmt::format("{} pods are", unmeasured_.pods),
          unmeasured_.pods == 1 ? "counts" : "count", unmeasured_.pods == 1 ? "it asks" : "they ask",
          cores(unmeasured_.amount.cpu), unmeasured_.pods == 1 ? "it does" : "they do", names));
    }
    if (gone_.pods > 0)
      say(fmt::format("{} gone and {} with {:.2f} cores until the agent's next report.",
                      gone_.pods == 1 ? "1 pod is" : fmt::format("{} pods are", gone_.pods),
                      gone_.pods == 1 ? "counts" : "count", cores(gone_.amount.cpu)));
    add_averages();
    if (plan_.level_percent < 100)
      say(fmt::format(
          "It may lend {}% of that after evictions or missing reports; {} minutes without either give a "
          "step back.",
          plan_.level_percent, strategy_.abnormal_node_recover_minutes.value_or(10)));
    if (!larger_cpu_)
      say("What measured pods ask for does not count for CPU (policy usage): a request without load lends no "
          "less, and "
          "one that goes lends no more.");
  }

  /// What the whole node used over the agent's windows: its trend.
  void add_averages() {
    const auto& info = facts_.metric->status.node_metric;
    const Quantity* const now = info->node_usage.resources.find("cpu");
    if (now == nullptr) return;
    std::string averages;
    for (const api::AggregatedUsage& window : info->aggregated_node_usages) {
      const api::ResourceMap* const average = window.usage.find("avg");
      const Quantity* const cpu = average != nullptr ? average->resources.find("cpu") : nullptr;
      if (cpu != nullptr && window.duration)
        averages += fmt::format("{}{:.2f} over {}", averages.empty() ? "" : ", ", cores(*cpu),
                                window.duration->to_string());
    }
    if (!averages.empty())
      out_.changes.push_back(
          fmt::format("The whole node uses {:.2f} cores now; on average {}.", cores(*now), averages));
  }

  const NodeFacts& facts_;
  const ColocationStrategy& strategy_;
  const NodePlan& plan_;
  const NodeView view_;
  const bool by_request_, larger_cpu_, larger_memory_;
  Group measured_, unmeasured_, gone_;
  NodeStory out_;
};

}  // namespace

NodeStory tell_node(const NodeFacts& facts, const ColocationStrategy& strategy, const NodePlan& plan) {
  return Telling(facts, strategy, plan).run();
}

}  // namespace koord::manager
