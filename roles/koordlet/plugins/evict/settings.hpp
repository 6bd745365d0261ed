// What a NodeSLO says of eviction, checked, and what a strategy says about itself.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/evict/victims.hpp"

namespace koord::koordlet::evict {

inline constexpr std::string_view kOff = "off: the NodeSLO does not enable it";
inline constexpr std::string_view kCooling = "a pod was evicted lately: waiting for what that frees";

/// Percentages: at the threshold pods go until the lower mark is reached.
struct Marks {
  std::int64_t threshold = 0, lower = 0;
  std::string_view nonsense = {};  // why the NodeSLO is not obeyed, in upstream's words; empty: it is
};
enum class Lower : std::uint8_t {
  by_default,  // two percent below the threshold
  required,
};
/// Nonsense: no threshold, a negative one, a lower mark that is not lower. A lower mark below -100 is that:
/// beyond it there is nothing more to free.
Marks marks(std::optional<std::int64_t> threshold, std::optional<std::int64_t> lower, Lower kind);

/// Rounded towards 0; what 64 bits do not hold is the most, or the least, that they do.
std::int64_t percent_of(std::int64_t amount, std::int64_t whole);
std::int64_t part_of(std::int64_t whole, std::int64_t percent);

/// Why each feature does something, or does not. Its memory is used again.
class Notes {
 public:
  void clear() { said_ = 0; }
  template <class... Args>
  void say(std::string_view feature, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(next(feature)), format, std::forward<Args>(args)...);
  }
  void invalid(std::string_view feature, std::string_view nonsense) {
    say(feature, "the NodeSLO has {}", nonsense);
  }
  void missing(std::string_view feature, std::string_view field) {
    say(feature, "the NodeSLO has no {}", field);
  }
  void blind(std::string_view feature, std::string_view what) { say(feature, "{} is not known now", what); }
  /// "BEMemoryEvict: 82% of the memory is used, 70% may be, 2 pods go; ...", instead of what `text` was.
  void summary(const std::vector<Task>& tasks, const Choice& choice, std::string& text) const;

 private:
  struct Note {
    std::string_view feature;
    std::string text;
  };
  std::string& next(std::string_view feature);

  std::vector<Note> notes_;
  std::size_t said_ = 0;
};

/// What is used of a resource, and all that the node has of it; in the units of Amounts.
struct Used {
  std::string_view what;  // as the notes call it: "CPU"
  Resource resource{};
  std::int64_t amount = 0, capacity = 0;
};
/// The task of the features that look at use, without its candidates: nothing below the threshold.
std::optional<Task> use_task(std::string_view feature, const Used& used, const Marks& marks, Notes& notes);

/// The task of the features that look at requests: nothing if nothing is asked too much, what they need is
/// not said, or the list of pods is too old to say who asks for what.
std::optional<Task> allocatable_task(const TickView& view, std::string_view feature, bool cpu,
                                     std::optional<std::int64_t> threshold, std::optional<std::int64_t> lower,
                                     std::optional<std::int32_t> priority, Notes& notes);

}  // namespace koord::koordlet::evict
