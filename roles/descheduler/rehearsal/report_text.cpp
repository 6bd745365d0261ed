// render(): see report_text.hpp.
#include "rehearsal/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace koord::descheduler::rehearsal {
namespace {

using Row = std::vector<std::string>;

/// What others wrote must not write over the terminal.
std::string plain(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

/// Columns as wide as their widest cell, the last one as it comes.
std::string table(std::string_view title, Row head, const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i + 1 < head.size(); ++i) {
    std::size_t most = head[i].size();
    for (const Row& row : rows) most = std::max(most, row[i].size());
    widths.push_back(most);
  }
  std::string out = fmt::format("\n{}\n", title);
  const auto line = [&](const Row& row) {
    out += "  ";
    for (std::size_t i = 0; i < widths.size(); ++i) out += fmt::format("{:<{}}  ", row[i], widths[i]);
    out += fmt::format("{}\n", row.back());
  };
  line(head);
  for (const Row& row : rows) line(row);
  return out;
}

std::string count(std::int64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string change(const std::optional<double>& now, const std::optional<double>& after) {
  return now && after ? fmt::format("{:.1f}% -> {:.1f}%", *now, *after) : "unknown";
}

std::string cut(std::int64_t number, std::size_t shown) {
  if (number <= static_cast<std::int64_t>(shown)) return {};
  return fmt::format("  and {} more\n", number - static_cast<std::int64_t>(shown));
}

std::string name_of(const ReportedPod& pod) { return plain(fmt::format("{}/{}", pod.namespace_, pod.name)); }
std::string chooser_of(const ReportedPod& pod) {
  return plain(fmt::format("{} ({})", pod.plugin, pod.profile));
}

}  // namespace

std::string render(const PassReport& report) {
  if (!report.skipped.empty()) return fmt::format("Nothing was looked at: {}.\n", plain(report.skipped));
  std::string out =
      fmt::format("Of {} on {} ({} ready, {} with reported usage) the descheduler would move {} now; {}.\n",
                  count(report.pods, "pod", "pods"), count(report.nodes, "node", "nodes"), report.ready_nodes,
                  report.node_metrics, report.gone,
                  report.stay == 0 ? "none that it wants to move has to stay"
                                   : fmt::format("{} that it wants to move {} to stay", report.stay,
                                                 report.stay == 1 ? "has" : "have"));
  std::vector<Row> rows;
  rows.reserve(report.evicted.size());
  for (const ReportedPod& pod : report.evicted)
    rows.push_back({name_of(pod), plain(pod.node), pod.to.empty() ? "(no node has room)" : plain(pod.to),
                    chooser_of(pod), plain(pod.reason)});
  out += table("Would go:", {"POD", "FROM", "TO", "PLUGIN (PROFILE)", "WHY"}, rows);
  out += cut(report.gone, rows.size());
  rows.clear();
  for (const ReportedPod& pod : report.refused)
    rows.push_back({name_of(pod), plain(pod.node), chooser_of(pod), plain(pod.refused)});
  out += table("Would stay:", {"POD", "NODE", "PLUGIN (PROFILE)", "WHY IT STAYS"}, rows);
  out += cut(report.stay, rows.size());
  rows.clear();
  for (const ReportedNode& node : report.changed)
    rows.push_back({plain(node.name), fmt::format("{} -> {}", node.pods, node.pods_after),
                    change(node.cpu.used, node.cpu.used_after),
                    change(node.memory.used, node.memory.used_after),
                    change(node.cpu.requested, node.cpu.requested_after),
                    change(node.memory.requested, node.memory.requested_after)});
  out += table("Nodes that would change:",
               {"NODE", "PODS", "CPU USED", "MEMORY USED", "CPU REQUESTED", "MEMORY REQUESTED"}, rows);
  rows.clear();
  for (const ReportedSpread& each : report.spread)
    rows.push_back({each.resource, fmt::format("{}", each.nodes), fmt::format("{:.1f}%", each.mean),
                    fmt::format("{:.1f}% -> {:.1f}%", each.highest, each.highest_after),
                    fmt::format("{:.1f} -> {:.1f}", each.deviation, each.deviation_after)});
  out += table("Usage of all nodes:", {"RESOURCE", "NODES", "MEAN", "HIGHEST", "STANDARD DEVIATION"}, rows);
  rows.clear();
  for (const ReportedError& error : report.errors)
    rows.push_back({error.plugin, plain(error.profile), error.point, plain(error.error)});
  out += table("Plugins that failed:", {"PLUGIN", "PROFILE", "POINT", "ERROR"}, rows);
  for (const std::string& note : report.notes) out += fmt::format("\nWhere pods fit: {}.\n", plain(note));
  return out;
}

}  // namespace koord::descheduler::rehearsal
