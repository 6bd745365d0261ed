// The difference of two sums, line by line: see story_change.hpp.
#include "explain/story_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>
#include <tuple>

#include "koord/api/schema/table.hpp"

namespace koord::manager {

KOORD_SCHEMA(FigureMove, ROW(name).doc("The line of the sum, as in figures; of a line with parts the part."),
             ROW(words).doc("What it is."),
             ROW(amount).doc("What it gives more, or takes more where that is negative."));
KOORD_SCHEMA(StoryChange, ROW(node).doc("The node's name."), ROW(time).doc("When that was seen."),
             ROW(lends).always().doc("By the figures of now."), ROW(why_not).doc("Why it lends nothing."),
             ROW(before).doc("What it lent before."), ROW(lent).doc("What it lends now."),
             ROW(moved).doc("Which lines of the sum moved it, most CPU first."));

namespace {

struct LineWords {
  std::string_view name, words;
};
/// Of lines that move what is lent, in the order of the sum.
constexpr std::array kLines = {LineWords{"capacity", "capacity"},
                               LineWords{"margin", "kept free"},
                               LineWords{"reserved", "reserved"},
                               LineWords{"system", "system"},
                               LineWords{"measured", "measured pods"},
                               LineWords{"unmeasured", "pods not measured yet"},
                               LineWords{"gone", "pods that are gone"},
                               LineWords{"left", "nothing below zero"},
                               LineWords{"threshold", "batch thresholds"},
                               LineWords{"level", "level after trouble"},
                               LineWords{"ratio", "ratio of normalization"},
                               LineWords{"others", "others"},
                               LineWords{"lent", "beside the sum"}};

/// What is less is a rest of rounding, and of sums of doubles.
constexpr figures::Amount kRest{0.003, 1 << 20};
constexpr double kMostBytes = 9e18;

/// CPU in cores or memory in bytes.
enum class Part : std::uint8_t { cpu, memory };

double value_of(const FigureView& figure, Part part) {
  if (part == Part::cpu) return figure.cpu_cores.value_or(0);
  return static_cast<double>(figure.memory_bytes.value_or(0));
}

bool has(const FigureView& figure, Part part) {
  return part == Part::cpu ? figure.cpu_cores.has_value() : figure.memory_bytes.has_value();
}

const FigureView* find(const NodeStory& story, std::string_view name) {
  const auto found = std::ranges::find(story.figures, name, &FigureView::name);
  return found == story.figures.end() ? nullptr : &*found;
}

double value_in(const NodeStory& story, std::string_view name, Part part) {
  const FigureView* const figure = find(story, name);
  return figure != nullptr ? value_of(*figure, part) : 0;
}

/// What each of kLines adds to what is lent. What the system uses counts for `taken` where `by_system`.
class Effects {
 public:
  Effects(const NodeStory& story, Part part, bool by_system) : part_(part) {
    for (const FigureView& figure : story.figures) {
      if (figure.name == "taken")
        add(by_system ? "system" : "reserved", -value_of(figure, part));
      else if (has(figure, part))
        count(figure);
    }
  }

  double of(std::size_t line) const { return effects_[line]; }

 private:
  void add(std::string_view name, double effect) {
    const auto* const line = std::ranges::find(kLines, name, &LineWords::name);
    if (line == kLines.end()) return;
    effects_[static_cast<std::size_t>(line - kLines.begin())] += effect;
    left_ += effect;
  }
  void count(const FigureView& figure) {
    const std::string_view name = figure.name;
    const double value = value_of(figure, part_);
    if (name == "capacity") return add(name, value);
    if (name == "left") return add(name, std::max(left_, 0.0) - left_);
    if (name == "threshold") return add(name, std::min(left_, value) - left_);
    if (name == "level" || name == "ratio" || name == "lent") return add(name, value - left_);
    // The lines of pods and of what is taken stand for their parts.
    const bool is_whole = name == "pods", is_part_of_taken = name == "reserved" || name == "system";
    if (!is_whole && !is_part_of_taken) add(name, -value);
  }

  const Part part_;
  double left_ = 0;
  std::array<double, kLines.size()> effects_{};
};

/// Of what is reserved and what the system uses the larger counts: the one that has changed more moved it.
bool system_moved(const NodeStory& before, const NodeStory& now, Part part) {
  const auto moved = [&](std::string_view name) {
    return std::abs(value_in(now, name, part) - value_in(before, name, part));
  };
  return moved("system") > moved("reserved");
}

std::vector<FigureMove> moves(const NodeStory& before, const NodeStory& now) {
  const bool cpu_by_system = system_moved(before, now, Part::cpu),
             memory_by_system = system_moved(before, now, Part::memory);
  const Effects cpu_then(before, Part::cpu, cpu_by_system), cpu_now(now, Part::cpu, cpu_by_system),
      memory_then(before, Part::memory, memory_by_system), memory_now(now, Part::memory, memory_by_system);
  std::vector<FigureMove> moved;
  for (std::size_t i = 0; i < kLines.size(); ++i) {
    const double cpu = cpu_now.of(i) - cpu_then.of(i), memory = memory_now.of(i) - memory_then.of(i);
    if (std::abs(cpu) < kRest.cpu_cores && std::abs(memory) < static_cast<double>(kRest.memory_bytes))
      continue;
    moved.push_back({std::string(kLines[i].name),
                     std::string(kLines[i].words),
                     {cpu, static_cast<std::int64_t>(std::clamp(memory, -kMostBytes, kMostBytes))}});
  }
  const auto weight = [](const FigureMove& move) {
    return std::tuple(std::llround(std::abs(move.amount.cpu_cores) * 100),
                      std::abs(move.amount.memory_bytes));
  };
  std::ranges::stable_sort(moved, std::greater(), weight);
  return moved;
}

constexpr double kGi = 1024.0 * 1024 * 1024;

struct Unit {
  Part part;
  std::string_view of_change, of_move;
};
constexpr Unit kCores{Part::cpu, " cores", ""}, kMemory{Part::memory, "Gi", "Gi"};

double amount_of(const figures::Amount& amount, Part part) {
  return part == Part::cpu ? amount.cpu_cores : static_cast<double>(amount.memory_bytes) / kGi;
}

/// "3.20 -> 1.05 cores: measured pods -1.90, system -0.25".
std::string clause(const StoryChange& change, const Unit& unit) {
  const auto size = [&unit](const FigureMove& move) { return std::abs(amount_of(move.amount, unit.part)); };
  std::vector<FigureMove> moved = change.moved;
  std::erase_if(moved, [&size](const FigureMove& move) { return size(move) < 0.005; });
  std::ranges::stable_sort(moved, std::greater(), size);
  std::string out = fmt::format("{:.2f} -> {:.2f}{}", amount_of(change.before, unit.part),
                                amount_of(change.lent, unit.part), unit.of_change);
  std::string_view before = ": ";
  for (const FigureMove& move : moved) {
    out += fmt::format("{}{} {:+.2f}{}", before, move.words, amount_of(move.amount, unit.part), unit.of_move);
    before = ", ";
  }
  return out;
}

bool is_small(const figures::Amount& before, const figures::Amount& now, Part part) {
  return std::abs(amount_of(now, part) - amount_of(before, part)) < amount_of(kLeastChange, part);
}

}  // namespace

std::optional<StoryChange> change_of(const NodeStory& before, const NodeStory& now) {
  const bool same =
      is_small(before.lent, now.lent, Part::cpu) && is_small(before.lent, now.lent, Part::memory);
  if (before.lends == now.lends && before.why_not == now.why_not && same) return std::nullopt;
  StoryChange change{.node = now.node,
                     .time = now.time,
                     .lends = now.lends,
                     .why_not = now.why_not,
                     .before = before.lent,
                     .lent = now.lent,
                     .moved = {}};
  if (before.lends && now.lends) change.moved = moves(before, now);
  return change;
}

std::string render(const StoryChange& change) {
  const std::string at = change.time.to_string().substr(11, 8);
  const bool cpu = !is_small(change.before, change.lent, Part::cpu),
             memory = !is_small(change.before, change.lent, Part::memory);
  if (!change.lends) {
    const std::string lent =
        cpu || memory ? fmt::format(" any more, {:.2f} cores and {:.2f}Gi before", change.before.cpu_cores,
                                    amount_of(change.before, Part::memory))
                      : "";
    return fmt::format("{} lends nothing{}: {}\n", at, lent, change.why_not);
  }
  if (change.moved.empty())
    return fmt::format("{} lends {:.2f} cores and {:.2f}Gi again\n", at, change.lent.cpu_cores,
                       amount_of(change.lent, Part::memory));
  return fmt::format("{} lent {}{}{}\n", at, cpu ? clause(change, kCores) : "",
                     cpu && memory ? "; memory " : "", memory ? clause(change, kMemory) : "");
}

}  // namespace koord::manager
