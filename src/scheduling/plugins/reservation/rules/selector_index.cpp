// Nodes by the labels of their reservations: see selector_index.hpp.
#include "scheduling/plugins/reservation/rules/selector_index.hpp"

#include <algorithm>

#include "koord/json/writer.hpp"

namespace koord::scheduling::reservation {

namespace {

constexpr metrics::Metric kQueries{
    .name = "scheduler_reservation_selector_index_query_total",
    .help = "Number of times the index of reservations' labels was asked, by whether it has the label.",
    .labels = {"result"}};
constexpr metrics::Metric kCandidates{
    .name = "scheduler_reservation_selector_index_candidates_count",
    .type = metrics::Type::histogram,
    .help = "Number of nodes that the index of reservations' labels left to look at.",
    .bounds = metrics::exponential_bounds(1, 2, 16)};

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(kSpace) - from + 1));
}

void add(SelectorIndex::Nodes& nodes, const Symbol& node, const std::string& uid) { nodes[node].insert(uid); }

void take(SelectorIndex::Nodes& nodes, const Symbol& node, const std::string& uid) {
  const auto it = nodes.find(node);
  if (it == nodes.end()) return;
  it->second.erase(uid);
  if (it->second.empty()) nodes.erase(it);
}

void write(json::Writer& json, const SelectorIndex::Nodes& nodes, bool detail) {
  std::size_t reservations = 0;
  for (const auto& [node, uids] : nodes) reservations += uids.size();
  json.begin_object().member("nodes", nodes.size()).member("reservations", reservations);
  if (detail) {
    json.key("byNode").begin_object();
    for (const auto& [node, uids] : nodes) {
      json.key(node.view()).begin_array();
      for (const std::string& uid : uids) json.value(uid);
      json.end_array();
    }
    json.end_object();
  }
  json.end_object();
}

}  // namespace

SelectorIndex::SelectorIndex(bool enabled, const std::vector<std::string>& prefixes,
                             const std::vector<std::string>& keys) {
  if (!enabled) return;
  for (const std::string& each : prefixes)
    if (std::string prefix = trimmed(each);
        !prefix.empty() && std::ranges::find(prefixes_, prefix) == prefixes_.end())
      prefixes_.push_back(std::move(prefix));
  for (const std::string& each : keys)
    if (std::string key = trimmed(each); !key.empty()) keys_.insert(std::move(key));
  enabled_ = !prefixes_.empty() || !keys_.empty();
}

const std::string* SelectorIndex::prefix_of(std::string_view key) const {
  const auto it = std::ranges::find_if(prefixes_, [&](const std::string& p) { return key.starts_with(p); });
  return it != prefixes_.end() ? &*it : nullptr;
}

void SelectorIndex::put(const std::string& uid, const Symbol& node, const api::SymbolMap& labels) {
  if (!enabled_) return;
  remove(uid);
  Entry entry{.node = node, .prefixes = {}, .labels = {}};
  for (const auto& [key, value] : labels) {
    if (keys_.contains(key.view())) {
      entry.labels.emplace_back(key.str(), value);
      add(by_label_[key.str()][value], node, uid);
    }
    const std::string* const prefix = prefix_of(key.view());
    if (prefix == nullptr || std::ranges::find(entry.prefixes, *prefix) != entry.prefixes.end()) continue;
    entry.prefixes.push_back(*prefix);
    add(by_prefix_[*prefix], node, uid);
  }
  if (!entry.labels.empty() || !entry.prefixes.empty()) entries_.emplace(uid, std::move(entry));
}

void SelectorIndex::remove(const std::string& uid) {
  const auto it = entries_.find(uid);
  if (it == entries_.end()) return;
  const Entry entry = std::move(it->second);
  entries_.erase(it);
  for (const std::string& prefix : entry.prefixes) {
    const auto nodes = by_prefix_.find(prefix);
    take(nodes->second, entry.node, uid);
    if (nodes->second.empty()) by_prefix_.erase(nodes);
  }
  for (const auto& [key, value] : entry.labels) {
    const auto values = by_label_.find(key);
    const auto nodes = values->second.find(value);
    take(nodes->second, entry.node, uid);
    if (nodes->second.empty()) values->second.erase(nodes);
    if (values->second.empty()) by_label_.erase(values);
  }
}

const SelectorIndex::Nodes* SelectorIndex::candidates(const api::SymbolMap& selector) const {
  static const Nodes kNowhere;
  if (!enabled_) return nullptr;
  const Nodes* least = nullptr;
  const auto found = [&](const Nodes& nodes) {
    if (least == nullptr || nodes.size() < least->size()) least = &nodes;
  };
  for (const auto& [key, value] : selector) {
    if (keys_.contains(key.view())) {
      const auto values = by_label_.find(key.view());
      if (values == by_label_.end()) return &kNowhere;
      const auto nodes = values->second.find(value);
      if (nodes == values->second.end()) return &kNowhere;
      found(nodes->second);
    } else if (const std::string* const prefix = prefix_of(key.view())) {
      const auto nodes = by_prefix_.find(*prefix);
      if (nodes == by_prefix_.end()) return &kNowhere;
      found(nodes->second);
    }
  }
  return least;
}

std::string SelectorIndex::describe(bool detail) const {
  std::string text;
  json::Writer json(text);
  json.begin_object().member("enabled", enabled_).key("prefixes");
  if (prefixes_.empty()) {
    json.null();  // as Go writes it
  } else {
    json.begin_array();
    for (const std::string& prefix : prefixes_) json.value(prefix);
    json.end_array();
  }
  if (!keys_.empty()) {
    json.key("keys").begin_array();
    for (const std::string& key : keys_) json.value(key);
    json.end_array();
  }
  json.member("indexedReservations", entries_.size());
  if (!by_prefix_.empty()) {
    json.key("byPrefix").begin_object();
    for (const auto& [prefix, nodes] : by_prefix_) write(json.key(prefix), nodes, detail);
    json.end_object();
  }
  if (!by_label_.empty()) {
    json.key("byKey").begin_object();
    for (const auto& [key, values] : by_label_) {
      Nodes all;
      for (const auto& [value, nodes] : values)
        for (const auto& [node, uids] : nodes) all[node].insert(uids.begin(), uids.end());
      write(json.key(key), all, detail);
    }
    json.end_object();
  }
  if (detail && !by_label_.empty()) {
    json.key("byKeyValue").begin_object();
    for (const auto& [key, values] : by_label_) {
      json.key(key).begin_object();
      for (const auto& [value, nodes] : values) write(json.key(value.view()), nodes, detail);
      json.end_object();
    }
    json.end_object();
  }
  json.end_object();
  return text;
}

void IndexQueries::measure(metrics::Registry& registry) {
  const metrics::Family<metrics::Counter> queries = registry.counters(kQueries);
  hits_ = queries.with({"hit"});
  misses_ = queries.with({"miss"});
  candidates_ = registry.histogram(kCandidates);
  measured_ = true;
}

void IndexQueries::count(const SelectorIndex::Nodes* answer) const {
  if (!measured_) return;
  (answer != nullptr ? hits_ : misses_).inc();
  if (answer != nullptr && !answer->empty()) candidates_.observe(static_cast<double>(answer->size()));
}

}  // namespace koord::scheduling::reservation

namespace koord::scheduling {

extern const metrics::Table kReservationQueries = {&reservation::kQueries, &reservation::kCandidates};

}  // namespace koord::scheduling
