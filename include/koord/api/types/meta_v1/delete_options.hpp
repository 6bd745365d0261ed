// metav1.DeleteOptions.
#pragma once

#include "koord/api/schema/schema.hpp"

namespace koord::api {

struct Preconditions {
  std::string uid;
  std::string resource_version;

  friend bool operator==(const Preconditions&, const Preconditions&) = default;
};
KOORD_API_SCHEMA(Preconditions);

/// The body of a delete request, and part of an eviction.
struct DeleteOptions {
  std::optional<int64_t> grace_period_seconds;
  Box<Preconditions> preconditions;
  Symbol propagation_policy;    // Orphan, Background, Foreground
  std::vector<Symbol> dry_run;  // All

  friend bool operator==(const DeleteOptions&, const DeleteOptions&) = default;
};
KOORD_API_SCHEMA(DeleteOptions);

}  // namespace koord::api
