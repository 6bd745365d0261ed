// Network quality of service in resource-qos-config: shares and amounts against what there is.
#pragma once

#include <span>
#include <string>

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// The strategy of a group of nodes, and the selector that it stands under.
struct GroupStrategy {
  const api::LabelSelector* selector;
  const json::Value* strategy;
};

/// What is wrong with the network requests and limits of the classes LSR, LS and BE, in upstream's words;
/// empty if nothing. `cluster` may be null; `system` is system-config as its text was read, nullptr where
/// there is none. Amounts are held against a bandwidth that is known alone, and shares are percentages:
/// upstream mixes both up.
std::string check_network_qos(const json::Value& cluster, std::span<const GroupStrategy> groups,
                              const json::Value* system);

}  // namespace koord::manager
