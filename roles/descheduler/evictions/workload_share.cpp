// See workload_share.hpp.
#include "evictions/workload_share.hpp"

#include <algorithm>

namespace koord::descheduler {

Result<std::int64_t> most_away(std::int64_t replicas, const std::optional<api::IntOrString>& said) {
  std::int64_t most = 0;
  if (said) {
    KOORD_TRY(scaled, said->scaled(replicas, false));
    most = std::max<std::int64_t>(scaled, 1);
  } else if (replicas > 10) {
    most = replicas / 10;
  } else {
    most = replicas >= 4 ? 2 : 1;
  }
  return std::min(most, replicas);
}

}  // namespace koord::descheduler
