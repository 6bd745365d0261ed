// What managers leave in a cluster, and taking it away again (--cleanup).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/webhook/settings.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/base/result.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/client.hpp"
#include "koord/runtime/role.hpp"

namespace koord::manager {

/// Who wrote what of a node: sections are "labels", "annotations" and "allocatable".
using WroteIt = std::function<bool(std::string_view section, std::string_view name)>;

/// Whether a manager, and nobody else, wrote that of a node, by the managedFields that an API server keeps.
/// Without any nobody can tell: false.
bool is_managers_alone(const json::Value& node, std::string_view section, std::string_view name);

struct CleanedNode {
  api::Node node;
  std::vector<std::string> left;  // "annotation NAME": what a manager may have written, and others did, too
};
/// A node without what the controller noderesource and /mutate-node-status write: lent resources, those of
/// devices, amplified amounts (which are again what the node had), their annotations and the labels of GPUs.
/// Names that others write, too (ratios, labels of GPUs, devices that have a plugin of their own), go where
/// `managers_alone` is true. What its owner says of it (reservations, its own strategy, other annotations)
/// stays.
CleanedNode clean_node(const api::Node& node, const WroteIt& managers_alone);

struct CleanUpPlace {
  WebhookSettings webhooks;
  std::string lease_namespace, lease;
  std::string config_namespace, last_good;  // the ConfigMap of what each key said last
};

/// Takes away, in this order: koord's entries of the webhook configurations (and those that have no other),
/// what nodes and the zones of their topologies lend,
/// all NodeSLOs and NodeMetrics, the webhooks' Secret, the kept configuration and the lease. What is not
/// there is no error, nor are kinds that are not defined; other failures leave nothing else undone, and the
/// first of them is the result. Code::already_exists: a manager leads, who would write all of it anew;
/// nothing was done.
Task<Result<>> clean_up(kube::Client& client, Clock& clock, Logger log, CleanUpPlace place);

/// The role that does it once, and ends the process.
std::unique_ptr<runtime::Role> cleaning_role(runtime::RoleContext& context, kube::Client& client,
                                             CleanUpPlace place);

}  // namespace koord::manager
