// What is known of gangs: members, gangs, and groups of gangs that are placed together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/gang.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling::gangs {

struct Gang;

/// A pod, or what stands for a reservation, of a gang.
struct Member {
  enum class Stage : std::uint8_t {
    pending,  // without a node
    assumed,  // on a node that it is not bound to yet: it waits for a permit, or is on its way
    bound,
  };
  std::string key;  // pod_key()
  std::shared_ptr<const api::Pod> pod;
  Gang* gang = nullptr;
  Stage stage = Stage::pending;
  /// So many are bound by the decision that it was assumed with; 1: it goes alone; 0: there is none yet.
  std::size_t decided = 0;
  bool waits = false;  // for its permit
  Symbol node;         // that it is assumed on, or bound to
};

/// Gangs that are placed together, by what one of them says. It outlives the gangs that say it.
struct Group {
  std::string id;                  // gang_group_id(): what pods are told and are written
  Symbol key;                      // the same, for RejectorKey
  Symbol job;                      // the same with its book's name, for JobPlugin
  std::vector<std::string> gangs;  // "namespace/name"; the gang that says so among them
  std::size_t users = 0;           // gangs that say so
  std::size_t lacking = 0;         // of `gangs`: not there, unknown, or short of members
  std::size_t waiting = 0;         // members that wait for their permit
  /// Once a member was bound: whoever follows is placed by itself, if the policy is once_satisfied.
  bool satisfied = false;
  /// Its members are not placed at once: extenders have a say about them.
  bool one_by_one = false;
  /// A member that waited for others on its node has given it up: it is tried again with the next that finds
  /// one.
  bool gave_up = false;
  /// The only member that the queue has while the group is not satisfied; empty: none.
  std::string representative;
  /// Why it was not placed last, and what of that the others have been told, and when; and what of the search
  /// for victims.
  std::string failure, told, told_of_victims;
  MonoTime told_at{};
  /// Sentences: which domains of the network had no room for it when it was tried last, and why.
  std::vector<std::string> tried;
  MonoTime lacks_since{};  // while it does

  bool complete() const { return lacking == 0; }
};

struct Gang {
  std::string id, ns, name;
  /// Somebody has said how many are needed: its PodGroup, or its first pod.
  bool known = false;
  bool from_pod_group = false;
  std::int32_t min = 0, total = 0;
  nanoseconds wait{};
  bool strict = true;
  /// Its members do not wait for one another, and are placed one by one: somebody has said that it is no
  /// gang.
  bool apart = false;
  api::GangMatchPolicy policy = api::GangMatchPolicy::once_satisfied;
  /// How near to one another its members, and those of its group, are to be; nothing: anywhere.
  std::optional<api::NetworkTopologySpec> topology;
  /// A label that the nodes of all its members have, with one value; empty: any node will do.
  std::string near;
  WallTime created{};
  /// Where those that wait for their permit have one deadline: when the present one is. Zero: none was set.
  MonoTime deadline{};
  Group* group = nullptr;  // always there; alone in it while nobody says otherwise
  std::size_t children = 0, bound = 0;
  std::map<std::string_view, Member*> pending, assumed;  // by key
  std::map<Symbol, std::size_t> nodes;                   // that members are on, and how many
  bool enough = false;                                   // as its groups count it

  /// So many more have to be assumed at the same time.
  std::int64_t needs() const {
    if (apart) return 0;
    auto have = static_cast<std::int64_t>(assumed.size());
    if (policy == api::GangMatchPolicy::waiting_and_running) have += static_cast<std::int64_t>(bound);
    if (policy == api::GangMatchPolicy::once_satisfied && group->satisfied) return 0;
    return min - have;
  }
  /// Its members are not held back for one another any more.
  bool is_free() const {
    return known && (apart || (policy == api::GangMatchPolicy::once_satisfied && group->satisfied));
  }
};

}  // namespace koord::scheduling::gangs
