// Reading, printing, comparing and merging what cgroup files hold.
#include "framework/executor/knob_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "koord/host/page.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using host::Knob;

constexpr std::int64_t kMaxWeight = 10'000;

bool is_cpus(Knob knob) { return knob == Knob::cpuset_cpus || knob == Knob::cpuset_mems; }

/// For comparing quotas and limits: no limit is the largest.
std::int64_t height(std::int64_t value) {
  return value == host::kUnlimited ? std::numeric_limits<std::int64_t>::max() : value;
}

std::int64_t kernel_limit(std::int64_t bytes) {
  const std::int64_t page = host::page_size();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / page * page;
  return bytes == host::kUnlimited || bytes >= most ? host::kUnlimited : bytes / page * page;
}

/// Written again they give the same weight: a weight that is put back is the one that was there.
std::int64_t shares_of_weight(std::int64_t weight) {
  const std::int64_t shares = host::weight_to_shares(weight);  // rounded down
  return host::shares_to_weight(shares) < weight ? shares + 1 : shares;
}

constexpr std::string_view kNo = "NO_";

bool is_feature(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// "GENTLE_FAIR_SLEEPERS NO_HRTICK ...". What the kernel does not name it does not have.
Result<KnobValue> parse_feature(std::string_view text, std::string_view name) {
  std::string_view rest = host::trimmed(text);
  for (std::string_view word = host::next_word(rest); !word.empty(); word = host::next_word(rest)) {
    if (word == name) return KnobValue(std::int64_t{1});
    if (word.starts_with(kNo) && word.substr(kNo.size()) == name) return KnobValue(std::int64_t{0});
  }
  return Error(Code::not_found, fmt::format("sched_features: the kernel has no \"{}\"", name.substr(0, 64)));
}

Error wrong_kind(Knob knob) {
  return Error(Code::internal, fmt::format("{}: a value of another kind", host::row(knob).name));
}

}  // namespace

Result<KnobValue> parse_knob(Knob knob, CgroupVersion version, std::string_view text,
                             std::string_view group) {
  if (knob == Knob::sched_feature) return parse_feature(text, group);
  if (is_cpus(knob)) {
    KOORD_TRY(cpus, CpuSet::parse(text));
    return KnobValue(std::move(cpus));
  }
  if (version == CgroupVersion::v2 && (knob == Knob::cpu_quota || knob == Knob::cpu_period)) {
    KOORD_TRY(max, host::parse_cpu_max(text));
    return KnobValue(knob == Knob::cpu_quota ? max.quota_us : max.period_us);
  }
  if (host::is_memory_bound(knob)) {
    KOORD_TRY(bytes, host::parse_memory_limit(text));
    return KnobValue(bytes);
  }
  std::int64_t number = 0;
  const bool weight = version == CgroupVersion::v2 && knob == Knob::cpu_shares;
  if (!host::to_number(host::trimmed(text), number) || (weight && (number < 1 || number > kMaxWeight)))
    return Error(Code::parse, fmt::format("{}: cannot read \"{}\"", host::row(knob).name,
                                          host::trimmed(text).substr(0, 64)));
  if (weight) number = shares_of_weight(number);
  return KnobValue(number);
}

Result<std::string> print_knob(Knob knob, CgroupVersion version, const KnobValue& value,
                               std::string_view group) {
  if (knob == Knob::sched_feature) {
    const auto* on = std::get_if<std::int64_t>(&value);
    if (!on || !is_feature(group))
      return Error(Code::invalid, fmt::format("sched_features: \"{}\" is no feature", group.substr(0, 64)));
    return fmt::format("{}{}\n", *on != 0 ? "" : kNo, group);
  }
  if (!is_cpus(knob)) {
    const auto* number = std::get_if<std::int64_t>(&value);
    return number ? host::knob_text(knob, version, *number) : wrong_kind(knob);
  }
  const auto* cpus = std::get_if<CpuSet>(&value);
  if (!cpus) return wrong_kind(knob);
  if (!cpus->empty()) return cpus->to_string();
  if (version == CgroupVersion::v2) return std::string("\n");  // an empty write(2) would do nothing
  return Error(Code::invalid, fmt::format("{}: a group needs at least one", host::row(knob).name));
}

bool same_value(Knob knob, CgroupVersion version, const KnobValue& found, const KnobValue& wanted) {
  if (found.index() != wanted.index()) return false;
  if (const auto* cpus = std::get_if<CpuSet>(&found)) return *cpus == std::get<CpuSet>(wanted);
  const auto a = std::get<std::int64_t>(found);
  const auto b = std::get<std::int64_t>(wanted);
  if (host::is_memory_bound(knob) || knob == Knob::page_cache_size) return kernel_limit(a) == kernel_limit(b);
  if (knob == Knob::cpu_shares && version == CgroupVersion::v2)
    return host::shares_to_weight(a) == host::shares_to_weight(b);
  return a == b;
}

std::optional<KnobValue> widened(Knob knob, const KnobValue& before, const KnobValue& after) {
  if (!host::is_levelled(knob) || before.index() != after.index()) return after;
  if (const auto* old_cpus = std::get_if<CpuSet>(&before)) {
    const auto& cpus = std::get<CpuSet>(after);
    if (cpus.empty()) return after;  // v2: as wide as the parent
    // A v1 group that was just made has none: any set is wider. In v2 none is the parent's.
    if (old_cpus->empty()) return after;
    if (cpus.is_subset_of(*old_cpus)) return std::nullopt;
    return KnobValue(*old_cpus | cpus);
  }
  if (height(std::get<std::int64_t>(after)) > height(std::get<std::int64_t>(before))) return after;
  return std::nullopt;
}

}  // namespace koord::koordlet
