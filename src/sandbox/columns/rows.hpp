// The tables of columns, one a wing: of each kind its columns, and the function that fills them.
#pragma once

#include <span>
#include <string_view>

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

struct Head {
  std::string_view name, type = "string";
  int priority = 0;
};
/// A column of the wide form (`-o wide`).
constexpr Head wide(std::string_view name, std::string_view type = "string") { return {name, type, 1}; }

struct KindColumns {
  std::string_view group, resource;
  CellsFn cells;  // as many as there are heads
  std::span<const Head> heads;
};

/// Pods, nodes, services, events and what else belongs to the core group, without storage.
std::span<const KindColumns> core_columns();
/// What makes pods.
std::span<const KindColumns> workload_columns();
/// What rules over others: leases, definitions, budgets, priority classes.
std::span<const KindColumns> policy_columns();
/// The kinds of resource.k8s.io.
std::span<const KindColumns> device_columns();
/// Claims, volumes and what belongs to them.
std::span<const KindColumns> storage_columns();

}  // namespace koord::sandbox
