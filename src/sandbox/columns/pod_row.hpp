// A pod's row: the status in one word, as kubectl users know it.
#pragma once

#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/json/value.hpp"

namespace koord::sandbox {

void pod_cells(const json::Value& pod, WallTime now, std::vector<std::string>& cells);

}  // namespace koord::sandbox
