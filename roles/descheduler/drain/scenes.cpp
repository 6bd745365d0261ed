// See scenes.hpp.
#include "drain/scenes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "drain/cordon.hpp"
#include "koord/api/koordinator/drain.hpp"
#include "koord/api/rules/selector.hpp"

namespace koord::descheduler::drain {
namespace {

constexpr std::string_view kNode = "node";

std::string by_label(std::string_view key) { return fmt::format("label:{}", key); }

template <class List>
void sort_by_name(List& objects) {
  std::ranges::sort(objects, {}, [](const auto& o) {
    return std::pair<std::string_view, std::string_view>(o->metadata.namespace_.view(), o->metadata.name);
  });
}

bool has_ended(const api::DrainNode& drain) {
  return drain.status.phase == "Aborted" || (drain.status.phase == "Complete" && is_refused(drain));
}

}  // namespace

bool is_ready(const api::Node& node) {
  return std::ranges::none_of(node.status.conditions, [](const api::NodeCondition& condition) {
    return condition.type == "Ready" && condition.status != "True";
  });
}

Scenes::Scenes(kube::InformerSet& informers, kube::Client& client,
               std::function<std::string(const api::Pod&)> why_not, Placement& placement)
    : groups(informers.informer<api::DrainNodeGroup>(client)),
      drains(informers.informer<api::DrainNode>(
          client, {},
          {kube::index<api::DrainNode>(
               std::string(kNode),
               [](const api::DrainNode& drain) -> std::string_view { return drain.spec.node_name; }),
           kube::index_by_label(kube::kObjectType<api::DrainNode>, std::string(api::kDrainGroupLabel))})),
      nodes(informers.informer<api::Node>(client)),
      pods(informers.informer<api::Pod>(client, {},
                                        {kube::index<api::Pod>(std::string(kNode),
                                                               [](const api::Pod& pod) -> std::string_view {
                                                                 return pod.spec.node_name.view();
                                                               })})),
      reservations(informers.informer<api::Reservation>(
          client, {},
          {kube::index<api::Reservation>(
               std::string(kNode),
               [](const api::Reservation& room) -> std::string_view { return room.status.node_name.view(); }),
           kube::index_by_label(kube::kObjectType<api::Reservation>, std::string(api::kDrainNodeLabel))})),
      jobs(informers.informer<api::PodMigrationJob>(
          client, {},
          {kube::index_by_label(kube::kObjectType<api::PodMigrationJob>,
                                std::string(api::kDrainNodeLabel))})),
      why_not_(std::move(why_not)),
      placement_(placement) {}

std::vector<LeavingPod> Scenes::leaving(std::string_view node) const {
  std::vector<std::shared_ptr<const api::Pod>> there = pods.list_by(kNode, node);
  sort_by_name(there);
  std::vector<LeavingPod> all;
  all.reserve(there.size());
  for (auto& pod : there)
    if (!stays(*pod)) {
      std::string why = why_not_(*pod);
      all.push_back({std::move(pod), std::move(why)});
    }
  return all;
}

std::string Scenes::holder_of(const api::DrainNode& drain) const {
  const auto order = [](const api::DrainNode& d) {
    return std::tuple(d.metadata.creation_timestamp, std::string_view(d.metadata.name));
  };
  for (const auto& other : drains.list_by(kNode, drain.spec.node_name)) {
    if (other->metadata.name == drain.metadata.name || has_ended(*other)) continue;
    const bool has_begun = other->status.phase == "Running" || other->status.phase == "Complete";
    if (has_begun || (!is_refused(*other) && order(*other) < order(drain))) return other->metadata.name;
  }
  return {};
}

std::unique_ptr<HeldNodeScene> Scenes::of(const api::DrainNode& drain) const {
  auto held = std::make_unique<HeldNodeScene>();
  NodeScene& scene = held->scene;
  held->node = nodes.get({}, drain.spec.node_name);
  scene.node = held->node.get();
  scene.pods = leaving(drain.spec.node_name);
  scene.reservations = reservations.list_by(by_label(api::kDrainNodeLabel), drain.metadata.name);
  scene.jobs = jobs.list_by(by_label(api::kDrainNodeLabel), drain.metadata.name);
  // A name that somebody else has taken.
  const auto has = [](const auto& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const auto& o) { return o->metadata.name == name; });
  };
  for (const LeavingPod& pod : scene.pods) {
    const std::string name = part_name(drain.metadata.name, pod.pod->metadata.uid);
    if (auto room = reservations.get({}, name); room && !has(scene.reservations, name))
      scene.reservations.push_back(std::move(room));
    if (auto job = jobs.get({}, name); job && !has(scene.jobs, name)) scene.jobs.push_back(std::move(job));
  }
  sort_by_name(scene.reservations);
  sort_by_name(scene.jobs);
  for (const auto& room : reservations.list_by(kNode, drain.spec.node_name))
    if (!is_made_by(room->metadata, drain) && room->status.phase == "Available" &&
        room->status.current_owners.empty())
      scene.foreign_rooms.push_back(room->metadata.name);
  std::ranges::sort(scene.foreign_rooms);
  scene.held_by = holder_of(drain);
  return held;
}

std::unique_ptr<HeldGroupScene> Scenes::of(const api::DrainNodeGroup& group) const {
  auto held = std::make_unique<HeldGroupScene>();
  GroupScene& scene = held->scene;
  const auto all_groups = groups.list();
  std::vector<const api::DrainNodeGroup*> every;
  for (const auto& each : all_groups)
    if (!each->metadata.deletion_timestamp) every.push_back(each.get());
  scene.first = first_of(every);
  api::LabelSelector everything;
  auto selector = api::Selector::from(group.spec.node_selector ? &*group.spec.node_selector : &everything);
  if (!selector) {
    scene.bad_selector = selector.error().context("spec.nodeSelector").message();
    selector = api::Selector::nothing();
  }
  for (const auto& drain : drains.list_by(by_label(api::kDrainGroupLabel), group.metadata.name)) {
    const api::OwnerReference* const owner = api::controller_of(drain->metadata);
    if (owner != nullptr && owner->uid == group.metadata.uid) held->drains.push_back(drain);
  }
  sort_by_name(held->drains);
  for (const auto& drain : held->drains) {
    scene.drains.push_back(drain.get());
    if (!is_undone(*drain, of(*drain)->scene)) scene.not_undone.push_back(drain->metadata.name);
  }
  held->nodes = nodes.list();
  sort_by_name(held->nodes);
  std::set<std::string, std::less<>> of_group;
  for (const auto& node : held->nodes) {
    const bool is_marked = api::value_or(node->metadata.labels, api::kDrainGroupLabel) == group.metadata.name;
    if (!selector->matches(node->metadata.labels)) {
      if (is_marked) scene.other_marked.push_back(node.get());
      scene.has_elsewhere =
          scene.has_elsewhere || (is_ready(*node) && !node->spec.unschedulable && marked_by(*node).empty());
      continue;
    }
    of_group.insert(node->metadata.name);
    GroupNode& made = scene.nodes.emplace_back();
    made.node = node.get();
    const auto drain =
        std::ranges::find(held->drains, node->metadata.name,
                          [](const auto& d) -> const std::string& { return d->spec.node_name; });
    made.drain = drain == held->drains.end() ? nullptr : drain->get();
    const api::ResourceList asked = requests_of(pods.list_by(kNode, node->metadata.name));
    int counted = 0;
    for (const std::string_view resource : {"cpu", "memory"}) {
      const api::Quantity* const has = node->status.allocatable.find(resource);
      if (has == nullptr || has->sign() <= 0) continue;
      const api::Quantity* const used = asked.find(resource);
      made.free[resource] = used ? *has - *used : *has;
      made.score += static_cast<std::int64_t>(100 * made.free[resource].to_double() / has->to_double());
      ++counted;
    }
    if (counted > 1) made.score /= counted;
  }
  scene.why_stuck = [this, &group, of_group = std::move(of_group)](const api::Node& node) {
    return why_stuck(group, node, of_group);
  };
  return held;
}

std::string Scenes::why_stuck(const api::DrainNodeGroup& group, const api::Node& node,
                              const std::set<std::string, std::less<>>& of_group) const {
  for (const auto& other : drains.list_by(kNode, node.metadata.name))
    if (!has_ended(*other) && !is_refused(*other))
      return fmt::format("node \"{}\" is drained by DrainNode \"{}\"", node.metadata.name,
                         other->metadata.name);
  std::vector<PodPtr> going;
  for (const LeavingPod& pod : leaving(node.metadata.name)) {
    const api::ObjectMeta& meta = pod.pod->metadata;
    if (meta.deletion_timestamp) continue;
    if (!pod.why_not.empty() || api::controller_of(meta) == nullptr)
      return fmt::format("pod {}/{} may not be evicted: {}", meta.namespace_.view(), meta.name,
                         pod.why_not.empty() ? "it has no controller" : pod.why_not);
    going.push_back(pod.pod);
  }
  if (going.empty()) return {};
  std::vector<std::shared_ptr<const api::Node>> others = nodes.list();
  std::vector<std::vector<PodPtr>> there;
  there.reserve(others.size());
  std::vector<Elsewhere> elsewhere;
  elsewhere.reserve(others.size());
  for (const auto& other : others) {
    const bool is_of_group = of_group.contains(other->metadata.name);
    // Without a policy all of the group are to go.
    if (other->metadata.name == node.metadata.name || !marked_by(*other).empty() ||
        (is_of_group && !group.spec.termination_policy))
      continue;
    there.push_back(pods.list_by(kNode, other->metadata.name));
    Elsewhere& made = elsewhere.emplace_back();
    made.view = {.node = other, .pods = there.back(), .metric = {}, .ready = is_ready(*other)};
    made.is_last_choice = is_of_group;
    for (const auto& room : reservations.list_by(kNode, other->metadata.name))
      if (room->status.phase == "Available" && room->status.current_owners.empty())
        add(made.reserved, room->status.allocatable);
  }
  const std::vector<Symbol> placed = placement_.place(going, elsewhere);
  for (std::size_t i = 0; i < placed.size(); ++i)
    if (placed[i].empty())
      return fmt::format("pod {}/{} has nowhere to go: none of {} nodes has room for all {} pods",
                         going[i]->metadata.namespace_.view(), going[i]->metadata.name, elsewhere.size(),
                         going.size());
  return {};
}

api::Node Scenes::without_orphans(const api::Node& node) const {
  api::Node made = node;
  // What the server does not serve is not known to be gone.
  if (!drains.listed() || drains.undefined() != nullptr || !groups.listed() || groups.undefined() != nullptr)
    return made;
  if (const std::string drain = marked_by(node); !drain.empty() && !drains.get({}, drain))
    made = uncordoned(made, drain);
  const std::string_view group = api::value_or(node.metadata.labels, api::kDrainGroupLabel);
  if (!group.empty() && !groups.get({}, group)) made.metadata.labels.erase(api::kDrainGroupLabel);
  return made;
}

}  // namespace koord::descheduler::drain
