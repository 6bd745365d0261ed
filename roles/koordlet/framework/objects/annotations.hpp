// Reading what people wrote into annotations and resource lists: bounded, and named where it makes no sense.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/host/cpuset.hpp"
#include "koord/json/value.hpp"

namespace koord::koordlet {

/// A million CPUs, and a pebibyte: what is more is nonsense, and sums of it stay far from overflow.
inline constexpr std::int64_t kMaxMilli = 1'000'000'000, kMaxBytes = std::int64_t{1} << 50;

inline std::int64_t bounded(std::int64_t value, std::int64_t max) {
  return std::clamp<std::int64_t>(value, 0, max);
}
/// An amount in thousandths; 0 if it is absent.
std::int64_t milli(const api::ResourceList& list, std::string_view name);
/// A whole amount; 0 if it is absent.
std::int64_t plain(const api::ResourceList& list, std::string_view name, std::int64_t max);

/// The annotation's JSON, an object; nothing (and a complaint, if it is there) where it cannot be read.
std::optional<json::Document> annotation(const api::ObjectMeta& meta, std::string_view name,
                                         std::vector<std::string>& complaints);
/// A set of CPUs in a text of the annotation; empty if it is absent or no set.
host::CpuSet cpu_list(std::string_view text, std::string_view name, std::vector<std::string>& complaints);
/// A quantity at a path, in units of 10^scale; nothing if it is absent.
std::optional<std::int64_t> quantity_at(const json::Value& document, std::string_view path, int scale,
                                        std::string_view name, std::vector<std::string>& complaints);
/// The same of a member, whose name may have a slash in it.
std::optional<std::int64_t> quantity_of(const json::Value& object, std::string_view key, int scale,
                                        std::string_view name, std::vector<std::string>& complaints);
std::optional<std::int64_t> integer_of(const json::Value& document, std::string_view key,
                                       std::string_view name, std::vector<std::string>& complaints);

}  // namespace koord::koordlet
