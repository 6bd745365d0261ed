// StoryChange: what a node lends was something else a moment ago, and which lines of its sum moved it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/node_story.hpp"

namespace koord::manager {

/// What a line of the sum has given or taken since. Of a line that has parts (pods, taken) it is the part.
struct FigureMove {
  std::string name;  // a FigureView's
  std::string words;
  figures::Amount amount;  // below nothing: less is lent by it
  KOORD_STRUCT(FigureMove);
};

struct StoryChange {
  std::string node;
  api::Time time;
  bool lends = false;
  std::string why_not;
  figures::Amount before, lent;   // by the figures of then and of now
  std::vector<FigureMove> moved;  // they add up to the difference; most CPU first, then most memory
  KOORD_STRUCT(StoryChange);
};

/// Smaller changes of what is lent are none.
inline constexpr figures::Amount kLeastChange{0.05, std::int64_t{64} << 20};

/// Nothing: it lends what it lent, or lends nothing for the same reason.
std::optional<StoryChange> change_of(const NodeStory& before, const NodeStory& now);

/// One line, ended: "12:03:10 lent 3.20 -> 1.05 cores: measured pods -1.90, system -0.25", in UTC.
std::string render(const StoryChange& change);

}  // namespace koord::manager
