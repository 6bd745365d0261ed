// A cluster in which nodes are drained by the state machines alone: the test is API server, scheduler and
// migration controller. Nothing is remembered but objects, and each goes through its text.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drain/cordon.hpp"
#include "drain/group_progress.hpp"
#include "drain/node_progress.hpp"
#include "drain/placement.hpp"
#include "drain/reservation.hpp"
#include "koord/api/koordinator/drain.hpp"
#include "koord/api/schema/codec.hpp"

namespace koord::descheduler::drain::test {

using namespace std::chrono_literals;

template <class T>
using Objects = std::map<std::string, T, std::less<>>;
template <class T>
T through_text(const T& object) {
  return api::decode<T>(api::encode(object)).value();
}

struct Cluster {
  WallTime now = api::Time::parse("2026-01-02T03:00:00Z")->wall();
  Objects<api::Node> nodes;
  Objects<api::Pod> pods;  // by name; all in "default"
  Objects<api::Reservation> reservations;
  Objects<api::PodMigrationJob> jobs;
  Objects<api::DrainNode> drains;
  Objects<api::DrainNodeGroup> groups;
  std::map<std::string, std::string, std::less<>> unevictable;  // pods, and why
  std::vector<std::string> events;
  int writes = 0;
  int writes_left = -1;  // then the process ends; -1: never
  int uids = 0;

  template <class T>
  T& put(Objects<T>& into, T object) {
    object.metadata.uid = "uid-" + std::to_string(10000 + ++uids);
    object.metadata.creation_timestamp = api::Time(now);
    return into[object.metadata.name] = std::move(object);
  }
  api::Node& add_node(std::string name, std::string_view pool = {}, int cpus = 10) {
    api::Node node;
    node.metadata.name = std::move(name);
    if (!pool.empty()) node.metadata.labels["pool"] = Symbol(pool);
    node.status.allocatable["cpu"] = api::Quantity::from_int(cpus);
    node.status.allocatable["memory"] = api::Quantity::from_int(cpus);
    node.status.allocatable["pods"] = api::Quantity::from_int(10);
    return put(nodes, node);
  }
  api::Pod& add_pod(std::string name, std::string_view node, int cpus = 1) {
    api::Pod pod;
    pod.metadata.name = std::move(name);
    pod.metadata.namespace_ = "default";
    api::OwnerReference& owner = pod.metadata.owner_references.emplace_back();
    owner.kind = "ReplicaSet";
    owner.api_version = "apps/v1";
    owner.name = "rs";
    owner.uid = "rs";
    owner.controller = true;
    pod.spec.node_name = Symbol(node);
    api::Container& container = pod.spec.containers.emplace_back();
    container.name = "c";
    container.resources.requests["cpu"] = api::Quantity::from_int(cpus);
    api::Pod& made = put(pods, pod);
    made.metadata.uid = std::to_string(20000000 + uids);  // parts are named after the first eight characters
    return made;
  }
  api::DrainNode& add_drain(std::string name, std::string node, std::string_view mode = "MigrateDirectly") {
    api::DrainNode drain;
    drain.metadata.name = std::move(name);
    drain.spec.node_name = std::move(node);
    drain.spec.cordon_policy.emplace().mode = "Taint";
    drain.spec.migration_policy.mode = Symbol(mode);
    drain.spec.confirm_state = "WaitForConfirm";
    return put(drains, drain);
  }
  api::DrainNodeGroup& add_group(std::string name, std::string_view pool) {
    api::DrainNodeGroup group;
    group.metadata.name = std::move(name);
    group.spec.node_selector.emplace().match_labels["pool"] = Symbol(pool);
    group.spec.cordon_node_policy.emplace().mode = "Taint";
    return put(groups, group);
  }

  bool may_write() {
    if (writes_left == 0) return false;
    if (writes_left > 0) --writes_left;
    ++writes;
    return true;
  }

  // What the controller does, without an API server.

  NodeScene scene_of(const api::DrainNode& drain) {
    NodeScene scene;
    if (const auto node = nodes.find(drain.spec.node_name); node != nodes.end()) scene.node = &node->second;
    for (const auto& [name, pod] : pods) {
      if (pod.spec.node_name.view() != drain.spec.node_name || stays(pod)) continue;
      const auto why = unevictable.find(name);
      scene.pods.push_back(
          {std::make_shared<api::Pod>(through_text(pod)), why == unevictable.end() ? "" : why->second});
    }
    for (const auto& [name, room] : reservations) {
      if (api::value_or(room.metadata.labels, api::kDrainNodeLabel) == drain.metadata.name)
        scene.reservations.push_back(std::make_shared<api::Reservation>(through_text(room)));
      else if (room.status.node_name.view() == drain.spec.node_name)
        scene.foreign_rooms.push_back(name);
    }
    for (const auto& [name, job] : jobs)
      if (api::value_or(job.metadata.labels, api::kDrainNodeLabel) == drain.metadata.name)
        scene.jobs.push_back(std::make_shared<api::PodMigrationJob>(through_text(job)));
    for (const auto& [name, other] : drains)
      if (name != drain.metadata.name && other.spec.node_name == drain.spec.node_name &&
          (other.status.phase == "Running" || other.status.phase == "Complete"))
        scene.held_by = name;
    return scene;
  }

  /// False: it has nothing to do, or the process has ended.
  bool step_drain(const std::string& name) {
    const api::DrainNode drain = through_text(drains.at(name));
    const NodeScene scene = scene_of(drain);
    const NodeStep step = next_step(drain, scene, now);
    for (const NodeWrite& write : step.writes) {
      if (!may_write()) return false;
      carry_out(drain, write);
    }
    if (!step.status) return !step.writes.empty();
    if (!may_write()) return false;
    drains.at(name).status = *step.status;
    for (const DrainEvent& event : step.events)
      events.push_back(name + " " + event.reason + ": " + event.note);
    return true;
  }
  void carry_out(const api::DrainNode& drain, const NodeWrite& write) {
    switch (write.act) {
      case NodeWrite::Act::kCordon:
        nodes.at(drain.spec.node_name) = cordoned(nodes.at(drain.spec.node_name), drain);
        return;
      case NodeWrite::Act::kUncordon:
        nodes.at(drain.spec.node_name) = uncordoned(nodes.at(drain.spec.node_name), drain.metadata.name);
        return;
      case NodeWrite::Act::kCreateReservation: {
        if (reservations.contains(write.name)) return;
        const auto document = reservation_for(drain, api::encode(*write.pod));
        REQUIRE(document.has_value());
        api::Reservation room = api::decode<api::Reservation>(*document).value();
        REQUIRE(room.metadata.name == write.name);
        put(reservations, std::move(room));
        return;
      }
      case NodeWrite::Act::kCreateJob:
        if (!jobs.contains(write.name)) put(jobs, job_for(drain, *write.pod, write.room, write.paused));
        return;
      case NodeWrite::Act::kDeleteJob:
        if (jobs.contains(write.name) && jobs.at(write.name).metadata.uid == write.uid)
          jobs.erase(write.name);
        return;
      case NodeWrite::Act::kDeleteReservation:
        if (reservations.contains(write.name) && reservations.at(write.name).metadata.uid == write.uid)
          reservations.erase(write.name);
        return;
      case NodeWrite::Act::kDeleteDrain: drains.erase(write.name); return;
    }
  }

  GroupScene scene_of(const api::DrainNodeGroup& group, std::vector<api::DrainNode>& kept) {
    GroupScene scene;
    std::vector<const api::DrainNodeGroup*> all;
    for (const auto& [name, each] : groups) all.push_back(&each);
    scene.first = first_of(all);
    kept.reserve(drains.size());
    std::map<std::string, const api::DrainNode*> of_node;
    for (const auto& [name, drain] : drains) {
      if (api::value_or(drain.metadata.labels, api::kDrainGroupLabel) != group.metadata.name) continue;
      scene.drains.push_back(&kept.emplace_back(through_text(drain)));
      of_node[drain.spec.node_name] = scene.drains.back();
      if (!is_undone(drain, scene_of(drain))) scene.not_undone.push_back(name);
    }
    const api::LabelSelector& selector = *group.spec.node_selector;
    const std::string_view pool = api::value_or(selector.match_labels, "pool");
    for (const auto& [name, node] : nodes) {
      const bool is_chosen = pool == "*" || api::value_or(node.metadata.labels, "pool") == pool;
      if (!is_chosen) {
        scene.has_elsewhere = true;
        if (api::value_or(node.metadata.labels, api::kDrainGroupLabel) == group.metadata.name)
          scene.other_marked.push_back(&node);
        continue;
      }
      GroupNode& of_group = scene.nodes.emplace_back();
      of_group.node = &node;
      of_group.drain = of_node[name];
      of_group.free = node.status.allocatable;
      for (const auto& [pod_name, pod] : pods)
        if (pod.spec.node_name.view() == name)
          of_group.free["cpu"] -= *pod.spec.containers[0].resources.requests.find("cpu");
      of_group.score = of_group.free.find("cpu")->value();
    }
    scene.why_stuck = [this](const api::Node& node) { return stuck[node.metadata.name]; };
    return scene;
  }
  std::map<std::string, std::string> stuck;  // nodes, and why

  bool step_group(const std::string& name) {
    const api::DrainNodeGroup group = through_text(groups.at(name));
    std::vector<api::DrainNode> kept;
    const GroupScene scene = scene_of(group, kept);
    const GroupStep step = next_step(group, scene, now);
    for (const GroupWrite& write : step.writes) {
      if (!may_write()) return false;
      carry_out(group, write);
    }
    if (!step.status) return !step.writes.empty();
    if (!may_write()) return false;
    groups.at(name).status = *step.status;
    for (const DrainEvent& event : step.events)
      events.push_back(name + " " + event.reason + ": " + event.note);
    return true;
  }
  void carry_out(const api::DrainNodeGroup& group, const GroupWrite& write) {
    switch (write.act) {
      case GroupWrite::Act::kMarkNode:
        nodes.at(write.name).metadata.labels[api::kDrainGroupLabel] = Symbol(group.metadata.name);
        return;
      case GroupWrite::Act::kUnmarkNode:
        nodes.at(write.name).metadata.labels.erase(api::kDrainGroupLabel);
        return;
      case GroupWrite::Act::kCreateDrain: {
        api::DrainNode drain = drain_for(group, write.name, write.why);
        if (!drains.contains(drain.metadata.name)) put(drains, std::move(drain));
        return;
      }
      case GroupWrite::Act::kConfirm: drains.at(write.name).spec.confirm_state = "Confirmed"; return;
      case GroupWrite::Act::kReject:
        drains.at(write.name).metadata.annotations[api::kDrainUnavailableAnnotation] = Symbol(write.why);
        drains.at(write.name).spec.confirm_state = "Rejected";
        return;
      case GroupWrite::Act::kAbort: drains.at(write.name).spec.confirm_state = "Aborted"; return;
      case GroupWrite::Act::kDeleteGroup: groups.erase(write.name); return;
    }
  }

  /// Until nobody has anything to do; false: the process has ended before.
  bool settle() {
    for (int i = 0; i < 200; ++i) {
      bool busy = false;
      std::vector<std::string> names;
      for (const auto& [name, drain] : drains) names.push_back(name);
      for (const std::string& name : names) busy |= step_drain(name);
      names.clear();
      for (const auto& [name, group] : groups) names.push_back(name);
      for (const std::string& name : names) busy |= step_group(name);
      if (writes_left == 0) return false;
      if (!busy) return true;
    }
    FAIL("it never comes to rest");
    return false;
  }

  // What others do.

  /// Every reservation that waits gets that node; empty: there is none for it.
  void schedule(std::string_view node) {
    for (auto& [name, room] : reservations) {
      if (room.status.phase == "Available" || room.status.phase == "Succeeded") continue;
      room.status.conditions.clear();
      api::ReservationCondition& condition = room.status.conditions.emplace_back();
      condition.type = "Scheduled";
      condition.reason = node.empty() ? "Unschedulable" : "Scheduled";
      condition.status = node.empty() ? "False" : "True";
      room.status.phase = node.empty() ? "Pending" : "Available";
      room.status.node_name = Symbol(node);
    }
  }
  /// Every job that is not held moves its pod to the reservation's node; its successor gets another name.
  void migrate() {
    for (auto& [name, job] : jobs) {
      if (job.spec.paused || job.status.phase == "Succeeded" || job.status.phase == "Failed") continue;
      job.status.phase = "Succeeded";
      const auto pod = pods.find(job.spec.pod_ref->name);
      REQUIRE(pod != pods.end());
      REQUIRE(pod->second.metadata.uid == job.spec.pod_ref->uid);
      std::string target = "n9";
      if (job.spec.reservation_options) {
        api::Reservation& room = reservations.at(job.spec.reservation_options->reservation_ref->name);
        target = room.status.node_name.view();
        room.status.phase = "Succeeded";
        room.status.current_owners.emplace_back().name = pod->first + "x";
      }
      pods.erase(pod);
      add_pod(job.spec.pod_ref->name + "x", target);
    }
  }

  std::string phases(const std::string& drain) const {
    const api::DrainNodeStatus& status = drains.at(drain).status;
    std::string all(status.phase.view());
    for (const api::PodMigration& m : status.pod_migrations)
      all += " " + m.pod_name + "=" + std::string(m.phase.view());
    return all;
  }
  std::string told(const std::string& group) const {
    const api::DrainNodeGroupStatus& s = groups.at(group).status;
    return std::string(s.phase.view()) + " total=" + std::to_string(s.total_count) +
           " unavailable=" + std::to_string(s.unavailable_count) +
           " running=" + std::to_string(s.running_count) + " succeeded=" + std::to_string(s.succeeded_count) +
           " failed=" + std::to_string(s.failed_count);
  }
  std::string message(const std::string& group) const {
    const api::DrainNodeGroupStatus& s = groups.at(group).status;
    for (const api::Condition& condition : s.conditions)
      if (condition.type == s.phase) return std::string(condition.reason.view()) + ": " + condition.message;
    return {};
  }
  /// Nodes as they are, in one text: to compare.
  std::string nodes_text() const {
    std::string all;
    for (const auto& [name, node] : nodes) all += api::encode(node) + "\n";
    return all;
  }
};

}  // namespace koord::descheduler::drain::test
