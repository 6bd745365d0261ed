// What sets a group free that an agent, this one or a dead one, has throttled, as far as that is known now.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "framework/model/inventory.hpp"
#include "framework/qos/group_tree.hpp"
#include "framework/qos/journal.hpp"
#include "koord/host/topology.hpp"

namespace koord::koordlet {

/// Group and key, as far as there are any: what a setting is called.
std::string name_of(std::string_view group, std::string_view key);
/// Whether it is the kubelet's best-effort folder or below it.
bool is_kubelets_best_effort(const Inventory& inventory, std::string_view group);

/// The value that sets an entry's group free now. A quota that was found there was the kubelet's: it may have
/// resized the container meanwhile, while no agent ran. CPUs may have gone offline, which cgroup v1 takes no
/// more, or be exclusively somebody's by now. Nothing: that is not known, and its CPUs stay as they are.
/// `topology` may be null. A quota is of the period that the group's file says.
std::optional<KnobValue> freed(const Journal::Entry& entry, const Inventory& inventory,
                               const host::Topology* topology, Executor& executor);

/// Of a cleanup that has written all it could: names what has not been set free.
Result<> check_all_free(const Executor& executor, const Journal& journal);

/// Which best-effort groups have fewer CPUs than are online, with what they have: the first eight and how
/// many more, for a message; empty: none, or there is no topology.
std::string narrow_groups(const Inventory& inventory, const host::Topology* topology, GroupTree& tree,
                          Executor& executor);
/// Code::unavailable if best-effort groups have fewer CPUs than are online: it names them, and the way out.
Result<> check_all_wide(const Inventory& inventory, const host::Topology& topology, GroupTree& tree,
                        Executor& executor);

}  // namespace koord::koordlet
