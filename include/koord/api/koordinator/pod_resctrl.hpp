// What a pod says of the parts of the last-level caches and of the memory's bandwidth that are its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/node_agent.hpp"

namespace koord::api {

/// Of caches the range counts, of bandwidth the percentage.
struct ResctrlPart {
  std::optional<std::int64_t> percent;
  std::vector<std::int64_t> range;  // where it starts and where it ends, in percent
  KOORD_STRUCT(ResctrlPart);
};
struct ResctrlPartOfCache {
  std::int64_t cache_id = 0;
  std::optional<std::int64_t> percent;
  std::vector<std::int64_t> range;
  KOORD_STRUCT(ResctrlPartOfCache);
};
struct ResctrlParts {
  ResctrlPart schemata;                                // of each cache,
  std::vector<ResctrlPartOfCache> schemata_per_cache;  // and of these, where something is said
  KOORD_STRUCT(ResctrlParts);
};

struct PodResctrl {
  static constexpr std::string_view kAnnotation = kResctrl;

  ResctrlParts llc, mb;
  bool says_something() const;
  KOORD_STRUCT(PodResctrl);
};
/// Code::parse, with the path: a range that is not two percentages of which the first is less, a percentage
/// that is not from 1 to 100, an id that is no cache's or is named twice. Code::too_large: more than
/// kMostResctrlCaches are named.
Result<> decode_annotation(std::string_view text, PodResctrl& to);
inline constexpr std::size_t kMostResctrlCaches = 1024;

}  // namespace koord::api
