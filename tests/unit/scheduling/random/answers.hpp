// What the worlds tell of an engine's answers and of the oracle's, in the same words.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "koord/scheduling/classes/class_state.hpp"
#include "support/reference/evaluate.hpp"

namespace koord::scheduling::test {

/// "feasible", or who refuses and why.
std::string text(const std::optional<reference::Rejection>& rejected);
std::optional<reference::Rejection> rejection(const Profile& profile, const Verdict& verdict);

/// " NAME FINAL (RAW)" of each plugin that gives anything; one that gives every node nothing may also have no
/// say.
std::string scores(const std::map<std::string, reference::NodeAnswer::Score>& all);
std::string scores(const Profile& profile, const Explanation& said);

}  // namespace koord::scheduling::test
