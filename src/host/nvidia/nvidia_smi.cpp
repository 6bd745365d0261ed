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

// What every version knows, and what those do that know MIG. One that is asked for a column which it does not
// know says nothing at all.
constexpr std::string_view kCards = "--query-gpu=index,uuid,gpu_name,memory.total,pci.bus_id,driver_version";
constexpr std::string_view kUse =
    "--query-gpu=uuid,mig.mode.current,memory.used,utilization.gpu,utilization.memory";
constexpr std::string_view kOldUse = "--query-gpu=uuid,memory.used,utilization.gpu,utilization.memory";
constexpr std::string_view kWhole[] = {"Disabled", "[N/A]", "[Not Supported]"};
constexpr unsigned kFirstWithMig = 450;  // the driver's version
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

/// "535.104.05" is 450 or newer; what is no version is taken for a new one, which has to answer.
bool knows_mig(std::string_view driver) {
  unsigned major = 0;
  return !to_number(driver.substr(0, driver.find('.')), major) || major >= kFirstWithMig;
}

GpuCard* find(GpuAnswer& answer, std::string_view uuid) {
  const auto found = std::ranges::find(answer.cards, uuid, &GpuCard::uuid);
  return found != answer.cards.end() ? &*found : nullptr;
}

/// With MIG its column is the second one. A card of which it is not known whether it is cut goes to `bad`: it
/// must not be taken for a whole one.
void read_use(std::string_view text, bool with_mig, GpuAnswer& answer) {
  std::map<std::string, std::string, std::less<>> unknown;
  if (with_mig)
    for (const GpuCard& card : answer.cards) unknown.emplace(card.uuid, "no answer");
  std::string_view line;
  while (next_line(text, line)) {
    auto columns = csv_columns(line);
    GpuCard* const card = columns.size() == (with_mig ? 5U : 4U) ? find(answer, columns[0]) : nullptr;
    if (card == nullptr) continue;
    if (with_mig) {
      const std::string_view mig = columns[1];
      card->mig = mig == "Enabled";
      if (card->mig || std::ranges::find(kWhole, mig) != std::end(kWhole))
        unknown.erase(card->uuid);
      else
        unknown[card->uuid] = quote(utf8_prefix(mig, kShown));
      columns.erase(columns.begin() + 1);
    }
    (void)read_memory(columns[1], card->used);
    (void)to_number(columns[2], card->cores);
    (void)to_number(columns[3], card->memory_controller);
  }
  for (const auto& [uuid, what] : unknown)
    answer.bad.push_back(fmt::format("nvidia-smi: GPU {}: whether it is cut by MIG: {}", uuid, what));
  std::erase_if(answer.cards, [&](const GpuCard& card) { return unknown.contains(card.uuid); });
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
  const bool with_mig = knows_mig(answer.driver);
  KOORD_CO_TRY(use, co_await programs.ask(kSmi, query(with_mig ? kUse : kOldUse)));
  read_use(use, with_mig, answer);
  if (answer.cards.empty()) co_return answer;
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
