// What nodes lend: see lent.hpp.
#include "scheduling/what_if/lent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/what_if/pod_changes.hpp"

namespace koord::scheduling::explain {

namespace {

struct Lent {
  std::string_view resource;
  std::string_view name;
  bool is_cpu;
};
constexpr std::array kLent = {
    Lent{api::kBatchCpu, "batch CPU", true}, Lent{api::kBatchMemory, "batch memory", false},
    Lent{api::kMidCpu, "mid CPU", true}, Lent{api::kMidMemory, "mid memory", false}};

/// Agents report once a minute.
constexpr std::chrono::minutes kOld{3};

const Lent* find(std::string_view resource) {
  const auto* const found = std::ranges::find(kLent, resource, &Lent::resource);
  return found != kLent.end() ? found : nullptr;
}

/// Of how many nodes the agent has just reported; nothing where nobody reads NodeMetrics.
std::optional<std::size_t> reporting(const Engine& engine, WallTime now) {
  const AnyObjectStore* const store = engine.objects().find(kube::kObjectType<api::NodeMetric>);
  if (store == nullptr) return std::nullopt;
  std::size_t count = 0;
  static_cast<const ObjectStore<api::NodeMetric>*>(store)->all([&](const api::NodeMetric& metric) {
    const auto& at = metric.status.update_time;
    count += at && now - at->wall() <= kOld;
  });
  return count;
}

struct Offer {
  std::size_t nodes = 0, lending = 0;
  std::int64_t least = 0, most = 0;
};

Offer offer_of(const Engine& engine, std::string_view resource) {
  Offer offer;
  const NodeTable& nodes = engine.nodes();
  for (Row row = 0; row < nodes.rows(); ++row) {
    if (!nodes.node(row)) continue;
    ++offer.nodes;
    const api::Quantity* const amount = nodes.node(row)->status.allocatable.find(resource);
    if (amount == nullptr || amount->sign() <= 0) continue;
    const std::int64_t value = amount->value();
    offer.least = offer.lending == 0 ? value : std::min(offer.least, value);
    offer.most = std::max(offer.most, value);
    ++offer.lending;
  }
  return offer;
}

}  // namespace

bool is_lent(std::string_view resource) { return find(resource) != nullptr; }

std::string people_call(std::string_view resource) {
  const Lent* const lent = find(resource);
  return std::string(lent != nullptr ? lent->name : resource);
}

std::string people_count(std::string_view resource, std::int64_t amount) {
  const Lent* const lent = find(resource);
  if (lent == nullptr) return amount_text(resource, amount);
  if (lent->is_cpu) {
    std::string text = fmt::format("{:.3f}", static_cast<double>(amount) / 1000);
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return fmt::format("{} {}", text, amount == 1000 ? "core" : "cores");
  }
  constexpr double kGi = 1024.0 * 1024 * 1024;
  const double gi = static_cast<double>(amount) / kGi;
  std::string text = fmt::format("{:.2f}", gi);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "0" && amount > 0 ? amount_text("memory", amount) : fmt::format("{}Gi", text);
}

std::vector<std::string> about_lent(const Engine& engine, const api::Pod& pod, WallTime now) {
  std::vector<std::string> sentences;
  const api::ResourceList asked = api::pod_requests(pod);
  for (const Lent& lent : kLent) {
    const api::Quantity* const wanted = asked.find(lent.resource);
    if (wanted == nullptr || wanted->sign() <= 0) continue;
    const Offer offer = offer_of(engine, lent.resource);
    if (offer.nodes == 0) continue;
    if (offer.lending == 0) {
      const auto known = reporting(engine, now);
      const std::string reports = known ? fmt::format(": {} of {} report", *known, offer.nodes) : "";
      sentences.push_back(fmt::format("No node lends {}{}; is {}", lent.name, reports,
                                      known.value_or(0) == 0 ? "koordlet running?" : "colocation on?"));
      continue;
    }
    sentences.push_back(fmt::format(
        "It asks for {} of {}; {} of {} nodes lend {}{} each, what is taken already included.",
        people_count(lent.resource, wanted->value()), lent.name, offer.lending, offer.nodes,
        offer.least == offer.most ? "" : fmt::format("{} to ", people_count(lent.resource, offer.least)),
        people_count(lent.resource, offer.most)));
  }
  return sentences;
}

}  // namespace koord::scheduling::explain
