// What managers leave in a cluster, and taking it away again (--cleanup).
#pragma once

#include <memory>
#include <string>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/base/result.hpp"
#include "koord/kube/client.hpp"
#include "koord/runtime/role.hpp"
#include "webhook/settings.hpp"

namespace koord::manager {

/// A node without what the controller noderesource and /mutate-node-status write: lent resources, those of
/// devices, amplified amounts (which are again what the node had), their annotations and the labels of GPUs.
/// What its owner says of it (reservations, its own strategy, other annotations) stays.
api::Node without_loans(const api::Node& node);

struct CleanUpPlace {
  WebhookSettings webhooks;
  std::string lease_namespace, lease;
  std::string config_namespace, last_good;  // the ConfigMap of what each key said last
};

/// Takes away, in this order: the webhook configurations, what nodes and the zones of their topologies lend,
/// all NodeSLOs and NodeMetrics, the webhooks' Secret, the kept configuration and the lease. What is not
/// there is no error, nor are kinds that are not defined; other failures leave nothing else undone, and the
/// first of them is the result. Code::already_exists: a manager leads, who would write all of it anew;
/// nothing was done.
Task<Result<>> clean_up(kube::Client& client, Clock& clock, Logger log, CleanUpPlace place);

/// The role that does it once, and ends the process.
std::unique_ptr<runtime::Role> cleaning_role(runtime::RoleContext& context, kube::Client& client,
                                             CleanUpPlace place);

}  // namespace koord::manager
