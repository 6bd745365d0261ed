// What nodes lend, for who waits for it: batch and mid resources in cores and bytes for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

class Engine;

namespace explain {

/// Whether nodes lend it: batch-cpu, mid-memory, ...
bool is_lent(std::string_view resource);
/// "batch CPU", "mid memory"; other resources have their own names.
std::string people_call(std::string_view resource);
/// "1.5 cores", "2Gi"; of other resources as quantities are written.
std::string people_count(std::string_view resource, std::int64_t amount);

/// A sentence for each lent resource that the pod asks for: "No node lends batch CPU: 0 of 100 report; is
/// koordlet running?", or how many nodes lend how much, in one line for all of them. Nothing for other pods.
std::vector<std::string> about_lent(const Engine& engine, const api::Pod& pod, WallTime now);

}  // namespace explain
}  // namespace koord::scheduling
