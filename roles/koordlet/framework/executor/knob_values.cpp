// Reading, printing, comparing and merging what cgroup files hold.
#include "framework/executor/knob_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "framework/executor/knob_layouts.hpp"
#include "koord/host/page.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using host::Knob;
using host::KnobType;

constexpr std::int64_t kMaxWeight = 10'000;

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

/// One line, of no more than a file of settings says at once.
constexpr std::size_t kMaxText = 4096;
bool is_plain(std::string_view text) {
  return text.size() <= kMaxText &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

/// Without blanks and zeros that lead it, where those mean nothing: the kernel pads what it shows.
std::string_view significant(Knob knob, std::string_view text) {
  if (!host::row(knob).lines.padded) return text;
  text = host::trimmed(text);
  while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
  return text;
}

Error wrong_kind(Knob knob) {
  return Error(Code::internal, fmt::format("{}: a value of another kind", host::row(knob).name));
}

}  // namespace

Result<KnobValue> parse_knob(Knob knob, CgroupVersion version, std::string_view text, std::string_view key) {
  const host::KnobRow& row = host::row(knob);
  const auto found = setting_in(row, text, key);
  if (!found && row.unlisted) return KnobValue(*row.unlisted);
  if (!found && !row.unlisted_text.empty()) return KnobValue(std::string(row.unlisted_text));
  if (!found) return found.error();
  const std::string_view said = *found;
  if (row.type == KnobType::cpus) {
    KOORD_TRY(cpus, CpuSet::parse(said));
    return KnobValue(std::move(cpus));
  }
  const auto unreadable = [&] {
    return Error(Code::parse, fmt::format("{}: cannot read \"{}\"", row.name, said.substr(0, 64)));
  };
  if (row.type == KnobType::text) {
    if (!is_plain(said)) return unreadable();
    return KnobValue(row.lines.words ? settable_words(said) : std::string(said));
  }
  if (version == CgroupVersion::v2 && (knob == Knob::cpu_quota || knob == Knob::cpu_period)) {
    KOORD_TRY(max, host::parse_cpu_max(said));
    return KnobValue(knob == Knob::cpu_quota ? max.quota_us : max.period_us);
  }
  if (host::is_memory_bound(knob)) {
    KOORD_TRY(bytes, host::parse_memory_limit(said));
    return KnobValue(bytes);
  }
  if (row.unlisted && said == "max") return KnobValue(host::kUnlimited);
  std::int64_t number = 0;
  const bool weight = version == CgroupVersion::v2 && knob == Knob::cpu_shares;
  if (!host::to_number(said, number) || (weight && (number < 1 || number > kMaxWeight))) return unreadable();
  if (weight) number = shares_of_weight(number);
  return KnobValue(number);
}

Result<std::string> print_knob(Knob knob, CgroupVersion version, const KnobValue& value,
                               std::string_view key) {
  const host::KnobRow& row = host::row(knob);
  if (row.type == KnobType::cpus) {
    const auto* cpus = std::get_if<CpuSet>(&value);
    if (!cpus) return wrong_kind(knob);
    if (!cpus->empty()) return cpus->to_string();
    if (version == CgroupVersion::v2) return std::string("\n");  // an empty write(2) would do nothing
    return Error(Code::invalid, fmt::format("{}: a group needs at least one", row.name));
  }
  if (row.type == KnobType::text) {
    const auto* text = std::get_if<std::string>(&value);
    if (!text) return wrong_kind(knob);
    if (!is_plain(*text)) return Error(Code::invalid, fmt::format("{}: not one line of text", row.name));
    return setting_text(row, key, *text);
  }
  const auto* number = std::get_if<std::int64_t>(&value);
  if (!number) return wrong_kind(knob);
  KOORD_TRY(text, host::knob_text(knob, version, *number));
  if (row.layout == host::KnobLayout::whole) return text;
  return setting_text(row, key, text);
}

bool same_value(Knob knob, CgroupVersion version, const KnobValue& found, const KnobValue& wanted) {
  if (found.index() != wanted.index()) return false;
  if (const auto* cpus = std::get_if<CpuSet>(&found)) return *cpus == std::get<CpuSet>(wanted);
  if (host::row(knob).lines.words)
    return has_words(std::get<std::string>(found), std::get<std::string>(wanted));
  if (const auto* text = std::get_if<std::string>(&found))
    return significant(knob, *text) == significant(knob, std::get<std::string>(wanted));
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
