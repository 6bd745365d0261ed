#include "koord/api/koordinator/pod_resctrl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(ResctrlPart, ROW(percent), ROW(range));
KOORD_SCHEMA(ResctrlPartOfCache, ROW(cache_id).wire("cacheID"), ROW(percent), ROW(range));
KOORD_SCHEMA(ResctrlParts, ROW(schemata), ROW(schemata_per_cache));
KOORD_SCHEMA(PodResctrl, ROW(llc), ROW(mb));

namespace {

constexpr std::int64_t kAllPercent = 100, kGreatestId = INT32_MAX;
constexpr std::size_t kMostShown = 8;  // of a range's numbers

template <class Part>
Result<> check_part(const Part& part, std::string_view path) {
  if (part.percent && (*part.percent < 1 || *part.percent > kAllPercent))
    return Error(Code::parse, fmt::format("{}.percent: {}: expected 1 to 100", path, *part.percent));
  const auto& range = part.range;
  if (range.empty()) return {};
  if (range.size() == 2 && range[0] >= 0 && range[0] < range[1] && range[1] <= kAllPercent) return {};
  const auto shown = std::vector(
      range.begin(), range.begin() + static_cast<std::ptrdiff_t>(std::min(range.size(), kMostShown)));
  return Error(Code::parse, fmt::format("{}.range: [{}]: expected two percentages, 0 <= start < end <= 100",
                                        path, fmt::join(shown, ",")));
}

Result<> check_parts(const ResctrlParts& parts, std::string_view name) {
  KOORD_CHECK(check_part(parts.schemata, fmt::format(".{}.schemata", name)));
  if (parts.schemata_per_cache.size() > kMostResctrlCaches)
    return Error(Code::too_large,
                 fmt::format(".{}.schemataPerCache: more than {} caches", name, kMostResctrlCaches));
  std::set<std::int64_t> ids;
  for (std::size_t i = 0; i < parts.schemata_per_cache.size(); ++i) {
    const ResctrlPartOfCache& part = parts.schemata_per_cache[i];
    const std::string path = fmt::format(".{}.schemataPerCache[{}]", name, i);
    if (part.cache_id < 0 || part.cache_id > kGreatestId || !ids.insert(part.cache_id).second)
      return Error(Code::parse,
                   fmt::format("{}.cacheID: {}: expected the number of a cache, once", path, part.cache_id));
    KOORD_CHECK(check_part(part, path));
  }
  return {};
}

}  // namespace

bool PodResctrl::says_something() const {
  const auto of_cache = [](const auto& part) { return !part.range.empty(); };
  const auto of_bandwidth = [](const auto& part) { return part.percent.has_value(); };
  return of_cache(llc.schemata) || std::ranges::any_of(llc.schemata_per_cache, of_cache) ||
         of_bandwidth(mb.schemata) || std::ranges::any_of(mb.schemata_per_cache, of_bandwidth);
}

Result<> decode_annotation(std::string_view text, PodResctrl& to) {
  KOORD_CHECK(decode(text, schema<PodResctrl>(), &to));
  KOORD_CHECK(check_parts(to.llc, "llc"));
  return check_parts(to.mb, "mb");
}

}  // namespace koord::api
