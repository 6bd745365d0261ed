// A node with the resources that it lends, and which differences are worth a write.
#pragma once

#include <optional>
#include <string_view>

#include "framework/noderesource/overcommit.hpp"

namespace koord::manager {

inline constexpr std::string_view kOriginExtended = "node.koordinator.sh/originExtendedAllocatable";

/// What a plugin of --noderesource-plugins says of a node. A plugin that is off is not asked and changes
/// nothing.
struct OvercommitResource {
  std::string_view cpu, memory;            // the extended resources
  std::optional<OvercommitAmount> amount;  // nothing: they go
};

/// Writes these into capacity and allocatable. Batch CPU is multiplied by `ratio`, how fast the node's CPUs
/// are, if that is above 1, and rounded up. Of batch resources the annotation
/// node.koordinator.sh/originExtendedAllocatable says all that is lent, and what node.koordinator.sh/
/// thirdPartyAllocations takes of it (YARN's, say) is gone from the node's. A node that lends nothing and
/// never did is not annotated.
void set_overcommit(api::Node& node, std::span<const OvercommitResource> overcommit, double ratio = 1);

/// Whether an amount changed by more than a share of what it was; of 0, by anything.
bool is_worth(const api::Quantity& was, const api::Quantity& is, double share);
/// The same of a resource that may also have come or gone.
bool is_worth(const api::ResourceList& before, const api::ResourceList& after, std::string_view name,
              double share);

}  // namespace koord::manager
