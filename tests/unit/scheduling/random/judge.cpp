// What the engine says and does beside the oracle's answers: see random_world.hpp.
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "random/answers.hpp"
#include "random/random_world.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduling::test {

namespace {

constexpr int kRounds = 12;

}  // namespace

void RandomWorld::judge(const Decision& d) {
  ++moves_;
  const auto flight = flights_.find(d.pod->metadata.uid);
  if (flight != flights_.end() && !flight->second.gone) return judge_end_of_wait(d, flight->second);
  if (!PodLives::is_ours(*d.pod)) return tell(*d.pod, "it is decided about, and is nobody's here");
  if (d.kind() == Decision::Kind::ask) return judge_question(d);
  const Served& here = served(*d.pod);
  const reference::Answer answer = reference::evaluate(cluster_, here.oracle, *d.pod);
  // Whom extenders were asked about may find another cluster than they were asked about.
  const auto asked = asked_.find(d.pod->metadata.uid);
  const bool at_once = asked == asked_.end() || moves_ == asked->second.at + 1;
  if (asked != asked_.end()) asked_.erase(asked);
  if (d.kind() == Decision::Kind::bind || d.kind() == Decision::Kind::wait)
    return judge_choice(d, answer, at_once);
  const std::string key = reference::key_of(*d.pod);
  Refusal& refusal = refusals_[key] = {steps_, steps_, d.message(), false};
  std::string expected = answer.message;
  std::optional<reference::Preemption> preemption;
  if (answer.feasible > 0) {
    refusal.by_seat = is_refused_by_seat(d, answer, at_once);
    if (!refusal.by_seat && at_once)
      return tell(*d.pod, fmt::format("the engine says \"{}\",\n  the oracle has {} nodes", d.message(),
                                      answer.feasible));
    expected = d.message();
    ++met_["(seats)"].rejected;
  } else if (!answer.error.empty()) {
    if (d.kind() != Decision::Kind::error && at_once) return tell(*d.pod, "it is refused, and should fail");
  } else if (!here.claims.empty() && !answer.prefilter_message.empty()) {
    // What DynamicResources says where its own PreFilter was not reached; nobody is asked after it.
    expected = fmt::format("{} not found", expected);
  } else if (here.oracle.preemption && !cluster_.nodes.empty()) {
    preemption = reference::preempt(cluster_, here.oracle, *d.pod);
    if (!preemption->message.empty())
      expected = fmt::format("{} {}{}", expected, here.claims, preemption->message);
  } else if (!here.claims.empty() && !cluster_.nodes.empty()) {
    expected = fmt::format("{} {}", expected, here.claims.substr(0, here.claims.size() - 2));
  }
  if (d.message() != expected && at_once)
    return tell(*d.pod, fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", d.message(), expected));
  if (preemption && !preemption->best.empty()) return judge_preemption(d, *preemption);
  if (d.nominate() && !d.nominate()->empty())
    return tell(*d.pod,
                fmt::format("it is nominated to {}, the oracle sees no victims", d.nominate()->view()));
  if (d.nominate() && !d.pod->status.nominated_node_name.empty())
    put_waiting(changed(d.pod, [&](api::Pod& p) { p.status.nominated_node_name = {}; }));
}

/// Extenders are asked about the nodes that the plugins let pass, about all of them the first time.
void RandomWorld::judge_question(const Decision& d) {
  reference::Config plugins = served(*d.pod).oracle;
  const bool wanted = plugins.extended && plugins.extended->asks(*d.pod);
  plugins.extended.reset();
  const reference::Answer expected = reference::evaluate(cluster_, plugins, *d.pod);
  std::set<std::string> names, feasible;
  for (const auto& node : d.as<Decision::Ask>()->question->nodes) names.insert(node->metadata.name);
  for (const auto& [name, node] : expected.nodes)
    if (!node.rejected) feasible.insert(name);
  const bool first = !asked_.contains(d.pod->metadata.uid);
  if (!wanted || !std::includes(feasible.begin(), feasible.end(), names.begin(), names.end()) ||
      (first && names != feasible))
    return tell(*d.pod, fmt::format("extenders are asked about {}, the oracle has {}", names, feasible));
  met_["(extenders)"].scored += names.size();
  Asked& asked = asked_[d.pod->metadata.uid] = {moves_, d, lives_.chance(40)};
  refusals_[reference::key_of(*d.pod)].by_seat = false;  // it is being tried
  if (asked.held) return;
  world_.engine.answered(
      *d.pod, std::make_shared<ExtenderAnswer>(extenders_->ask(d.pod, d.as<Decision::Ask>()->question)));
}

/// Those that took their time.
void RandomWorld::answer_held() {
  ++moves_;
  for (auto& [uid, asked] : asked_) {
    if (!std::exchange(asked.held, false)) continue;
    const Decision& d = asked.decision;
    world_.engine.answered(
        *d.pod, std::make_shared<ExtenderAnswer>(extenders_->ask(d.pod, d.as<Decision::Ask>()->question)));
  }
}

void RandomWorld::judge_preemption(const Decision& d, const reference::Preemption& expected) {
  const std::string node = d.nominate().value_or(Symbol()).str();
  // Which of two alike goes first is nobody's business.
  bool certain = true;
  for (const auto& [name, candidate] : expected.candidates) certain = certain && candidate.certain;
  std::vector<std::string> victims;
  for (const auto& v : d.preemption().victims) victims.push_back(reference::key_of(*v.pod));
  const auto at = expected.candidates.find(node);
  if (at == expected.candidates.end() || (certain && !expected.best.contains(node)))
    return tell(*d.pod, fmt::format("victims {} on \"{}\", best of {} are {}", victims, node,
                                    expected.candidates.size(), expected.best));
  std::vector<std::string> wanted = at->second.victims;
  std::erase_if(wanted,
                [&](auto& key) { return cluster_.pods.at(key)->metadata.deletion_timestamp.has_value(); });
  if (at->second.certain && (victims != wanted || d.preemption().chosen != at->second.victims.size()))
    return tell(*d.pod, fmt::format("victims {} on {}, the oracle takes {}", victims, node, wanted));
  ++met_["DefaultPreemption"].scored;
  for (const auto& victim : d.preemption().victims) {
    const std::string key = reference::key_of(*victim.pod);
    if (random_.chance(50) || assumed_.contains(key)) {
      world_.engine.remove_pod(*victim.pod);
      lose(key);
      continue;
    }
    cluster_.pods[key] = changed(cluster_.pods.at(key), [&](api::Pod& p) {
      p.metadata.deletion_timestamp = api::Time(world_.clock.now());
      p.status.conditions.push_back({"DisruptionTarget", "True", 0, {}, "PreemptionByScheduler", {}});
    });
    world_.engine.put_pod(cluster_.pods.at(key));
  }
  for (const auto& [other, node] : d.preemption().nominations)
    put_waiting(changed(other, [&](api::Pod& p) { p.status.nominated_node_name = node; }));
  put_waiting(changed(d.pod, [&](api::Pod& p) { p.status.nominated_node_name = *d.nominate(); }));
  world_.engine.preempted(*d.pod, true);
}

/// Why the pod should not go there; empty: it may.
std::string RandomWorld::wrong_choice(const api::Pod& pod, const std::string& node,
                                      const reference::Answer& expected, bool at_once) const {
  std::int64_t best = 0;
  std::string best_scores;
  for (const auto& [name, each] : expected.nodes)
    if (!each.rejected && each.final > best) {
      best = each.final;
      best_scores = fmt::format("{}{}", name, scores(each.scores));
    }
  const auto at = expected.nodes.find(node);
  const auto nominated = expected.nodes.find(pod.status.nominated_node_name.str());
  const bool keeps = nominated != expected.nodes.end() && !nominated->second.rejected;
  if (at == expected.nodes.end() || at->second.rejected)
    return fmt::format("bound to {}, where the oracle says: {}", node,
                       at == expected.nodes.end() ? "no such node" : text(at->second.rejected));
  if (!at_once) return {};
  if (keeps && at != nominated) return fmt::format("bound to {}, nominated to {}", node, nominated->first);
  if (!keeps && expected.feasible > 1 && at->second.final != best)
    return fmt::format("bound to {}, of score {}:{}\n  best is {}: {}", node, at->second.final,
                       scores(at->second.scores), best, best_scores);
  return {};
}

/// On one of the nodes that it may go to.
bool RandomWorld::is_refused_by_seat(const Decision& d, const reference::Answer& expected,
                                     bool at_once) const {
  for (const auto& [name, node] : expected.nodes)
    if (!node.rejected && d.message() == refused_by_seat(*d.pod, name) &&
        wrong_choice(*d.pod, name, expected, at_once).empty())
      return true;
  return false;
}

void RandomWorld::judge_choice(const Decision& d, const reference::Answer& expected, bool at_once) {
  if (const std::string wrong = wrong_choice(*d.pod, d.node().str(), expected, at_once); !wrong.empty())
    return tell(*d.pod, wrong);
  if (const std::string refused = refused_by_seat(*d.pod, d.node().str()); !refused.empty())
    return tell(*d.pod, fmt::format("bound to {}, and should be refused: {}", d.node().view(), refused));
  begin_binding(d);
}

/// The hints of the plugins let no pod wait that a node would do for. A pod that is assumed moves nobody
/// before the watch tells of it.
void RandomWorld::look_for_forgotten() {
  const auto is_held = [](const auto& asked) { return asked.second.held; };
  // Once at least: somebody may have been taken away since the last decision. Those that wait for seats may
  // wake one another for ever.
  bool settled = false;
  for (int round = 0; round < kRounds && !settled && found_.empty(); ++round) {
    std::vector<std::string> ready;
    for (const auto& [key, pod] : assumed_)
      if (flights_.at(pod->metadata.uid).waits.empty()) ready.push_back(key);
    for (const std::string& key : ready) end_binding(key, true);
    while (std::any_of(flights_.begin(), flights_.end(), [](const auto& f) { return f.second.gone; }))
      end_gone();
    pass_time();
    answer_held();
    failed_.clear();
    decide();
    settled = assumed_.empty() && std::none_of(asked_.begin(), asked_.end(), is_held);
  }
  if (!settled) return;
  for (const auto& [key, pod] : waiting_) {
    if (!PodLives::is_ours(*pod)) continue;
    const Refusal& last = refusals_[key];
    if (last.by_seat || failed_.contains(key)) continue;  // who has just failed waits for its backoff
    if (const reference::Answer now = reference::evaluate(cluster_, served(*pod).oracle, *pod);
        now.feasible > 0)
      tell(*pod, fmt::format("it waits, although {} of {} nodes would do; step {}: {}", now.feasible,
                             now.nodes.size(), last.step, last.message));
  }
}

void RandomWorld::compare(const api::Pod& probe, const Profile& profile) {
  if (!found_.empty() || cluster_.nodes.empty()) return;
  ClassState& state = world_.engine.evaluate(profile, std::make_shared<api::Pod>(probe));
  state.judge_refused();
  const reference::Answer expected =
      reference::evaluate(cluster_, served_.at(profile.scheduler_name).oracle, probe);
  if (const std::string error = state.diagnose().error; error != expected.error || !error.empty()) {
    if (error != expected.error)
      tell(probe,
           fmt::format("the engine fails with \"{}\",\n  the oracle with \"{}\"", error, expected.error));
    return;
  }
  const NodeTable& table = world_.engine.nodes();
  const VerdictTable& verdicts = world_.engine.context().verdicts;
  std::size_t seen = 0;
  for (Row row = 0; row < table.rows() && expected.prefilter_message.empty(); ++row) {
    const VerdictId id = state.verdict(row);
    if (id == kAbsent) continue;
    ++seen;
    const std::string name = table.name(row).str();
    const auto at = expected.nodes.find(name);
    if (at == expected.nodes.end()) return tell(probe, fmt::format("the engine knows a node {}", name));
    const auto rejected = id == kPass ? std::nullopt : rejection(profile, verdicts[id]);
    if (rejected != at->second.rejected)
      return tell(probe, fmt::format("{}:\n  engine: {}\n  oracle: {}", name, text(rejected),
                                     text(at->second.rejected)));
    if (rejected) ++met_[rejected->plugin].rejected;
    for (const auto& [plugin, s] : at->second.scores) met_[plugin].scored += s.final > 0;
    // One feasible node is not scored.
    if (rejected || expected.feasible == 1) continue;
    const std::string ours = scores(profile, state.explain(row)), theirs = scores(at->second.scores);
    if (state.score(row) != at->second.final || ours != theirs)
      return tell(probe, fmt::format("{}:\n  engine: {} of{}\n  oracle: {} of{}", name, state.score(row),
                                     ours, at->second.final, theirs));
  }
  if (expected.prefilter_message.empty() && seen != cluster_.nodes.size())
    return tell(probe, fmt::format("the engine knows {} nodes of {}", seen, cluster_.nodes.size()));
  if (state.feasible() != expected.feasible)
    return tell(probe, fmt::format("{} feasible nodes instead of {}", state.feasible(), expected.feasible));
  if (expected.feasible > 0) return;
  if (const Diagnosis why = state.diagnose(); !why.prefilter_message.empty()) {
    // It is said of all nodes.
    const std::string& by = expected.nodes.begin()->second.rejected->plugin;
    for (const auto& [name, node] : expected.nodes)
      if (node.rejected->plugin != by || node.rejected->reasons != std::vector{why.prefilter_message})
        return tell(probe, fmt::format("{}:\n  engine: {}\n  oracle: {}", name, why.prefilter_message,
                                       text(node.rejected)));
    PluginMask said = 0;
    for (std::size_t i = 0; i < profile.plugins.size(); ++i)
      if (profile.plugins[i].name == by) said = mask_of(static_cast<PluginIndex>(i));
    if ((why.rejectors & said) == 0)
      return tell(probe, fmt::format("{} does not count as who refused it", by));
    met_[by].rejected += expected.nodes.size();
  }
  if (const std::string message = fit_error(state.diagnose()); message != expected.message)
    tell(probe, fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", message, expected.message));
}

void RandomWorld::tell(const api::Pod& pod, const std::string& what) {
  if (!found_.empty()) return;
  found_ = fmt::format("seed {}, step {}, after\n  {}\npod {}: {}\n  {}", seed_, steps_,
                       fmt::join(last_changes_, "\n  "), pod.metadata.name, what, api::encode(pod));
  for (const auto& [name, node] : cluster_.nodes)
    if (what.starts_with(fmt::format("{}:", name)) ||
        what.find(fmt::format(" {},", name)) != std::string::npos) {
      found_ += fmt::format("\n  {}", api::encode(*node));
      for (const auto& [key, other] : cluster_.pods)
        if (other->spec.node_name == name) found_ += fmt::format("\n  {}", api::encode(*other));
      for (const auto& [key, other] : cluster_.nominated)
        if (other->status.nominated_node_name == name) found_ += fmt::format("\n  {}", api::encode(*other));
    }
}

}  // namespace koord::scheduling::test
