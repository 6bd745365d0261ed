// Gathering: see gathering.hpp.
#include "scheduling/plugins/coscheduling/gathering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/plugins/coscheduling/topology/rank.hpp"

namespace koord::scheduling::coscheduling {

using topology::Tree;

namespace {

/// So often a plan is made anew because nodes refused what it gave them.
constexpr int kTries = 16;
/// Counters for so many sets of multiples are kept.
constexpr std::size_t kCounters = 4;
/// People are told of so many domains by name, those with the most room.
constexpr std::size_t kNamed = 16;

std::int64_t at(std::span<const std::int64_t> all, Tree::Id id) { return id < all.size() ? all[id] : 0; }

/// Members that say no index come last.
auto order(const Member& member) {
  const auto index = api::network_topology_index(member.pod->metadata);
  return std::tuple(!index || *index < 0, index && *index >= 0 ? *index : 0,
                    std::string_view(member.pod->metadata.name), std::string_view(member.key));
}

}  // namespace

Gathering::Gathering(const topology::NetworkTopology& network, const PluginContext& context)
    : network_(network),
      nodes_(context.nodes),
      verdicts_(context.verdicts),
      complaints_(context.shared.get<Complaints>()) {}

topology::Counters& Gathering::count(const topology::Ask& ask, const std::vector<Room>& rooms) {
  const Tree& tree = network_.tree();
  auto it = std::ranges::find_if(counters_, [&](const auto& c) { return c.serve(tree, ask.multiples); });
  if (it == counters_.end()) {
    if (counters_.size() < kCounters) counters_.emplace_back();
    it = counters_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ = (next_ + 1) % kCounters;
    it->begin(tree, ask.multiples);
  }
  for (Row row = 0; row < rooms.size(); ++row)
    if (const Tree::Id leaf = network_.leaf(row); leaf != Tree::kNone && it->room(leaf) != rooms[row].pods)
      it->set(leaf, rooms[row].pods);
  return *it;
}

/// Members that can be nowhere are left out where their gang is enough without them.
Gathering::Outcome Gathering::look(std::vector<Member*>& members, Placements& places) {
  std::vector<const api::Pod*> pods;
  for (;;) {
    pods.clear();
    for (const Member* member : members) pods.push_back(member->pod.get());
    Placements::NoRoom none = places.room(pods, rooms_);
    if (none.status.ok() || !none.status.rejected()) return {std::move(none.status)};
    const auto it = std::ranges::find(members, none.pod, [](const Member* m) { return m->pod.get(); });
    Member& out = **it;
    const auto of_its_gang = [&](const Member* m) { return m->gang == out.gang; };
    if (std::ranges::count_if(members, of_its_gang) <= std::max<std::int64_t>(out.gang->needs(), 1))
      return {std::move(none.status), &out};
    members.erase(it);
  }
}

Gathering::Outcome Gathering::place(const api::NetworkTopologySpec& spec, std::vector<Member*> members,
                                    Member& leader, Placements& places, gangs::GangPlugin::Costs costs) {
  topology::Wishes wishes = topology::read_wishes(spec, network_.layers());
  if (costs.empty()) complain(wishes, leader);
  std::ranges::sort(members, {}, [](const Member* member) { return order(*member); });
  if (Outcome outcome = look(members, places); !outcome.status.ok()) return outcome;
  if (std::ranges::find(members, &leader) == members.end())
    return {
        {StatusCode::unschedulable, "pod is not waiting to be scheduled"}, &leader, 0, {}, members.front()};
  wishes.ask.pods = static_cast<std::int64_t>(members.size());
  topology::Counters& counters = count(wishes.ask, rooms_);
  const std::vector<std::int64_t> existing =
      network_.existing(topology::selector_of(members.front()->pod->metadata));
  const std::vector<std::int64_t> cheap = scores(costs);
  for (int left = kTries; left > 0 && !wishes.impossible; --left) {
    const auto plan = topology::solve(network_.tree(), wishes.ask, {counters.offers(), existing, cheap});
    if (!plan) break;
    std::size_t next = 0;
    bool all = true;
    for (const auto& [leaf, count] : *plan)
      for (std::int64_t placed = 0; placed < count; ++placed) {
        Placements::Placed one = places.place_on(*members[next]->pod, network_.row(leaf));
        if (one.row != kNoRow) {
          ++next;
          continue;
        }
        if (!one.elsewhere) return {std::move(one.status), members[next], next};
        // The rest of the plan is tried with those who are left: more than one node may say no.
        counters.set(leaf, placed);
        all = false;
        break;
      }
    if (all) return {};
    places.roll_back(0);
  }
  return nowhere(wishes, counters, leader, places, !costs.empty());
}

/// The more the less a domain costs.
std::vector<std::int64_t> Gathering::scores(gangs::GangPlugin::Costs costs) const {
  std::vector<std::int64_t> all;
  if (costs.empty()) return all;
  const Tree& tree = network_.tree();
  all.resize(tree.size());
  for (Row row = 0; row < costs.size(); ++row)
    for (Tree::Id id = network_.leaf(row); id != Tree::kNone; id = tree[id].parent) all[id] -= costs[row];
  return all;
}

/// `again`: it has been refused already.
Gathering::Outcome Gathering::nowhere(const topology::Wishes& wishes, const topology::Counters& counters,
                                      Member& leader, Placements& places, bool again) const {
  std::vector<Tree::Id> domains;
  if (!wishes.impossible) domains = network_.tree().of_layer(wishes.ask.gather);
  std::ranges::stable_sort(domains, std::ranges::greater(),
                           [&](Tree::Id id) { return at(counters.offers(), id); });
  Diagnosis nodes{.nodes = nodes_.nodes()};
  for (Row row = 0; row < rooms_.size(); ++row)
    if (nodes_.node(row) && rooms_[row].pods < wishes.ask.pods && rooms_[row].refusal != kPass &&
        rooms_[row].refusal != kAbsent)
      nodes.count(verdicts_[rooms_[row].refusal], 1);
  Diagnosis why{.nodes = nodes.nodes,
                .prefilter_message = message(wishes, counters, domains, nodes),
                .rejectors = nodes.rejectors};
  // In what is said of the whole gang Koordinator has it as each node's reason.
  Outcome outcome{{StatusCode::unschedulable,
                   fit_error({.nodes = nodes.nodes, .reasons = {{why.prefilter_message, nodes.nodes}}})},
                  &leader};
  outcome.hopeless = wishes.impossible;
  for (std::size_t i = 0; i < std::min(domains.size(), kNamed); ++i)
    outcome.tried.push_back(sentence(wishes, counters, domains[i]));
  if (domains.size() > kNamed)
    outcome.tried.push_back(fmt::format("{} more domains of {} have no more room than that.",
                                        domains.size() - kNamed,
                                        network_.layers().all[wishes.ask.gather].name));
  if (!again) places.refuse(*leader.pod, std::move(why));
  return outcome;
}

/// Koordinator's words; what comes after them is ours.
std::string Gathering::message(const topology::Wishes& wishes, const topology::Counters& counters,
                               const std::vector<Tree::Id>& domains, const Diagnosis& nodes) const {
  const topology::Layers& layers = network_.layers();
  std::vector<std::string> reasons, multiples;
  for (std::size_t i = 0; i < std::min(domains.size(), kNamed); ++i)
    reasons.push_back(fmt::format("topology topologyNode {}/{}: {}", layers.all[wishes.ask.gather].name,
                                  network_.tree()[domains[i]].name, at(counters.offers(), domains[i])));
  std::ranges::sort(reasons);
  if (domains.size() > kNamed) reasons.push_back(fmt::format("and {} more", domains.size() - kNamed));
  for (std::size_t layer = 0; layer < wishes.ask.multiples.size(); ++layer)
    if (wishes.ask.multiples[layer] > 1)
      multiples.push_back(fmt::format("{}={}", layers.all[layer].name, wishes.ask.multiples[layer]));
  std::ranges::sort(multiples);
  std::string text =
      fmt::format("no candidate topology nodes can accommodate job, desiredOfferSlot: {}, {}, {}",
                  wishes.ask.pods, fmt::join(reasons, ";"), fit_error(nodes));
  if (!multiples.empty())
    text += fmt::format("; podCountMultiple constraints: {}", fmt::join(multiples, ", "));
  if (wishes.impossible)
    text += fmt::format("; ClusterNetworkTopology {} has no layer {}", api::ClusterNetworkTopology::kName,
                        fmt::join(wishes.unknown, ", "));
  if (network_.tree()[Tree::kRoot].nodes == 0)
    text += fmt::format("; no node has the labels of ClusterNetworkTopology {}",
                        api::ClusterNetworkTopology::kName);
  return text;
}

std::string Gathering::sentence(const topology::Wishes& wishes, const topology::Counters& counters,
                                Tree::Id domain) const {
  const Tree::Domain& is = network_.tree()[domain];
  const std::string name = domain == Tree::kRoot
                               ? "The cluster"
                               : fmt::format("{} {}", network_.layers().all[is.layer].name, is.name);
  std::vector<std::string> reasons;
  for (const auto& [reason, nodes] : refusals(domain, wishes.ask.pods).reasons)
    reasons.push_back(fmt::format("{} on {}", reason, nodes));
  return fmt::format("{} has {} {} and room for {} of the gang's {} pods{}{}.", name, is.nodes,
                     is.nodes == 1 ? "node" : "nodes", at(counters.offers(), domain), wishes.ask.pods,
                     reasons.empty() ? "" : ": ", fmt::join(reasons, ", "));
}

Diagnosis Gathering::refusals(Tree::Id domain, std::int64_t pods) const {
  Diagnosis all;
  count_refusals(domain, pods, all);
  return all;
}

void Gathering::count_refusals(Tree::Id domain, std::int64_t pods, Diagnosis& out) const {
  const Tree::Domain& is = network_.tree()[domain];
  for (const Tree::Id child : is.children) count_refusals(child, pods, out);
  if (!is.children.empty() || domain == Tree::kRoot) return;
  const Room& room = rooms_[network_.row(domain)];
  if (room.pods < pods && room.refusal != kPass && room.refusal != kAbsent)
    out.count(verdicts_[room.refusal], 1);
}

void Gathering::complain(const topology::Wishes& wishes, const Member& leader) const {
  if (wishes.unknown.empty() && wishes.strategies.empty()) return;
  std::vector<std::string> what;
  if (!wishes.unknown.empty())
    what.push_back(fmt::format("ClusterNetworkTopology {} has no layer {}",
                               api::ClusterNetworkTopology::kName, fmt::join(wishes.unknown, ", ")));
  if (!wishes.strategies.empty())
    what.push_back(fmt::format("there is no strategy {}, but MustGather and PreferGather",
                               fmt::join(wishes.strategies, ", ")));
  complaints_.say("Pod", leader.pod->metadata,
                  fmt::format("gang {}: {}: {}: what it says there does not count", leader.gang->id,
                              api::NetworkTopologySpec::kAnnotation, fmt::join(what, "; ")));
}

}  // namespace koord::scheduling::coscheduling
