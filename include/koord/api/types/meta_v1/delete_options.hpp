// metav1.DeleteOptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/values/box.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {

struct Preconditions {
  std::string uid;
  std::string resource_version;
  KOORD_STRUCT(Preconditions);
};

/// The body of a delete request, and part of an eviction.
struct DeleteOptions {
  std::optional<int64_t> grace_period_seconds;
  Box<Preconditions> preconditions;
  Symbol propagation_policy;    // Orphan, Background, Foreground
  std::vector<Symbol> dry_run;  // All
  KOORD_STRUCT(DeleteOptions);
};

}  // namespace koord::api
