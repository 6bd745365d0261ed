// What the agent serves besides the health checks: metrics in three parts, its API, the audit.
#pragma once

#include <functional>
#include <string>

#include "koord/base/metrics.hpp"
#include "koord/runtime/serving.hpp"

namespace koord::koordlet {

class Auditor;
class Observer;

struct ServeParts {
  const metrics::Registry& internal;
  const metrics::Registry& external;
  const Observer& observer;
  Auditor* auditor = nullptr;  // null: /events is not served
  /// --api-access=all; else /apis/ is for peers on this host only.
  bool api_for_all = false;
};
/// The parts outlive the routes.
void add_routes(runtime::Routes& routes, ServeParts parts);

}  // namespace koord::koordlet
