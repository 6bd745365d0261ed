// The manager's part of `koord docs`.
#pragma once

#include <string>

namespace koord::manager {

/// The keys of slo-controller-config with their fields, as markdown.
std::string docs();

}  // namespace koord::manager
