// What the engine says beside the oracle's answers, in the story of one plugin: see pod_story.hpp.
#include <fmt/ranges.h>

#include "koord/scheduling/classes/class_state.hpp"
#include "random/answers.hpp"
#include "random/pod_story.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduling::test {

void PodStory::decide() {
  std::vector<Decision> one;
  for (int i = 0; i < 200 && found_.empty(); ++i) {
    one.clear();
    world_->engine.schedule(1, one);
    if (one.empty()) return;
    judge(one.front());
    note();
  }
}

bool PodStory::excused(const Decision&, const reference::Answer&) { return false; }

void PodStory::judge(const Decision& d) {
  const std::string key = reference::key_of(*d.pod);
  if (!waiting_.contains(key)) return tell(d.pod->metadata.name, "it is decided about, and does not wait");
  const auto pod = waiting_.at(key);
  const reference::Answer expected = reference::evaluate(cluster_, oracle_, *pod);
  if (d.kind() == Decision::Kind::bind) return judge_choice(d, expected);
  note_refusal(d);
  if (expected.feasible > 0) {
    if (!excused(d, expected))
      tell(api::encode(*pod),
           fmt::format("the engine says \"{}\",\n  the oracle has {} nodes", d.message(), expected.feasible));
    return;
  }
  if ((d.kind() == Decision::Kind::error) != !expected.error.empty())
    return tell(pod->metadata.name, "one of them has an error: " + d.message());
  if (!expected.error.empty()) return;
  ++met_["pods refused"];
  if (d.message() != expected.message && !excused(d, expected))
    tell(api::encode(*pod),
         fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", d.message(), expected.message));
}

void PodStory::judge_choice(const Decision& d, const reference::Answer& expected) {
  const std::string node = d.node().str(), key = reference::key_of(*d.pod);
  const auto at = expected.nodes.find(node);
  if (at == expected.nodes.end() || at->second.rejected)
    return tell(api::encode(*d.pod),
                fmt::format("bound to {}, where the oracle says: {}", node,
                            at == expected.nodes.end() ? "no such node" : text(at->second.rejected)));
  for (const auto& [other, each] : expected.nodes)
    if (expected.feasible > 1 && !each.rejected && each.final > at->second.final)
      return tell(api::encode(*d.pod), fmt::format("bound to {} of{}, better is {} of{}", node,
                                                   scores(at->second.scores), other, scores(each.scores)));
  const auto& changes = d.as<Decision::Bind>()->changes;
  const auto bound = changed(changes ? std::make_shared<const api::Pod>(patched(*d.pod, *changes)) : d.pod,
                             [&](api::Pod& p) { p.spec.node_name = d.node(); });
  begin_binding(d);
  judge_gift(*waiting_.at(key), *bound);
  ++met_["pods placed"];
  waiting_.erase(key);
  cluster_.pods[key] = bound;
  flights_[key] = {d.pod, d.tells_end()};
  if (random().chance(40)) end_a_binding(ends_well());
}

void PodStory::compare(const Pod& probe) {
  if (!found_.empty() || cluster_.nodes.empty()) return;
  const Profile& profile = world_->engine.profiles()[0];
  ClassState& state = world_->engine.evaluate(profile, probe);
  state.judge_refused();
  const reference::Answer expected = reference::evaluate(cluster_, oracle_, *probe);
  const Diagnosis why = state.diagnose();
  if (why.error.empty() != expected.error.empty())
    return tell(api::encode(*probe), "one of them has an error: " + why.error + expected.error);
  if (!expected.error.empty()) return;
  const NodeTable& table = world_->engine.nodes();
  if (!expected.prefilter_message.empty()) ++met_["pods that ask for what cannot be"];
  for (Row row = 0; row < table.rows() && expected.prefilter_message.empty(); ++row) {
    const VerdictId id = state.verdict(row);
    if (id == kAbsent) continue;
    const std::string name = table.name(row).str();
    const reference::NodeAnswer& at = expected.nodes.at(name);
    const auto rejected =
        id == kPass ? std::nullopt : rejection(profile, world_->engine.context().verdicts[id]);
    if (rejected != at.rejected)
      return tell(api::encode(*probe),
                  fmt::format("{}:\n  engine: {}\n  oracle: {}", name, text(rejected), text(at.rejected)));
    ++met_[rejected ? refusal(*rejected) : "nodes pass"];
    if (rejected || expected.feasible == 1) continue;
    const std::string ours = scores(profile, state.explain(row)), theirs = scores(at.scores);
    if (state.score(row) != at.final || ours != theirs)
      return tell(api::encode(*probe), fmt::format("{}:\n  engine: {} of{}\n  oracle: {} of{}", name,
                                                   state.score(row), ours, at.final, theirs));
  }
  if (state.feasible() != expected.feasible)
    return tell(api::encode(*probe),
                fmt::format("{} feasible nodes instead of {}", state.feasible(), expected.feasible));
  if (expected.feasible == 0 && fit_error(why) != expected.message)
    tell(api::encode(*probe),
         fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", fit_error(why), expected.message));
}

void PodStory::tell(std::string_view about, const std::string& what) {
  if (!found_.empty()) return;
  found_ = fmt::format("seed {}, step {}, after\n  {}\n  {}\n{}: {}", seed_, steps_,
                       fmt::join(last_changes_, "\n  "), done_, about, what);
  for (const auto& [name, node] : cluster_.nodes) {
    if (what.find(name) == std::string::npos) continue;
    found_ += fmt::format("\n  {}{}", api::encode(*node), objects_of(name));
    for (const auto& [key, pod] : cluster_.pods)
      if (pod->spec.node_name.view() == name)
        found_ += fmt::format("\n    {}{}", flights_.contains(key) ? "(on its way) " : "", api::encode(*pod));
  }
}

}  // namespace koord::scheduling::test
