// The table of `koord top`: see view.hpp.
#include "top/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "top/table.hpp"

namespace koord::koordlet {

namespace {

using runtime::Colour;

constexpr std::size_t kQosWidth = 6;
/// What the columns behind the name take.
constexpr std::size_t kBehindName = 56;
/// A pod that loses less to others has no line of its own for it.
constexpr double kWorthALine = 0.1;

std::string micros(double us) {
  if (us < 1000) return fmt::format("{:.0f}us", us);
  if (us < 1'000'000) return fmt::format("{:.1f}ms", us / 1000);
  return fmt::format("{:.1f}s", us / 1'000'000);
}

std::string waits(const api::Box<LatencyView>& latency) {
  if (!latency) return std::string(kNone);
  return fmt::format("{}/{}", micros(latency->p50_us), micros(latency->p99_us));
}

std::string row(std::size_t name_width, std::string_view name, std::string_view qos, const UsageView& usage,
                const LimitsView& limits, const api::Box<LatencyView>& latency) {
  return clean(fmt::format("{:<{}} {:>6} {:>6} {:>6} {:>5} {:>6} {:>6} {:>13}", clean(name, name_width),
                           name_width, clean(qos, kQosWidth), cores(usage.cpu_cores), cores(limits.cpu_cores),
                           percent(usage.throttled_ratio), bytes(usage.memory_bytes),
                           bytes(limits.memory_bytes), waits(latency)),
               name_width + kBehindName);
}

std::string strategy_line(const koordlet::StrategyView& strategy) {
  const std::string held =
      strategy.held_seconds ? fmt::format(" (held for {} s)", *strategy.held_seconds) : "";
  return fmt::format("{}{}: {}", strategy.name, held,
                     strategy.summary.empty() ? (strategy.active ? "active" : "off") : strategy.summary);
}

/// "LS waited 12.3ms in 1.0s, while there ran: LS 80%, BE 20%; BE caused 95%, p99 340us; for
/// quotas of their own 1.0ms"
std::string blame_line(const BlameView& blame) {
  if (blame.period_seconds <= 0) return fmt::format("who made LS wait is not known ({})", blame.why_unfit);
  double sum = 0;
  for (const RunnerView& runner : blame.runners) sum += runner.seconds;
  std::vector<const RunnerView*> order;
  for (const RunnerView& runner : blame.runners)
    if (runner.seconds > 0) order.push_back(&runner);
  std::stable_sort(order.begin(), order.end(),
                   [](const RunnerView* a, const RunnerView* b) { return a->seconds > b->seconds; });
  std::string line = fmt::format("LS waited {} in {:.1f}s", micros(sum * 1e6), blame.period_seconds);
  for (std::size_t i = 0; i < order.size(); ++i)
    line += fmt::format("{} {} {:.0f}%", i == 0 ? ", while there ran:" : ",", order[i]->name,
                        order[i]->seconds / sum * 100);
  line += fmt::format("; BE caused {:.0f}%, p99 {}", sum > 0 ? blame.caused_seconds / sum * 100 : 0.0,
                      micros(blame.best_effort_p99_us));
  if (blame.own_quota_seconds > 0)
    line += fmt::format("; for quotas of their own {}", micros(blame.own_quota_seconds * 1e6));
  if (!blame.fit) line += fmt::format(" ({})", blame.why_unfit);
  return line;
}

/// "0.62: run queue 0.60, memory 0.05"
std::string lost_text(const InterferenceView& lost) {
  std::string text = fmt::format("{:.2f}", lost.all);
  const char* before = ":";
  const auto part = [&](std::string_view name, const std::optional<double>& value) {
    if (!value || *value < 0.005) return;
    text += fmt::format("{} {} {:.2f}", before, name, *value);
    before = ",";
  };
  part("run queue", lost.run_queue);
  part("memory", lost.memory);
  part("I/O", lost.io);
  part("CPI", lost.cpi);
  return text;
}

void add_head(Lines& out, const NodeView& node) {
  std::string sources;
  bool works = true;
  for (const koordlet::SourceView& source : node.sources) {
    sources += fmt::format("  {}{}", source.name, source.ok ? " ok" : " FAILS");
    works = works && source.ok;
  }
  out.add(fmt::format("{}  {}  cgroup {}{}", node.name, node.time.to_string(), node.cgroup_version, sources),
          works ? Colour::none : Colour::bad);
  const double capacity = node.capacity.cpu_cores.value_or(0);
  const auto share = [](double part, double of) {
    return of > 0 ? fmt::format(" ({:.0f}%)", part / of * 100) : "";
  };
  out.add(fmt::format("CPU {} of {} cores{}, memory {} of {}{}", cores(node.usage.cpu_cores),
                      cores(node.capacity.cpu_cores), share(node.usage.cpu_cores.value_or(0), capacity),
                      bytes(node.usage.memory_bytes), bytes(node.capacity.memory_bytes),
                      share(static_cast<double>(node.usage.memory_bytes.value_or(0)),
                            static_cast<double>(node.capacity.memory_bytes.value_or(0)))));
  for (const koordlet::StrategyView& strategy : node.strategies)
    if (strategy.enabled)
      out.add(strategy_line(strategy), strategy.held_seconds ? Colour::warning : Colour::none);
  if (node.blame) out.add(blame_line(*node.blame));
  for (const InterferenceView& lost : node.interference)
    out.add(fmt::format("{} loses to others {}", lost.name, lost_text(lost)));
  for (const koordlet::SourceView& source : node.sources)
    if (!source.ok && !source.error.empty())
      out.add(fmt::format("{}: {}", source.name, source.error), Colour::bad);
  for (const koordlet::CollectorView& collector : node.collectors)
    if (!collector.works) out.add(fmt::format("{}: {}", collector.name, collector.reason), Colour::warning);
}

void add_suppressed(Lines& out, const NodeView& node) {
  if (node.suppressed.empty() && node.failures.empty()) return;
  constexpr std::size_t kShown = 8;
  const std::size_t shown =
      out.page().wide ? node.suppressed.size() : std::min(kShown, node.suppressed.size());
  out.blank();
  out.head("HELD BACK");
  for (std::size_t i = 0; i < shown; ++i) {
    const koordlet::SuppressionView& one = node.suppressed[i];
    out.add(fmt::format("{} {} = {}{}{}: {} ({})", one.cgroup, one.knob, one.value,
                        one.in_force ? "" : " (not yet)", one.held ? " (held)" : "", one.reason,
                        one.strategy));
  }
  if (node.suppressed.size() > shown) out.add(fmt::format("... and {} more", node.suppressed.size() - shown));
  for (std::size_t i = 0; i < std::min(kShown, node.failures.size()); ++i)
    out.add(fmt::format("refused: {} {}: {}", node.failures[i].cgroup, node.failures[i].knob,
                        node.failures[i].error),
            Colour::bad);
}

/// Names of pods and containers as the table has them.
std::size_t longest_name(const PodListView& pods) {
  std::size_t longest = 12;
  for (const auto* list : {&pods.pods, &pods.host_applications})
    for (const PodView& pod : *list) {
      longest = std::max(longest, pod.ns.size() + 1 + pod.name.size());
      for (const koordlet::ContainerView& container : pod.containers)
        longest = std::max(longest, 2 + container.name.size());
    }
  return longest;
}

}  // namespace

std::string render_top(const NodeView& node, const PodListView& pods, const Page& page) {
  const std::size_t name_width = page.name_width(page.wide ? longest_name(pods) : 60, kBehindName);
  Lines out(page);
  add_head(out, node);
  const auto head = [&](std::string_view name, std::string_view second) {
    out.blank();
    out.head(fmt::format("{:<{}} {:>6} {:>6} {:>6} {:>5} {:>6} {:>6} {:>13}", name, name_width, second, "CPU",
                         "LIMIT", "THROT", "MEM", "LIMIT", "WAIT p50/p99"));
  };
  head("TIER", "PODS");
  for (const koordlet::TierView& tier : node.tiers)
    out.add(row(name_width, tier.name, tier.name == "system" ? std::string(kNone) : std::to_string(tier.pods),
                tier.usage, tier.limits, tier.run_queue_latency));
  add_suppressed(out, node);
  head("POD", "QOS");
  if (!pods.pods_known) out.add("the node's pods are not known yet", Colour::warning);
  std::vector<std::string> lines;
  std::vector<const PodView*> order;
  order.reserve(pods.pods.size());
  for (const PodView& pod : pods.pods) order.push_back(&pod);
  std::stable_sort(order.begin(), order.end(), [](const PodView* a, const PodView* b) {
    return a->usage.cpu_cores.value_or(0) > b->usage.cpu_cores.value_or(0);
  });
  for (const PodView* pod : order) {
    const std::string name = pod->ns.empty() ? pod->name : fmt::format("{}/{}", pod->ns, pod->name);
    lines.push_back(row(name_width, name, pod->qos, pod->usage, pod->limits, pod->run_queue_latency));
    if (pod->best_effort_wait_seconds)
      lines.push_back(fmt::format("  waited {} by best-effort work's doing",
                                  micros(*pod->best_effort_wait_seconds * 1e6)));
    if (pod->interference && pod->interference->all >= kWorthALine)
      lines.push_back(fmt::format("  loses to others {}", lost_text(*pod->interference)));
    if (pod->containers.size() > 1)
      for (const koordlet::ContainerView& container : pod->containers)
        lines.push_back(row(name_width, fmt::format("  {}", container.name), "", container.usage,
                            container.limits, container.run_queue_latency));
  }
  for (const PodView& application : pods.host_applications)
    lines.push_back(row(name_width, fmt::format("host: {}", application.name), application.qos,
                        application.usage, application.limits, application.run_queue_latency));
  const std::size_t shown = lines_that_fit(lines.size(), out.count(), page.height);
  for (std::size_t i = 0; i < shown; ++i) out.add(lines[i]);
  if (shown < lines.size()) out.add(fmt::format("... and {} more", lines.size() - shown));
  return out.take();
}

}  // namespace koord::koordlet
