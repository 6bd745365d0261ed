// Whether a role has the rights that only a gate or a flag needs: the applied manifests do not have them.
#pragma once

#include <span>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/runtime/flags.hpp"
#include "koord/runtime/rights.hpp"

namespace koord {
class FeatureGates;
namespace kube {
class Client;
}
}  // namespace koord

namespace koord::runtime {

/// Those of a role's rights that a gate or a flag needs which is on.
std::vector<Right> rights_of_gates(std::span<const Right> rights, const FeatureGates& gates,
                                   const FlagValues& flags);

/// Asks the API server which of `rights` (each with needed_by) are not granted, and warns of them once for
/// each gate or flag, with the file that grants them; asks again every minute until all are granted, and says
/// so. Ends then, or when cancelled. An API server that does not answer is asked again as well.
Task<Result<>> tell_missing_rights(kube::Client& client, Clock& clock, Logger log, std::vector<Right> rights);

}  // namespace koord::runtime
