// Reading what people wrote into annotations and resource lists: bounded, and named where it makes no sense.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/host/cpuset.hpp"

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

/// Koordinator's annotation of a struct; nothing (and a warning, if it is there) where it cannot be read.
template <class T>
std::optional<T> read(const api::ObjectMeta& meta, std::vector<std::string>& warnings,
                      std::string_view name = T::kAnnotation) {
  auto value = api::read_annotation<T>(meta.annotations, name);
  if (value) return std::move(*value);
  warnings.push_back(value.error().message());
  return std::nullopt;
}
/// A set of CPUs in a text of the annotation; empty if it is absent or no set.
host::CpuSet cpu_list(std::string_view text, std::string_view name, std::vector<std::string>& warnings);
/// Whether it is none below zero; else a warning. `path` is that in the annotation.
bool is_amount(const api::Quantity& amount, std::string_view name, std::string_view path,
               std::vector<std::string>& warnings);

}  // namespace koord::koordlet
