// Allocation results: see results.hpp.
#include "scheduling/plugins/dynamic_resources/allocate/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace koord::scheduling::dynamic_resources {

namespace {

using Requirements = api::List<api::NodeSelectorRequirement>;

bool same(const api::NodeSelectorRequirement& a, const api::NodeSelectorRequirement& b) {
  const auto values = [](const api::NodeSelectorRequirement& of) {
    return std::set<Symbol>(of.values.begin(), of.values.end());
  };
  return a.key == b.key && a.operator_ == b.operator_ && values(a) == values(b);
}

void add_new(const Requirements& from, Requirements& to) {
  for (const api::NodeSelectorRequirement& each : from)
    if (std::ranges::none_of(to, [&](const auto& known) { return same(known, each); })) to.push_back(each);
}

api::NodeSelector this_node(std::string_view name) {
  api::NodeSelector selector;
  selector.node_selector_terms.emplace_back().match_fields.push_back({"metadata.name", "In", {Symbol(name)}});
  return selector;
}

/// The nodes on which all devices of a claim can be used; nothing: on all.
Result<api::Box<api::NodeSelector>> nodes_of(const Question& question, const std::vector<Chosen>& chosen) {
  api::NodeSelectorTerm term;
  for (const Chosen& each : chosen) {
    const NodePools::Device& device = question.pools.devices[each.device];
    const api::SliceDevice& object = device.object();
    const api::ResourceSliceSpec& slice = device.slice->spec();
    const bool own = device.slice->per_device();
    // Only the allocator for binding conditions and consumable capacity looks at the device's own word.
    const bool binds = (question.features.binding_conditions || question.features.consumable_capacity) &&
                       object.binds_to_node.value_or(false);
    if ((own ? object.node_name : slice.node_name) || binds)
      return api::Box<api::NodeSelector>(this_node(question.pools.node));
    const api::Box<api::NodeSelector>& selector = own ? object.node_selector : slice.node_selector;
    if (!selector || selector->node_selector_terms.empty()) continue;
    if (selector->node_selector_terms.size() > 1)
      return Error(Code::invalid, fmt::format("unsupported ResourceSlice.NodeSelector with {} terms",
                                              selector->node_selector_terms.size()));
    add_new(selector->node_selector_terms.front().match_fields, term.match_fields);
    add_new(selector->node_selector_terms.front().match_expressions, term.match_expressions);
  }
  if (term.match_fields.empty() && term.match_expressions.empty()) return api::Box<api::NodeSelector>();
  api::NodeSelector selector;
  selector.node_selector_terms.push_back(std::move(term));
  return api::Box<api::NodeSelector>(std::move(selector));
}

api::DeviceRequestAllocationResult result_of(const Question& question, const Ask& ask, const Chosen& chosen) {
  const NodePools::Device& device = question.pools.devices[chosen.device];
  api::DeviceRequestAllocationResult result;
  result.request = ask.full_name();
  const DeviceId id = device.slice->id(device.index);
  result.driver = id.driver;
  result.pool = id.pool;
  result.device = id.device;
  if (ask.admin) result.admin_access = true;
  result.tolerations = *ask.tolerations;
  if (question.features.binding_conditions) {
    result.binding_conditions = device.object().binding_conditions;
    result.binding_failure_conditions = device.object().binding_failure_conditions;
  }
  if (chosen.shared) {
    result.share_id = question.share_id();
    result.consumed_capacity = chosen.consumed;
  }
  return result;
}

/// Which way of a request was taken; the first where it got no device.
const Ask& way_of(const Asks& asks, const Asks::Request& request, const std::vector<Chosen>& chosen) {
  for (const Chosen& each : chosen)
    if (each.ask >= request.first && each.ask < request.first + request.count) return asks.ask(each.ask);
  return asks.ask(request.first);
}

void add_config(api::DeviceAllocationResult& to, std::string_view source, const api::List<Symbol>& requests,
                const api::DeviceConfiguration& configuration) {
  to.config.push_back({Symbol(source), requests, configuration});
}

/// Each class' configuration once, for all requests that are of it.
void add_class_configs(const Asks& asks, const Asks::Claim& claim, const std::vector<Chosen>& chosen,
                       api::DeviceAllocationResult& to) {
  std::map<std::string_view, std::pair<std::size_t, std::size_t>> known;
  for (const Asks::Request& request : claim.requests) {
    const Ask& ask = way_of(asks, request, chosen);
    const Symbol name = ask.full_name();
    const auto [place, added] =
        known.try_emplace(ask.device_class->metadata.name, to.config.size(), to.config.size());
    if (added) {
      for (const api::DeviceClassConfiguration& config : ask.device_class->spec.config)
        add_config(to, "FromClass", {name}, config.configuration);
      place->second.second = to.config.size();
      continue;
    }
    for (std::size_t i = place->second.first; i < place->second.second; ++i)
      to.config[i].requests.push_back(name);
  }
}

void add_claim_configs(const Asks& asks, const Asks::Claim& claim, const std::vector<Chosen>& chosen,
                       api::DeviceAllocationResult& to) {
  for (const api::DeviceClaimConfiguration& config : claim.object->spec.devices.config) {
    if (config.requests.empty()) add_config(to, "FromClaim", config.requests, config.configuration);
    const auto names = [&](const std::string_view wanted) {
      return std::ranges::any_of(config.requests, [&](const Symbol& name) { return name == wanted; });
    };
    if (config.requests.empty()) continue;
    // Once for each request that it names, as kube-scheduler writes it.
    for (const Asks::Request& request : claim.requests) {
      const Ask& ask = way_of(asks, request, chosen);
      if (names(ask.request->name) || (ask.sub != nullptr && names(ask.full_name())))
        add_config(to, "FromClaim", config.requests, config.configuration);
    }
  }
}

}  // namespace

Result<std::vector<api::AllocationResult>> allocation_results(const Question& question, const Asks& asks,
                                                              const Search& search) {
  std::vector<api::AllocationResult> results;
  for (std::size_t i = 0; i < asks.claims().size(); ++i) {
    const Asks::Claim& claim = asks.claims()[i];
    const std::vector<Chosen>& chosen = search.chosen()[i];
    api::AllocationResult& result = results.emplace_back();
    for (const Chosen& each : chosen)
      result.devices.results.push_back(result_of(question, asks.ask(each.ask), each));
    add_class_configs(asks, claim, chosen, result.devices);
    add_claim_configs(asks, claim, chosen, result.devices);
    auto nodes = nodes_of(question, chosen);
    if (!nodes)
      return std::move(nodes).error().context(
          fmt::format("create NodeSelector for claim {}", claim.object->metadata.name));
    result.node_selector = std::move(*nodes);
  }
  return results;
}

}  // namespace koord::scheduling::dynamic_resources
