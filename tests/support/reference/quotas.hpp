// What trees of quotas come to, for the scheduler's oracle: one recursion from scratch, with plain numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace koord::reference {

using QuotaAmounts = std::map<std::string, std::int64_t>;  // by resource, in its unit; cpu in milli

struct PlainQuota {
  std::string parent;
  bool lends = true;
  QuotaAmounts min, max, weight;
};
struct QuotaPod {
  std::string quota;
  QuotaAmounts requests;
  bool preemptible = true, assigned = false;
};

/// All that a tree follows from. Parents must not go round in circles.
struct QuotaState {
  std::map<std::string, PlainQuota> quotas;  // by name; the built-in ones among them, the root not
  std::map<int, QuotaPod> pods;              // by number; of quotas that there are
  QuotaAmounts total;
  bool scale_min = true, guarantee_usage = false;
};

/// What follows for one quota and one resource.
struct QuotaAnswer {
  std::int64_t child_request = 0, request = 0, limited = 0;
  std::int64_t used = 0, non_preemptible_used = 0, non_preemptible_request = 0;
  std::int64_t guaranteed = 0, scaled_min = 0;
  std::optional<std::int64_t> runtime;  // absent: its parent does not divide the resource
};

/// By quota and resource; all resources that a quota or a pod names.
std::map<std::string, std::map<std::string, QuotaAnswer>> quota_answers(const QuotaState& state);

}  // namespace koord::reference
