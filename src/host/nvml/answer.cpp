// The lines of the NVML helper's answer: see koord/host/nvml.hpp.
#include <fmt/format.h>

#include <limits>
#include <optional>

#include "koord/host/nvml.hpp"
#include "koord/host/pci.hpp"
#include "koord/host/text.hpp"

namespace koord::host {

namespace {

std::string_view next_part(std::string_view& line) {
  const std::size_t tab = line.find('\t');
  const std::string_view part = line.substr(0, tab);
  line = tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1);
  return part;
}

template <class Number>
bool next_number(std::string_view& line, Number& number) {
  return to_number(next_part(line), number);
}

bool read_card(std::string_view line, GpuCard& card) {
  unsigned mig = 0;
  if (!next_number(line, card.index) || !next_number(line, card.minor) || card.minor < 0) return false;
  card.uuid = next_part(line);
  const auto bus_id = parse_bus_id(next_part(line));
  if (!bus_id || card.uuid.empty() || !next_number(line, card.memory) || !next_number(line, mig))
    return false;
  if (card.memory > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  card.bus_id = *bus_id;
  card.mig = mig != 0;
  card.model = line;
  return true;
}

bool read_process(std::string_view line, GpuProcess& process) {
  return next_number(line, process.index) && next_number(line, process.pid) && process.pid > 0 &&
         next_number(line, process.cores) && next_number(line, process.memory);
}

bool read_usage(std::string_view line, GpuAnswer& answer) {
  unsigned index = 0;
  if (!next_number(line, index) || answer.cards.empty() || answer.cards.back().index != index) return false;
  GpuCard& card = answer.cards.back();
  return next_number(line, card.used) && next_number(line, card.cores) &&
         next_number(line, card.memory_controller);
}

}  // namespace

Result<GpuAnswer> parse_gpu_answer(std::string_view text) {
  GpuAnswer answer;
  std::string_view line;
  while (next_line(text, line)) {
    const std::string_view whole = line, what = next_part(line);
    const auto nonsense = [&whole] {
      return Error(Code::invalid, fmt::format("NVML's helper: \"{}\" makes no sense", whole.substr(0, 200)));
    };
    if (what == "end") return answer;
    if (what == "absent") return Error(Code::not_found, std::string(line));
    if (what == "error") return Error(Code::unavailable, std::string(line));
    if (what == "driver") {
      answer.driver = line;
    } else if (what == "card") {
      if (!read_card(line, answer.cards.emplace_back())) return nonsense();
    } else if (what == "bad") {
      const std::string_view index = next_part(line);
      answer.bad.push_back(fmt::format("GPU {}: {}", index, line));
    } else if (what == "unwatched" || what == "xid") {
      GpuFault& fault = answer.faults.emplace_back();
      fault.bus_id = parse_bus_id(next_part(line)).value_or(std::string());
      if (what == "xid" && !next_number(line, fault.xid)) return nonsense();
    } else if (what == "usage") {
      if (!read_usage(line, answer)) return nonsense();
    } else if (what == "process") {
      if (!read_process(line, answer.processes.emplace_back())) return nonsense();
    } else if (what == "crowded") {
      unsigned index = 0;
      if (!next_number(line, index) || answer.cards.empty() || answer.cards.back().index != index)
        return nonsense();
      answer.cards.back().crowded = true;
    } else if (what == "cost") {
      if (!next_number(line, answer.cpu_us) || !next_number(line, answer.memory_kib)) return nonsense();
    } else {
      return nonsense();
    }
  }
  return Error(Code::invalid, "NVML's helper: its answer has no end");
}

}  // namespace koord::host
