// AttemptDetail: what an attempt came to besides its message, for people who ask.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/symbol.hpp"

namespace koord::scheduling {

struct AttemptDetail {
  /// Nodes that refused the pod alike.
  struct Refusal {
    std::string_view plugin;  // of the profile, which outlives it
    std::vector<std::string> reasons;
    std::uint32_t nodes = 0;
    std::vector<Symbol> examples;  // a few of them
    bool victims_may_help = false;
  };
  struct Score {
    std::string_view plugin;
    std::int32_t weight;
    std::int64_t score;  // 0 to 100
  };
  struct NodeScores {
    Symbol node;
    std::int64_t total = 0;
    std::vector<Score> scores;
  };

  std::vector<Refusal> refusals;
  std::string prefilter_message, postfilter_message;
  std::vector<NodeScores> scores;  // of the node that was chosen; of more of them if somebody asked for it
};

}  // namespace koord::scheduling
