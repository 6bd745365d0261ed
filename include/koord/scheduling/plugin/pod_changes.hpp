// PodChanges: what plugins write into a pod before it is bound, all of them in one patch.
#pragma once

#include "koord/api/values/string_map.hpp"

namespace koord::scheduling {

/// Values to be set. Of several plugins that set one the last counts.
struct PodChanges {
  api::StringMap labels = {}, annotations = {};

  bool empty() const { return labels.empty() && annotations.empty(); }
};

}  // namespace koord::scheduling
