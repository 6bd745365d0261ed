// QuotaSummary: all that is known of a quota, as people and other programs are told of it.
#pragma once

#include <string>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::scheduling::elastic_quota {

/// In Koordinator's words (QuotaInfoSummary). A list names what Koordinator's would: of what pods ask for and
/// use the resources that any pod has ever asked for there, with a zero when none does now.
struct QuotaSummary {
  std::string name, parent, tree;
  bool is_parent = false, lends = true;
  api::ResourceList max, min, scaled_min, weight;
  // Of its own pods and all below.
  api::ResourceList child_request, request, used;
  api::ResourceList non_preemptible_request, non_preemptible_used;
  /// What it may use now. Nothing of the root and the built-in ones, which nobody gives anything.
  api::ResourceList runtime;
  // Only where used room is guaranteed.
  api::ResourceList allocated, guaranteed;
  // Of its own pods.
  api::ResourceList self_request, self_used, self_non_preemptible_request, self_non_preemptible_used;
  friend bool operator==(const QuotaSummary&, const QuotaSummary&) = default;
};

}  // namespace koord::scheduling::elastic_quota
