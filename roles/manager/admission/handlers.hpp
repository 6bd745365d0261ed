// Everything that the manager is asked about: a row for each path of the webhook server.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "admission/pod/pod_handlers.hpp"
#include "framework/webhook/admission.hpp"

namespace koord::manager {

/// Which pods the manager follows: one informer for all that ask for them.
inline constexpr std::string_view kUnfinishedPods = "status.phase!=Succeeded,status.phase!=Failed";

std::span<const HandlerRow> handlers();
/// The rules of /validate-pod, of pods that are there (see PodValidating::broken_rule()); empty where that is
/// not served.
using PodRules = std::function<std::optional<BrokenRule>(const json::Value& pod)>;
PodRules pod_rules(HandlerContext& context);
/// What the handlers count.
std::span<const metrics::Table> handler_metrics();

}  // namespace koord::manager
