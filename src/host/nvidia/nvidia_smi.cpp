// nvidia-smi: see koord/host/nvidia/nvidia_smi.hpp.
#include "koord/host/nvidia/nvidia_smi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "koord/base/file.hpp"
#include "koord/base/text.hpp"
#include "koord/host/pci.hpp"
#include "koord/host/text.hpp"

namespace koord::host {

namespace {

constexpr std::string_view kSmi = "nvidia-smi";
constexpr std::size_t kMostCards = 256, kMostProcesses = 1024, kShown = 200, kLongestName = 128;
constexpr std::uint64_t kMi = std::uint64_t{1} << 20;

// What every version knows, and what not every one does.
constexpr std::string_view kCards = "--query-gpu=index,uuid,gpu_name,memory.total,pci.bus_id,driver_version";
constexpr std::string_view kUse =
    "--query-gpu=uuid,mig.mode.current,memory.used,utilization.gpu,utilization.memory";
constexpr std::string_view kApps = "--query-compute-apps=gpu_uuid,pid,used_memory";
constexpr std::string_view kFormat = "--format=csv,noheader,nounits";

std::vector<std::string> query(std::string_view what) { return {std::string(what), std::string(kFormat)}; }

/// MiB as bytes.
bool read_memory(std::string_view text, std::uint64_t& bytes) {
  std::uint64_t mi = 0;
  if (!to_number(text, mi) || mi > std::numeric_limits<std::int64_t>::max() / kMi) return false;
  bytes = mi * kMi;
  return true;
}

bool read_card(std::string_view line, const std::string& root, GpuCard& card, std::string& driver) {
  const auto columns = csv_columns(line);
  if (columns.size() != 6 || !to_number(columns[0], card.index) || columns[1].empty() ||
      columns[1].size() > kLongestName || columns[2].size() > kLongestName)
    return false;
  const auto bus_id = parse_bus_id(columns[4]);
  if (!bus_id || !read_memory(columns[3], card.memory)) return false;
  card.uuid = columns[1];
  card.model = columns[2];
  card.bus_id = *bus_id;
  const std::int64_t minor = nvidia_minor(root, card.bus_id).value_or(card.index);
  if (minor > std::numeric_limits<std::int32_t>::max()) return false;
  card.minor = static_cast<std::int32_t>(minor);
  driver = utf8_prefix(columns[5], kLongestName);
  return true;
}

GpuCard* find(GpuAnswer& answer, std::string_view uuid) {
  const auto found = std::ranges::find(answer.cards, uuid, &GpuCard::uuid);
  return found != answer.cards.end() ? &*found : nullptr;
}

void read_use(std::string_view text, GpuAnswer& answer) {
  std::string_view line;
  while (next_line(text, line)) {
    const auto columns = csv_columns(line);
    GpuCard* const card = columns.size() == 5 ? find(answer, columns[0]) : nullptr;
    if (card == nullptr) continue;
    card->mig = columns[1] == "Enabled";
    (void)read_memory(columns[2], card->used);
    (void)to_number(columns[3], card->cores);
    (void)to_number(columns[4], card->memory_controller);
  }
}

void read_processes(std::string_view text, GpuAnswer& answer) {
  std::string_view line;
  while (next_line(text, line) && answer.processes.size() < kMostProcesses) {
    const auto columns = csv_columns(line);
    const GpuCard* const card = columns.size() == 3 ? find(answer, columns[0]) : nullptr;
    GpuProcess process;
    if (card == nullptr || !to_number(columns[1], process.pid) || process.pid <= 0) continue;
    process.index = card->index;
    (void)read_memory(columns[2], process.memory);
    answer.processes.push_back(process);
  }
}

/// Of "nvidia-smi pmon -c 1 -s u": "# gpu pid type sm mem ...", "-" for what is not known.
void read_cores(std::string_view text, GpuAnswer& answer) {
  std::map<std::pair<unsigned, pid_t>, unsigned> cores;
  std::string_view line;
  while (next_line(text, line) && cores.size() < kMostProcesses) {
    unsigned index = 0, percent = 0;
    pid_t pid = 0;
    if (!to_number(next_word(line), index) || !to_number(next_word(line), pid)) continue;
    (void)next_word(line);  // C, G
    if (to_number(next_word(line), percent)) cores[{index, pid}] = percent;
  }
  for (GpuProcess& process : answer.processes)
    if (const auto found = cores.find({process.index, process.pid}); found != cores.end())
      process.cores = found->second;
}

}  // namespace

std::vector<std::string_view> csv_columns(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const std::size_t comma = std::min(line.find(','), line.size());
    std::string_view column = line.substr(0, comma);
    while (column.starts_with(' ')) column.remove_prefix(1);
    while (column.ends_with(' ') || column.ends_with('\r')) column.remove_suffix(1);
    columns.push_back(column);
    if (comma == line.size()) return columns;
    line.remove_prefix(comma + 1);
  }
}

std::optional<std::int64_t> nvidia_minor(const std::string& root, std::string_view bus_id) {
  const auto text = read_file(fmt::format("{}/proc/driver/nvidia/gpus/{}/information", root, bus_id), 4096);
  if (!text) return std::nullopt;
  std::string_view rest = *text, line;
  while (next_line(rest, line)) {
    constexpr std::string_view kName = "Device Minor:";
    std::uint32_t minor = 0;
    if (line.starts_with(kName) && to_number(trimmed(line.substr(kName.size())), minor)) return minor;
  }
  return std::nullopt;
}

Task<Result<GpuAnswer>> ask_nvidia_smi(Programs& programs, std::string root) {
  KOORD_CO_TRY(cards, co_await programs.ask(kSmi, query(kCards)));
  GpuAnswer answer;
  std::string_view rest = cards, line;
  while (next_line(rest, line) && answer.cards.size() + answer.bad.size() < kMostCards) {
    if (trimmed(line).empty()) continue;
    GpuCard card;
    if (read_card(line, root, card, answer.driver))
      answer.cards.push_back(std::move(card));
    else
      answer.bad.push_back(fmt::format("nvidia-smi: no card: {}", quote(utf8_prefix(line, kShown))));
  }
  if (answer.cards.empty()) co_return answer;
  // Cards that are cut must not be taken for whole ones: only a version that does not know the question may
  // leave it unanswered, and ends with a status then.
  const auto use = co_await programs.ask(kSmi, query(kUse));
  if (!use && use.error().code() != Code::io) co_return use.error();
  if (use) read_use(*use, answer);
  KOORD_CO_TRY(processes, co_await programs.ask(kSmi, query(kApps)));
  read_processes(processes, answer);
  if (answer.processes.empty()) co_return answer;
  if (const auto cores = co_await programs.ask(kSmi, {"pmon", "-c", "1", "-s", "u"}); cores)
    read_cores(*cores, answer);
  else if (cores.error().code() == Code::cancelled)
    co_return cores.error();
  co_return answer;
}

}  // namespace koord::host
