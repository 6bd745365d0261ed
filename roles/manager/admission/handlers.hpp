// Everything that the manager is asked about: a row for each path of the webhook server.
#pragma once

#include <span>
#include <string_view>

#include "webhook/admission.hpp"

namespace koord::manager {

/// Which pods the manager follows: one informer for all that ask for them.
inline constexpr std::string_view kUnfinishedPods = "status.phase!=Succeeded,status.phase!=Failed";

std::span<const HandlerRow> handlers();
/// What the handlers count.
std::span<const metrics::Table> handler_metrics();

}  // namespace koord::manager
