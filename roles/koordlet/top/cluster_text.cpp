// A cluster's nodes and who waits, as text: see cluster_text.hpp.
#include "top/cluster_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "top/group_text.hpp"
#include "top/table.hpp"

namespace koord::koordlet {

namespace {

using figures::Amount;
using figures::ClusterView;
using figures::NodeRow;
using figures::TierRow;
using runtime::Colour;

/// Shown of reasons and quotas while there are nodes to be shown, too.
constexpr std::size_t kReasonsBesideNodes = 5, kQuotasBesideNodes = 8;
/// What the columns behind a node's name take.
constexpr std::size_t kBehindName = 60;

double cpu_of(const NodeRow& node, std::string_view tier) {
  const auto found = std::ranges::find(node.tiers, tier, &TierRow::name);
  return found != node.tiers.end() ? found->used.cpu_cores : 0;
}

double asked_share(const NodeRow& node) {
  if (node.asked.cpu_cores <= 0) return 0;
  return node.lent.cpu_cores > 0 ? node.asked.cpu_cores / node.lent.cpu_cores : 1e9;
}

void add_head(Lines& out, const ClusterView& view) {
  if (out.page().wide) out.add(view.server, Colour::faint);
  const auto nodes = static_cast<std::int64_t>(view.nodes.size());
  out.add(fmt::format(
      "{}  {}: {} ready, {} report{}; {}{} wait", view.time.to_string(), plural(nodes, "node"), view.ready,
      view.reporting, view.over_asked > 0 ? fmt::format(", {} over-asked", view.over_asked) : "",
      plural(view.waiting_pods, "pod"),
      view.waiting_reservations > 0 ? fmt::format(" and {}", plural(view.waiting_reservations, "reservation"))
                                    : ""));
  out.add(fmt::format(
      "CPU {} of {} cores used ({}), memory {} of {} ({})", one_decimal(view.used.cpu_cores),
      one_decimal(view.capacity.cpu_cores), share(view.used.cpu_cores, view.capacity.cpu_cores),
      bytes(view.used.memory_bytes), bytes(view.capacity.memory_bytes),
      share(static_cast<double>(view.used.memory_bytes), static_cast<double>(view.capacity.memory_bytes))));
  if (view.silent > 0)
    out.add(fmt::format("not counted, because {} never reported: {} cores, memory {}",
                        plural(view.silent, "node"), one_decimal(view.unknown.cpu_cores),
                        bytes(view.unknown.memory_bytes)),
            Colour::warning);
}

/// One line of CPU, one of memory; or why there is nothing.
void add_lent(Lines& out, const ClusterView& view) {
  if (view.nodes.empty()) return out.add("no node lends batch CPU: there is none", Colour::warning);
  if (view.lending == 0)
    return out.add(
        fmt::format("no node lends batch CPU: {} of {} report; {}", view.reporting, view.nodes.size(),
                    view.reporting == 0 ? "is koordlet running?" : "is colocation on?"),
        Colour::warning);
  out.add(fmt::format("lent to batch: CPU {} cores, {} asked for, {} used", one_decimal(view.lent.cpu_cores),
                      one_decimal(view.asked.cpu_cores), one_decimal(view.batch_used.cpu_cores)));
  out.add(fmt::format("               memory {}, {} asked for, {} used", bytes(view.lent.memory_bytes),
                      bytes(view.asked.memory_bytes), bytes(view.batch_used.memory_bytes)));
}

void add_tiers(Lines& out, const ClusterView& view) {
  out.blank();
  out.head(fmt::format("{:<12} {:>7} {:>9} {:>5} {:>8} {:>5}", "TIER", "PODS", "CPU", "", "MEM", ""));
  for (const TierRow& tier : view.tiers)
    out.add(fmt::format(
        "{:<12} {:>7} {:>9} {:>5} {:>8} {:>5}", tier.name == "none" ? "no class" : tier.name,
        tier.name == "system" ? std::string(kNone) : std::to_string(tier.pods),
        one_decimal(tier.used.cpu_cores), share(tier.used.cpu_cores, view.capacity.cpu_cores),
        bytes(tier.used.memory_bytes),
        share(static_cast<double>(tier.used.memory_bytes), static_cast<double>(view.capacity.memory_bytes))));
}

void add_waiting(Lines& out, const ClusterView& view, std::size_t most) {
  if (view.waiting.empty()) return;
  out.blank();
  out.head(fmt::format("{:>5} {:>5}  {}", "WAIT", "SINCE", "WHY, AND FOR EXAMPLE WHO"));
  const bool wide = out.page().wide;
  for (std::size_t i = 0; i < std::min(most, view.waiting.size()); ++i) {
    const figures::WaitRow& row = view.waiting[i];
    out.add(fmt::format("{:>5} {:>5}  {}", row.pods, figures::age(view.time.at - row.oldest.at),
                        wide ? row.why : figures::reason_first(row.why)));
    std::string names;
    for (const std::string& name : row.examples)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    out.add(fmt::format("{:>13}{}{}", "", names,
                        row.pods > static_cast<std::int64_t>(row.examples.size()) ? ", ..." : ""),
            Colour::faint);
  }
  std::int64_t more = view.more_waiting;
  for (std::size_t i = most; i < view.waiting.size(); ++i) more += view.waiting[i].pods;
  if (more > 0) out.add(fmt::format("... and {} more for other reasons", more));
}

std::vector<const NodeRow*> ordered(const ClusterView& view, ClusterOrder order) {
  std::vector<const NodeRow*> nodes;
  nodes.reserve(view.nodes.size());
  for (const NodeRow& node : view.nodes) nodes.push_back(&node);
  const auto weight = [order](const NodeRow* node) {
    if (order == ClusterOrder::batch) return node->lent.cpu_cores;
    if (order == ClusterOrder::asked) return asked_share(*node);
    return node->capacity.cpu_cores > 0 ? node->used.cpu_cores / node->capacity.cpu_cores : 0;
  };
  if (order != ClusterOrder::name)
    std::ranges::stable_sort(nodes,
                             [&](const NodeRow* a, const NodeRow* b) { return weight(a) > weight(b); });
  return nodes;
}

std::string node_line(const NodeRow& node, std::size_t name_width) {
  const bool known = node.reported.has_value();
  const auto cell = [known](std::string text) { return known ? std::move(text) : std::string(kNone); };
  return fmt::format(
      "{:<{}} {:>4} {:>4} {:>6} {:>6} {:>12}{} {:>11} {:>9}", clean(node.name, name_width), name_width,
      cell(share(node.used.cpu_cores, node.capacity.cpu_cores)),
      cell(share(static_cast<double>(node.used.memory_bytes),
                 static_cast<double>(node.capacity.memory_bytes))),
      cell(one_decimal(cpu_of(node, "koord-prod"))), cell(one_decimal(cpu_of(node, "koord-batch"))),
      fmt::format("{:.1f}/{:.1f}", node.asked.cpu_cores, node.lent.cpu_cores), node.over_asked ? '!' : ' ',
      fmt::format("{}/{}", bytes(node.asked.memory_bytes), bytes(node.lent.memory_bytes)), node.state);
}

Colour colour_of(const NodeRow& node) {
  if (node.over_asked || !node.ready) return Colour::bad;
  return node.state == "ready" ? Colour::none : Colour::warning;
}

void add_nodes(Lines& out, const ClusterView& view, const NodePage& page) {
  std::size_t longest = 4;
  for (const NodeRow& node : view.nodes) longest = std::max(longest, node.name.size());
  const std::size_t name_width = out.page().name_width(longest, kBehindName);
  if (out.count() > 0) out.blank();
  out.head(fmt::format("{:<{}} {:>4} {:>4} {:>6} {:>6} {:>12}  {:>11} {:>9}", "NODE", name_width, "CPU",
                       "MEM", "PROD", "BATCH", "ASKED/LENT", "MEMORY", "STATE"));
  const std::vector<const NodeRow*> nodes = ordered(view, page.order);
  const std::size_t fit =
      std::max<std::size_t>(lines_that_fit(nodes.size(), out.count(), out.page().height), 1);
  const std::size_t rows = page.rows > 0 ? page.rows : fit;
  const std::size_t pages = std::max<std::size_t>((nodes.size() + rows - 1) / rows, 1);
  const std::size_t number = std::clamp<std::size_t>(page.number, 1, pages);
  const std::size_t first = (number - 1) * rows, end = std::min(first + rows, nodes.size());
  for (std::size_t i = first; i < end; ++i) out.add(node_line(*nodes[i], name_width), colour_of(*nodes[i]));
  if (pages > 1)
    out.add(fmt::format("page {} of {}: {} nodes (--page, --rows, --sort=cpu|batch|asked|name)", number,
                        pages, nodes.size()),
            Colour::faint);
}

/// Its own sums, as ClusterFigures has them of all nodes.
void add_up(ClusterView& view, const NodeRow& node) {
  constexpr std::chrono::minutes kOld{3};
  view.ready = node.ready ? 1 : 0;
  view.reporting = node.reported && view.time.at - node.reported->at <= kOld ? 1 : 0;
  view.silent = node.reported ? 0 : 1;
  view.lending = node.lent.cpu_cores > 0 ? 1 : 0;
  view.over_asked = node.over_asked ? 1 : 0;
  (node.reported ? view.capacity : view.unknown) = node.capacity;
  view.used = node.used;
  view.lent = node.lent;
  view.asked = node.asked;
  view.tiers = node.tiers;
  const auto batch = std::ranges::find(node.tiers, "koord-batch", &TierRow::name);
  if (batch != node.tiers.end()) view.batch_used = batch->used;
}

void add_notes(Lines& out, const ClusterView& view) {
  for (const std::string& note : view.notes) out.add(fmt::format("Note: {}", note), Colour::warning);
}

}  // namespace

std::optional<ClusterOrder> parse_cluster_order(std::string_view text) {
  if (text == "cpu") return ClusterOrder::cpu;
  if (text == "batch") return ClusterOrder::batch;
  if (text == "asked") return ClusterOrder::asked;
  if (text == "name") return ClusterOrder::name;
  return std::nullopt;
}

std::string cluster_text(const ClusterView& view, const NodePage& nodes, const Page& page) {
  Lines out(page);
  add_head(out, view);
  add_lent(out, view);
  add_missing(out, view);
  add_notes(out, view);
  add_tiers(out, view);
  add_quotas(out, view, page.height > 0 ? kQuotasBesideNodes : view.quotas.size());
  add_waiting(out, view, page.height > 0 ? kReasonsBesideNodes : view.waiting.size());
  add_nodes(out, view, nodes);
  return out.take();
}

std::vector<std::string> leave_node(ClusterView& view, std::string_view name) {
  std::vector<std::string> names;
  names.reserve(view.nodes.size());
  ClusterView one;
  one.server = std::move(view.server);
  one.time = view.time;
  one.notes = std::move(view.notes);
  one.waiting_pods = view.waiting_pods;
  one.waiting_reservations = view.waiting_reservations;
  for (NodeRow& node : view.nodes) {
    names.push_back(node.name);
    if (node.name != name) continue;
    add_up(one, node);
    one.nodes.push_back(std::move(node));
  }
  view = std::move(one);
  return names;
}

std::string nodes_text(const ClusterView& view, const NodePage& nodes, const Page& page, bool totals) {
  Lines out(page);
  if (totals) add_head(out, view);
  if (totals) add_lent(out, view);
  add_notes(out, view);
  add_nodes(out, view, nodes);
  return out.take();
}

std::string lent_text(const ClusterView& view, const Page& page, bool totals) {
  Lines out(page);
  if (totals) add_lent(out, view);
  add_notes(out, view);
  if (totals && view.lending == 0) return out.take();
  if (totals)
    out.add(
        fmt::format("{} of {} nodes lend{}", view.lending, view.nodes.size(),
                    view.over_asked > 0
                        ? fmt::format("; {} asked for more than {} now (!)",
                                      view.over_asked == 1 ? "1 is" : fmt::format("{} are", view.over_asked),
                                      view.over_asked == 1 ? "it lends" : "they lend")
                        : ""));
  std::size_t longest = 4;
  for (const NodeRow& node : view.nodes) longest = std::max(longest, node.name.size());
  constexpr std::size_t kBehind = 60;
  const std::size_t name_width = page.name_width(longest, kBehind);
  if (out.count() > 0) out.blank();
  out.head(fmt::format("{:<{}} {:>6} {:>6} {:>6} {:>6}   {:>6} {:>6} {:>6} {:>6}", "NODE", name_width, "CPU",
                       "ASKED", "USED", "FREE", "MEM", "ASKED", "USED", "FREE"));
  for (const NodeRow* node : ordered(view, ClusterOrder::batch)) {
    if (totals && node->lent.cpu_cores <= 0 && node->asked.cpu_cores <= 0) continue;
    const auto used = std::ranges::find(node->tiers, "koord-batch", &TierRow::name);
    const Amount batch = used != node->tiers.end() ? used->used : Amount{};
    out.add(fmt::format("{:<{}} {:>6} {:>6} {:>6} {:>6} {} {:>6} {:>6} {:>6} {:>6}",
                        clean(node->name, name_width), name_width, one_decimal(node->lent.cpu_cores),
                        one_decimal(node->asked.cpu_cores), one_decimal(batch.cpu_cores),
                        one_decimal(std::max(0.0, node->lent.cpu_cores - node->asked.cpu_cores)),
                        node->over_asked ? '!' : ' ', bytes(node->lent.memory_bytes),
                        bytes(node->asked.memory_bytes), bytes(batch.memory_bytes),
                        bytes(std::max<std::int64_t>(0, node->lent.memory_bytes - node->asked.memory_bytes))),
            colour_of(*node));
  }
  return out.take();
}

}  // namespace koord::koordlet
