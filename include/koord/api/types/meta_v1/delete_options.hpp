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
  std::optional<bool> orphan_dependents;  // of old clients; instead of propagation_policy
  Symbol propagation_policy;              // Orphan, Background, Foreground
  std::vector<Symbol> dry_run;            // All
  /// Deletes what the API server cannot read any more, whatever follows from that.
  std::optional<bool> ignore_store_read_error_with_cluster_breaking_potential;
  KOORD_STRUCT(DeleteOptions);
};

}  // namespace koord::api
