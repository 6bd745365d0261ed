// What the worlds tell of answers: see answers.hpp.
#include "random/answers.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace koord::scheduling::test {

std::string text(const std::optional<reference::Rejection>& rejected) {
  if (!rejected) return "feasible";
  return fmt::format("{}{} {}", rejected->plugin, rejected->unresolvable ? ", unresolvable," : "",
                     rejected->reasons);
}

std::optional<reference::Rejection> rejection(const Profile& profile, const Verdict& verdict) {
  reference::Rejection out{
      verdict.plugin == kNoPlugin ? "" : std::string(profile.plugin_name(verdict.plugin)),
      verdict.unresolvable, verdict.reasons};
  std::ranges::sort(out.reasons);
  return out;
}

std::string scores(const std::map<std::string, reference::NodeAnswer::Score>& all) {
  std::string text;
  for (const auto& [plugin, s] : all)
    if (s.final != 0) text += fmt::format(" {} {} ({})", plugin, s.final, s.raw);
  return text;
}
std::string scores(const Profile& profile, const Explanation& said) {
  std::map<std::string, reference::NodeAnswer::Score> all;
  for (const ScoreDetail& s : said.scores)
    all[std::string(profile.plugin_name(s.plugin))] = {s.raw, s.normalized * s.weight};
  return scores(all);
}

}  // namespace koord::scheduling::test
