// The descheduler's part of `koord docs`.
#pragma once

#include <string>

namespace koord::descheduler {

/// Plugins, the configuration and what /passes serves, as markdown.
std::string docs();

}  // namespace koord::descheduler
