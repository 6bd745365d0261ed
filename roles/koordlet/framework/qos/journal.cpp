// The rows of the journal's file, an entry each:
//   KNOB<tab>STRATEGY<tab>FROM<tab>TO<tab>VALUE<tab>GROUP
// of a file of a group that has many settings
//   KNOB<tab>STRATEGY<tab>FROM<tab>TO<tab>VALUE<tab>KEY<tab>GROUP
// and of one of the machine's
//   KNOB<tab>STRATEGY<tab>FROM<tab>TO<tab>VALUE<tab>KEY
// The group stands last because its name may hold anything but a line feed. An older agent reads the first
// and the last of these, and keeps rows of knobs that it does not know.
#include "framework/qos/journal.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "koord/host/text.hpp"

namespace koord::koordlet {
namespace {

constexpr BootFile::Kind kKind{.header = "koord-journal 1 ",
                               .what = "a journal of throttled cgroups",
                               .row = "entry",
                               .max_size = std::size_t{64} << 20,
                               .max_rows = 100'000};
constexpr std::string_view kNoCpus = "none";  // cgroup v2: as the parent

std::optional<host::Knob> knob_named(std::string_view name) {
  for (const host::KnobRow& row : host::knob_table())
    if (row.name == name && host::can_be_undone(row.knob)) return row.knob;
  return std::nullopt;
}

bool has_keys(const host::KnobRow& row) {
  return row.layout == host::KnobLayout::words || row.layout == host::KnobLayout::lines;
}
/// One file of the machine's, which has no groups.
bool is_one_file(const host::KnobRow& row) {
  return row.domain == host::KnobDomain::sys && !row.v1_file.empty();
}

std::optional<KnobValue> parse_value(host::KnobType type, std::string_view text) {
  switch (type) {
    case host::KnobType::cpus: {
      auto cpus = text == kNoCpus ? Result<host::CpuSet>(host::CpuSet{}) : host::CpuSet::parse(text);
      if (!cpus || (cpus->empty() && text != kNoCpus)) return std::nullopt;
      return KnobValue(std::move(*cpus));
    }
    case host::KnobType::text: return KnobValue(std::string(text));
    case host::KnobType::number: break;
  }
  std::int64_t number = 0;
  return host::to_number(text, number) ? std::optional<KnobValue>(number) : std::nullopt;
}

/// Whether it may be a row of a knob that another version of the agent knows.
bool is_unknown_knob(std::string_view row) {
  const std::string_view name = take_field(row);
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
  });
  if (!plain || knob_named(name)) return false;
  for (int field = 0; field < 4; ++field) (void)take_field(row);
  return !row.empty();
}

std::optional<Journal::Entry> parse_entry(std::string_view line) {
  Journal::Entry entry;
  const auto knob = knob_named(take_field(line));
  if (!knob) return std::nullopt;
  entry.knob = *knob;
  entry.strategy = take_field(line);
  if (!host::to_number(take_field(line), entry.from) || !host::to_number(take_field(line), entry.to))
    return std::nullopt;
  const host::KnobRow& row = host::row(entry.knob);
  auto value = parse_value(row.type, take_field(line));
  if (!value) return std::nullopt;
  entry.free = std::move(*value);
  if (has_keys(row)) {
    const bool of_group = !is_one_file(row);
    if (of_group && line.find('\t') == std::string_view::npos) return std::nullopt;
    entry.key = of_group ? take_field(line) : std::exchange(line, {});
    if (entry.key.empty()) return std::nullopt;
  } else if (line.empty()) {
    return std::nullopt;
  }
  if (entry.from < 0 || entry.to < entry.from) return std::nullopt;
  entry.group = line;
  return entry;
}

auto position(std::vector<Journal::Entry>& entries, host::Knob knob, std::string_view group,
              std::string_view key) {
  return std::lower_bound(entries.begin(), entries.end(), std::tuple(group, knob, key),
                          [](const Journal::Entry& entry, const auto& wanted) {
                            return std::tuple(std::string_view(entry.group), entry.knob,
                                              std::string_view(entry.key)) < wanted;
                          });
}

bool is_of(const Journal::Entry& entry, host::Knob knob, std::string_view group, std::string_view key) {
  return entry.knob == knob && entry.group == group && entry.key == key;
}

}  // namespace

Journal::Journal(BootFile::Place place) : file_(kKind, std::move(place)) {}

Result<> Journal::load() {
  entries_.clear();
  unknown_rows_.clear();
  changed_ = false;
  std::vector<Entry> entries;
  std::vector<std::string> unknown_rows;
  KOORD_CHECK(file_.load([&](std::string_view row) {
    auto entry = parse_entry(row);
    if (entry) entries.push_back(std::move(*entry));
    if (entry || !is_unknown_knob(row)) return entry.has_value();
    unknown_rows.emplace_back(row);
    return true;
  }));
  unknown_rows_ = std::move(unknown_rows);
  for (Entry& entry : entries) note(std::move(entry));
  changed_ = false;
  return {};
}

Result<> Journal::save() {
  if (!changed_ && !file_.is_stale()) return {};
  if (entries_.empty() && unknown_rows_.empty()) {
    KOORD_CHECK(file_.remove());
    changed_ = false;
    return {};
  }
  std::string rows;
  for (const Entry& entry : entries_) {
    rows.append(host::row(entry.knob).name).append("\t").append(entry.strategy).append("\t");
    rows.append(std::to_string(entry.from)).append("\t").append(std::to_string(entry.to)).append("\t");
    const std::string value = to_string(entry.free);
    const host::KnobRow& row = host::row(entry.knob);
    rows.append(value.empty() && row.type == host::KnobType::cpus ? kNoCpus : std::string_view(value));
    if (has_keys(row)) rows.append("\t").append(entry.key);
    if (!has_keys(row) || !is_one_file(row)) rows.append("\t").append(entry.group);
    rows.append("\n");
  }
  for (const std::string& row : unknown_rows_) rows.append(row).append("\n");
  KOORD_CHECK(file_.save(rows));
  changed_ = false;
  return {};
}

const Journal::Entry* Journal::find(host::Knob knob, std::string_view group, std::string_view key) const {
  auto& entries = const_cast<std::vector<Entry>&>(entries_);  // NOLINT: position() serves both
  const auto it = position(entries, knob, group, key);
  return it != entries.end() && is_of(*it, knob, group, key) ? &*it : nullptr;
}

void Journal::note(Entry entry) {
  const auto it = position(entries_, entry.knob, entry.group, entry.key);
  if (it == entries_.end() || !is_of(*it, entry.knob, entry.group, entry.key)) {
    entries_.insert(it, std::move(entry));
    changed_ = true;
    return;
  }
  entry.from = std::min(entry.from, it->from);
  entry.to = std::max(entry.to, it->to);
  if (*it == entry) return;
  *it = std::move(entry);
  changed_ = true;
}

void Journal::erase(host::Knob knob, std::string_view group, std::string_view key) {
  const auto it = position(entries_, knob, group, key);
  if (it == entries_.end() || !is_of(*it, knob, group, key)) return;
  entries_.erase(it);
  changed_ = true;
}

}  // namespace koord::koordlet
