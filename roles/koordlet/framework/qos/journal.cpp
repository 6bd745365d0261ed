// The journal's file: a header with the boot's id, then a line an entry:
//   KNOB<tab>STRATEGY<tab>FROM<tab>TO<tab>VALUE<tab>GROUP
// The group stands last because its name may hold anything but a line feed.
#include "framework/qos/journal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

#include "koord/base/file.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {
namespace {

constexpr std::string_view kHeader = "koord-journal 1 ";
constexpr std::string_view kNoCpus = "none";  // cgroup v2: as the parent
constexpr std::size_t kMaxEntries = 100'000;
constexpr std::size_t kMaxFile = std::size_t{64} << 20;

std::optional<host::Knob> knob_named(std::string_view name) {
  for (const host::KnobRow& row : host::knob_table())
    if (row.name == name && host::can_be_undone(row.knob)) return row.knob;
  return std::nullopt;
}

bool is_cpus(host::Knob knob) { return knob == host::Knob::cpuset_cpus || knob == host::Knob::cpuset_mems; }

std::string_view next_field(std::string_view& line) {
  const auto tab = line.find('\t');
  const std::string_view field = line.substr(0, tab);
  line = tab == std::string_view::npos ? std::string_view{} : line.substr(tab + 1);
  return field;
}

std::optional<Journal::Entry> parse_entry(std::string_view line) {
  Journal::Entry entry;
  const auto knob = knob_named(next_field(line));
  if (!knob) return std::nullopt;
  entry.knob = *knob;
  entry.strategy = next_field(line);
  if (!host::to_number(next_field(line), entry.from) || !host::to_number(next_field(line), entry.to))
    return std::nullopt;
  const std::string_view value = next_field(line);
  if (is_cpus(entry.knob)) {
    auto cpus = value == kNoCpus ? Result<host::CpuSet>(host::CpuSet{}) : host::CpuSet::parse(value);
    if (!cpus || (cpus->empty() && value != kNoCpus)) return std::nullopt;
    entry.free = std::move(*cpus);
  } else {
    std::int64_t number = 0;
    if (!host::to_number(value, number)) return std::nullopt;
    entry.free = number;
  }
  if (line.empty() || entry.from < 0 || entry.to < entry.from) return std::nullopt;
  entry.group = line;
  return entry;
}

auto position(std::vector<Journal::Entry>& entries, host::Knob knob, std::string_view group) {
  return std::lower_bound(entries.begin(), entries.end(), std::tuple(group, knob),
                          [](const Journal::Entry& entry, const auto& key) {
                            return std::tuple(std::string_view(entry.group), entry.knob) < key;
                          });
}

}  // namespace

Result<> Journal::load() {
  entries_.clear();
  changed_ = false;
  if (path_.empty()) return {};
  bool found = false;
  KOORD_CHECK(read(path_, found));
  if (found) return {};
  for (const std::string& path : older_) {
    KOORD_CHECK(read(path, found));
    if (found) {
      changed_ = true;  // it moves
      return {};
    }
  }
  return {};
}

Result<> Journal::read(const std::string& path, bool& found) {
  const auto text = read_file(path, kMaxFile, Source::own);
  if (!text) {
    if (text.error().code() == Code::not_found) return {};
    return text.error();
  }
  found = true;
  changed_ = true;  // whatever it says: what is kept of it is written anew
  std::string_view rest = *text;
  std::string_view line;
  if (!rest.ends_with('\n') || !host::next_line(rest, line) || !line.starts_with(kHeader))
    return Error(Code::parse, fmt::format("{}: not a journal of throttled cgroups", path));
  if (line.substr(kHeader.size()) != boot_id_) return {};  // those cgroups have gone with their kernel
  std::vector<Entry> entries;
  for (std::size_t number = 2; host::next_line(rest, line); ++number) {
    auto entry = parse_entry(line);
    if (!entry || entries.size() == kMaxEntries)
      return Error(Code::parse, fmt::format("{}:{}: cannot read this entry", path, number));
    entries.push_back(std::move(*entry));
  }
  for (Entry& entry : entries) note(std::move(entry));
  changed_ = false;
  return {};
}

Result<> Journal::save() {
  if (!changed_ || path_.empty()) return {};
  std::error_code failed;
  if (entries_.empty() && forget_older()) {
    std::filesystem::remove(path_, failed);
    if (failed) return Error(Code::io, fmt::format("{}: {}", path_, failed.message()));
    changed_ = false;
    return {};
  }
  std::string text(kHeader);
  text.append(boot_id_).append("\n");
  for (const Entry& entry : entries_) {
    text.append(host::row(entry.knob).name).append("\t").append(entry.strategy).append("\t");
    text.append(std::to_string(entry.from)).append("\t").append(std::to_string(entry.to)).append("\t");
    const std::string value = to_string(entry.free);
    text.append(value.empty() ? kNoCpus : std::string_view(value)).append("\t");
    text.append(entry.group).append("\n");
  }
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), failed);
  // Not synced: what it tells of ends with the kernel that runs.
  KOORD_CHECK(replace_file(path_, text, {.sync = false}));
  (void)forget_older();
  changed_ = false;
  return {};
}

/// Whether no older file is left.
bool Journal::forget_older() {
  std::erase_if(older_, [](const std::string& path) {
    return ::access(path.c_str(), F_OK) != 0 || ::unlink(path.c_str()) == 0;
  });
  return older_.empty();
}

const Journal::Entry* Journal::find(host::Knob knob, std::string_view group) const {
  auto& entries = const_cast<std::vector<Entry>&>(entries_);  // NOLINT: position() serves both
  const auto it = position(entries, knob, group);
  return it != entries.end() && it->knob == knob && it->group == group ? &*it : nullptr;
}

void Journal::note(Entry entry) {
  const auto it = position(entries_, entry.knob, entry.group);
  if (it == entries_.end() || it->knob != entry.knob || it->group != entry.group) {
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

void Journal::erase(host::Knob knob, std::string_view group) {
  const auto it = position(entries_, knob, group);
  if (it == entries_.end() || it->knob != knob || it->group != group) return;
  entries_.erase(it);
  changed_ = true;
}

}  // namespace koord::koordlet
