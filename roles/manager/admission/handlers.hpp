// Everything that the manager is asked about: a row for each path of the webhook server.
#pragma once

#include <span>

#include "webhook/admission.hpp"

namespace koord::manager {

std::span<const HandlerRow> handlers();

}  // namespace koord::manager
