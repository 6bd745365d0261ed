#include "koord/host/cgroup_stats.hpp"

#include <array>
#include <utility>

#include "koord/host/text.hpp"

namespace koord::host {

namespace {

constexpr std::uint64_t kNsPerUs = 1000;
constexpr std::size_t kMemoryRows = 7;
constexpr unsigned kAllFound = (1U << kMemoryRows) - 1;

Error malformed(std::string_view file, std::string_view line) {
  return Error(Code::parse, std::string(file) + ": cannot read \"" + std::string(line.substr(0, 80)) + '"');
}

struct Row {
  std::string_view v1;
  std::string_view v2;
  std::uint64_t* value;
};

// Adds the N<node>=<value> words of a line to the nodes' sums; each line has all nodes. `listed`: how many
// that are, 0 before the first line.
bool add_nodes(std::string_view rest, std::uint64_t unit, std::vector<std::uint64_t>& nodes,
               std::size_t& listed) {
  const std::size_t before = nodes.size();
  std::size_t words = 0, next = 0;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest), ++words) {
    const auto equals = word.find('=');
    std::size_t node = 0;
    std::uint64_t value = 0;
    if (equals == std::string_view::npos || word.front() != 'N' ||
        !to_number(word.substr(1, equals - 1), node) || !to_number(word.substr(equals + 1), value) ||
        node < next || node >= kMaxNumaNodes)
      return false;
    next = node + 1;
    if (nodes.size() < next) nodes.resize(next);
    nodes[node] += value * unit;
  }
  const bool same = listed == 0 || (words == listed && nodes.size() == before);
  listed = words;
  return words > 0 && same;
}

}  // namespace

Result<CpuStat> parse_cpu_stat(std::string_view text, CgroupVersion version) {
  CpuStat stat;
  bool has_usage = false;
  std::string_view line;
  while (next_line(text, line)) {
    std::string_view rest = line;
    const std::string_view name = next_word(rest);
    std::uint64_t* value = nullptr;
    std::uint64_t unit = 1;
    if (name == "nr_periods") value = &stat.periods;
    if (name == "nr_throttled") value = &stat.throttled_periods;
    if (version == CgroupVersion::v1 && name == "throttled_time") value = &stat.throttled_ns;
    if (version == CgroupVersion::v2 && (name == "usage_usec" || name == "throttled_usec")) {
      value = name == "usage_usec" ? &stat.usage_ns : &stat.throttled_ns;
      unit = kNsPerUs;
      has_usage |= name == "usage_usec";
    }
    if (!value) continue;
    if (!to_number(trimmed(rest), *value)) return malformed("cpu.stat", line);
    *value *= unit;
  }
  if (version == CgroupVersion::v2 && !has_usage) return Error(Code::parse, "cpu.stat: no line usage_usec");
  return stat;
}

Result<std::uint64_t> parse_counter(std::string_view text) {
  std::uint64_t value = 0;
  if (!to_number(trimmed(text), value)) return malformed("counter", text);
  return value;
}

Result<MemoryStat> parse_memory_stat(std::string_view text, CgroupVersion version) {
  MemoryStat stat;
  const std::array<Row, kMemoryRows> rows = {{{"total_cache", "file", &stat.file},
                                              {"total_rss", "anon", &stat.anon},
                                              {"total_inactive_anon", "inactive_anon", &stat.inactive_anon},
                                              {"total_active_anon", "active_anon", &stat.active_anon},
                                              {"total_inactive_file", "inactive_file", &stat.inactive_file},
                                              {"total_active_file", "active_file", &stat.active_file},
                                              {"total_unevictable", "unevictable", &stat.unevictable}}};
  unsigned found = 0;
  std::string_view line;
  // Kernels print the lines in one order, so that the next wanted one is nearly always behind the last.
  std::size_t next = 0;
  while (found != kAllFound && next_line(text, line)) {
    if (version == CgroupVersion::v1 && !line.starts_with("total_")) continue;
    for (std::size_t tried = 0; tried < rows.size(); ++tried) {
      const std::size_t i = (next + tried) % rows.size();
      const std::string_view name = version == CgroupVersion::v1 ? rows[i].v1 : rows[i].v2;
      if (line.size() <= name.size() || line[name.size()] != ' ' || !line.starts_with(name)) continue;
      if (!to_number(trimmed(line.substr(name.size())), *rows[i].value))
        return malformed("memory.stat", line);
      found |= 1U << i;
      next = i + 1;
      break;
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if ((found & (1U << i)) == 0)
      return Error(Code::parse, "memory.stat: no line " +
                                    std::string(version == CgroupVersion::v1 ? rows[i].v1 : rows[i].v2));
  return stat;
}

Result<MemoryUse> parse_numa_use(std::string_view text, std::uint64_t page_size) {
  constexpr std::string_view kPrefix = "hierarchical_";
  std::uint64_t anon = 0, file = 0, unevictable = 0;
  const std::array<std::pair<std::string_view, std::uint64_t*>, 3> rows = {
      {{"file=", &file}, {"anon=", &anon}, {"unevictable=", &unevictable}}};
  unsigned found = 0;
  std::string_view line;
  while (next_line(text, line)) {
    if (!line.starts_with(kPrefix)) continue;
    std::string_view rest = line.substr(kPrefix.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [name, value] = rows[i];
      if (!rest.starts_with(name)) continue;
      rest.remove_prefix(name.size());
      if (!to_number(next_word(rest), *value) || *value > ~std::uint64_t{0} / 4 / page_size)
        return malformed("memory.numa_stat", line);
      found |= 1U << i;
      break;
    }
  }
  if (found != (1U << rows.size()) - 1)
    return Error(Code::parse, "memory.numa_stat: no line hierarchical_file, _anon or _unevictable");
  MemoryUse use;
  use.used = (anon + unevictable) * page_size;
  use.used_with_page_cache = use.used + file * page_size;
  return use;
}

Result<> parse_numa_stat(std::string_view text, CgroupVersion version, std::uint64_t page_size,
                         std::vector<std::uint64_t>& nodes) {
  nodes.clear();
  std::size_t listed = 0;
  std::string_view line;
  if (version == CgroupVersion::v1) {
    if (!next_line(text, line) || !line.starts_with("total=")) return malformed("memory.numa_stat", line);
    std::string_view rest = line;
    next_word(rest);  // the sum over all nodes
    if (!add_nodes(rest, page_size, nodes, listed)) return malformed("memory.numa_stat", line);
    return {};
  }
  bool has_anon = false;
  bool has_file = false;
  while (next_line(text, line)) {
    std::string_view rest = line;
    const std::string_view name = next_word(rest);
    if (name != "anon" && name != "file") continue;
    if (!add_nodes(rest, 1, nodes, listed)) return malformed("memory.numa_stat", line);
    has_anon |= name == "anon";
    has_file |= name == "file";
  }
  if (!has_anon || !has_file) return Error(Code::parse, "memory.numa_stat: no line anon or no line file");
  return {};
}

Result<std::uint64_t> parse_cold_pages(std::string_view text) {
  constexpr std::size_t kLines = 31, kRows = 4;
  /// The columns before are of pages that were used lately.
  constexpr std::size_t kColdFrom = 5;
  constexpr std::string_view kFile = "memory.idle_page_stats";
  std::string_view rest = text, line;
  std::size_t lines = 0, rows = 0;
  std::uint64_t cold = 0;
  while (next_line(rest, line)) {
    ++lines;
    std::string_view words = line;
    const std::string_view name = next_word(words);
    if (name != "cfei" && name != "dfei" && name != "cfui" && name != "dfui") continue;
    ++rows;
    std::size_t column = 0;
    for (std::string_view word = next_word(words); !word.empty(); word = next_word(words), ++column) {
      std::uint64_t bytes = 0;
      if (!to_number(word, bytes)) return malformed(kFile, line);
      if (column < kColdFrom) continue;
      if (cold + bytes < cold) return malformed(kFile, line);
      cold += bytes;
    }
  }
  if (lines != kLines || rows != kRows)
    return Error(Code::parse,
                 "memory.idle_page_stats: expected the 31 lines of kidled, with cfei, dfei, cfui, dfui");
  return cold;
}

}  // namespace koord::host
