// The scheduler's part of `koord docs`.
#pragma once

#include <string>

namespace koord::scheduler {

/// Plugins with their extension points, and the configuration's fields.
std::string docs();

}  // namespace koord::scheduler
