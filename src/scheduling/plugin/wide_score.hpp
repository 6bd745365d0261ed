// WideScorePlugin: a score for which 100 steps are too coarse.
#pragma once

#include <cstdint>

namespace koord::scheduling {

/// A ScorePlugin that does not normalize and whose raw scores go from 0 to most(), which is above 100: with
/// the same weight it outweighs the others, which then decide between nodes that are nearly alike to it.
class WideScorePlugin {
 public:
  virtual ~WideScorePlugin() = default;
  /// Times the weight, and added to the other scores' sum, it must fit 32 bits: a profile is refused else.
  virtual std::int32_t most() const = 0;
};

}  // namespace koord::scheduling
