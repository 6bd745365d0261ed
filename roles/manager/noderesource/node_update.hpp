// A node with the resources that it lends, and whether the difference is worth a write.
#pragma once

#include <optional>
#include <string_view>

#include "noderesource/overcommit.hpp"

namespace koord::manager {

/// What a plugin of --noderesource-plugins says of a node. A plugin that is off is not asked and changes
/// nothing.
struct LoanOf {
  std::string_view cpu, memory;  // the extended resources
  std::optional<Loan> loan;      // nothing: they go
};

/// `node` with these in capacity and allocatable. Of batch resources the annotation
/// node.koordinator.sh/originExtendedAllocatable says all that is lent, and what node.koordinator.sh/
/// thirdPartyAllocations takes of it (YARN's, say) is gone from the node's. A node that lends nothing and
/// never did is not annotated.
api::Node with_loans(const api::Node& node, std::span<const LoanOf> loans);

/// Whether nothing differs that with_loans() may change: there is nothing to write at all.
bool same_loans(const api::Node& before, const api::Node& after);

/// Whether one of these resources came, went, or changed by more than a share of what it was; of 0, by
/// anything.
bool worth_writing(const api::Node& before, const api::Node& after, std::span<const LoanOf> loans,
                   double share);

}  // namespace koord::manager
