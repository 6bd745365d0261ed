// Reading a trace and looking into it: see trace.hpp.
#include "sandbox/usage/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

#include "koord/base/file.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
/// A trace of more years is a mistake, and its times must not overflow.
constexpr std::int64_t kMostSeconds = std::int64_t{100} * 365 * 86'400;

std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<Trace> Trace::parse(std::string_view text) {
  Trace trace;
  std::map<std::string_view, std::size_t> known;
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view rest = cut(text, '\n');
    if (rest.ends_with('\r')) rest.remove_suffix(1);
    if (rest.empty()) continue;
    const std::string_view name = cut(rest, ',');
    std::array<std::string_view, 3> fields;
    for (std::string_view& field : fields) field = cut(rest, ',');
    const auto second = number<std::int64_t>(fields[0]);
    if (name.empty() || !second || *second < 0 || *second > kMostSeconds)
      return Error(Code::parse,
                   fmt::format("line {}: not \"machine,seconds,CPU %,memory %\" with seconds from 0", line));
    if (fields[1].empty() || fields[2].empty()) continue;
    const auto cpu = number<double>(fields[1]), memory = number<double>(fields[2]);
    // Alibaba's tables have -1 and 101 where a machine was not well.
    if (!cpu || !memory || !(*cpu >= -1 && *cpu <= 101) || !(*memory >= -1 && *memory <= 101))
      return Error(Code::parse, fmt::format("line {}: CPU and memory are percents from 0 to 100", line));
    const auto [it, added] = known.emplace(name, trace.machines_.size());
    if (added) trace.machines_.push_back({std::string(name), {}});
    const auto share = [](double percent) { return std::clamp(percent / 100, 0.0, 1.0); };
    trace.machines_[it->second].rows.push_back({*second, {share(*cpu), share(*memory)}});
    first = std::min(first, *second);
    last = std::max(last, *second);
  }
  if (trace.machines_.empty()) return Error(Code::invalid, "there is no row in it");
  for (Machine& machine : trace.machines_) {
    std::stable_sort(machine.rows.begin(), machine.rows.end(),
                     [](const Row& a, const Row& b) { return a.second < b.second; });
    for (Row& row : machine.rows) row.second -= first;
  }
  trace.length_ = std::max<std::int64_t>(last - first, 1);
  return trace;
}

Result<Trace> Trace::open(const std::string& path) {
  KOORD_TRY(text, read_file(path, kMostBytes, Source::stream));
  auto trace = parse(text);
  if (!trace) return std::move(trace).error().context(path);
  return trace;
}

Trace::Load Trace::at(std::size_t index, std::chrono::nanoseconds time) const {
  const std::vector<Row>& rows = machines_[index % machines_.size()].rows;
  const std::chrono::nanoseconds length = std::chrono::seconds(length_);
  const double second = std::chrono::duration<double>(time % length).count();
  const auto after = std::upper_bound(rows.begin(), rows.end(), second, [](double at, const Row& row) {
    return at < static_cast<double>(row.second);
  });
  if (after == rows.begin()) return after->load;
  const Row& before = *std::prev(after);
  if (after == rows.end()) return before.load;
  const double way =
      (second - static_cast<double>(before.second)) / static_cast<double>(after->second - before.second);
  return {before.load.cpu + (after->load.cpu - before.load.cpu) * way,
          before.load.memory + (after->load.memory - before.load.memory) * way};
}

}  // namespace koord::sandbox
