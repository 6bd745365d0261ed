// Explains a pod: see explain.hpp.
#include "koord/scheduling/what_if/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "koord/api/figures/cluster_view.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/config/unserved.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"
#include "koord/scheduling/what_if/pod_changes.hpp"
#include "koord/scheduling/what_if/what_if.hpp"
#include "scheduling/what_if/lent.hpp"
#include "scheduling/what_if/reservation_plugin.hpp"

namespace koord::scheduling::explain {

namespace {

using Kind = PodChange::Kind;

constexpr std::size_t kExamples = 3;
/// So many of the reservations that are for a pod are shown.
constexpr std::size_t kReservations = 20;

std::string plural(std::size_t n, std::string_view one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

std::string ago(WallTime then, WallTime now) {
  const auto seconds =
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - then).count());
  if (seconds < 120) return plural(static_cast<std::size_t>(seconds), "second");
  if (seconds < 7200) return plural(static_cast<std::size_t>(seconds / 60), "minute");
  if (seconds < 172800) return plural(static_cast<std::size_t>(seconds / 3600), "hour");
  return plural(static_cast<std::size_t>(seconds / 86400), "day");
}

/// What the change is, behind "if it" or "if".
std::string clause(const PodChange& c, std::string_view at_most, const std::string& asked) {
  switch (c.kind) {
    case Kind::request:
      if (at_most == "0")
        return fmt::format("it asked for no {} (it asks for {})", people_call(c.subject), asked);
      return fmt::format("it asked for at most {} of {} (it asks for {})", at_most, people_call(c.subject),
                         asked);
    case Kind::taint:
      return fmt::format("it tolerated the taint {} (or the node did not have it)", c.subject);
    case Kind::cordon: return "the node were uncordoned";
    case Kind::selector: return fmt::format("its nodeSelector did not want {}", c.subject);
    case Kind::expression: return fmt::format("its node affinity did not want {}", c.subject);
    case Kind::pod_affinity: return fmt::format("it did not have to be beside {}", c.subject);
    case Kind::pod_anti_affinity: return fmt::format("it did not have to keep away from {}", c.subject);
    case Kind::spread: return fmt::format("it did not have to be spread with {}", c.subject);
    case Kind::host_port: return fmt::format("it did not want the host port {}", c.subject);
    case Kind::volume: return fmt::format("it did not have the volume {}", c.subject);
  }
  return "";
}

class Explaining {
 public:
  Explaining(Engine& engine, const Question& question)
      : engine_(engine), nodes_(engine.nodes()), question_(question), given_(*question.pod) {
    const auto& profiles = engine.profiles();
    const auto of_name = std::find_if(profiles.begin(), profiles.end(), [&](const Profile& p) {
      return given_.spec.scheduler_name == p.scheduler_name;
    });
    known_ = of_name != profiles.end();
    profile_ = known_ ? &*of_name : &profiles.front();
    what_ = described(given_);
    what_.front() = static_cast<char>(what_.front() - 'a' + 'A');
    // As it would wait for a node.
    auto waits = std::make_shared<api::Pod>(given_);
    waits->spec.node_name = {};
    waits->spec.scheduler_name = profile_->scheduler_name;
    waits->spec.scheduling_gates = {};
    waits->status = {};
    waits->metadata.deletion_timestamp.reset();
    pod_ = std::move(waits);
  }

  ExplanationView run() {
    v_.pod = pod_key(given_);
    v_.exists = question_.exists;
    v_.scheduler_name = given_.spec.scheduler_name.str();
    v_.profile = profile_->scheduler_name;
    v_.priority = given_.spec.priority.value_or(0);
    v_.node = given_.spec.node_name.str();
    v_.nodes = nodes_.nodes();
    v_.pods = static_cast<std::int64_t>(engine_.pods());
    engine_.remove_pod(given_);
    if (is_finished(given_)) {
      v_.outcome = "finished";
      say("{} has ended ({}): it takes no room and is not placed again.", what_, given_.status.phase.view());
      return std::move(v_);
    }
    question_.progress("judging the nodes");
    judge();
    if (!v_.node.empty()) {
      placed();
    } else {
      waiting();
    }
    for (std::string& sentence : reservations_.summary) v_.summary.push_back(std::move(sentence));
    v_.reservations = std::move(reservations_.matched);
    // Those that serve it come first.
    std::ranges::stable_partition(v_.reservations, std::identity(), &MatchedReservationView::serves);
    if (v_.reservations.size() > kReservations) {
      v_.more_reservations = static_cast<std::int64_t>(v_.reservations.size() - kReservations);
      v_.reservations.resize(kReservations);
    }
    if ((v_.feasible == 0 || (v_.outcome == "placed" && !here_)) && may_go_on()) seek();
    if (v_.feasible == 0 && v_.outcome != "placed" && nodes_.nodes() > 0 && may_go_on()) attempt();
    notes();
    return std::move(v_);
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    v_.summary.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  std::string node_name(Row row) const { return nodes_.name(row).str(); }
  std::vector<std::string> examples(const std::vector<Row>& rows) const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < std::min(rows.size(), kExamples); ++i) out.push_back(node_name(rows[i]));
    return out;
  }
  RefusalView refusal(const Verdict& verdict, const std::vector<Row>& rows) const {
    return {.plugin = verdict.plugin == kNoPlugin ? "" : std::string(profile_->plugin_name(verdict.plugin)),
            .reasons = verdict.reasons,
            .nodes = static_cast<std::int64_t>(rows.size()),
            .examples = examples(rows),
            .preemption_may_help = !verdict.unresolvable && !verdict.error};
  }

  bool may_go_on() {
    gave_up_ = gave_up_ || question_.give_up();
    return !gave_up_;
  }

  void judge() {
    ClassState& state = engine_.evaluate(*profile_, pod_);
    state.judge_refused();
    const std::optional<Diagnosis> unwanted = engine_.refusal(*profile_, pod_);
    v_.feasible = unwanted ? 0 : state.feasible();
    const Diagnosis diagnosis = unwanted ? *unwanted : state.diagnose();
    if (!diagnosis.error.empty()) v_.prefilter_message = diagnosis.error;
    if (!diagnosis.prefilter_message.empty()) v_.prefilter_message = diagnosis.prefilter_message;
    ask_about_reservations(state);
    if (!v_.prefilter_message.empty()) {
      for (PluginMask left = diagnosis.rejectors; left != 0; left &= left - 1)
        rejecting_.emplace_back(profile_->plugin_name(static_cast<PluginIndex>(std::countr_zero(left))));
      return;
    }
    std::map<VerdictId, std::vector<Row>> by_verdict;
    std::vector<std::pair<std::int32_t, Row>> feasible;
    for (Row row = 0; row < nodes_.rows(); ++row) {
      if (!nodes_.node(row)) continue;
      const VerdictId verdict = state.verdict(row);
      if (verdict == kPass) {
        feasible.emplace_back(state.score(row), row);
      } else {
        by_verdict[verdict].push_back(row);
      }
      if (node_name(row) == v_.node) {
        here_ = verdict == kPass;
        refused_here_ = engine_.context().verdicts[verdict];
      }
    }
    for (const auto& [verdict, rows] : by_verdict)
      v_.refused.push_back(refusal(engine_.context().verdicts[verdict], rows));
    std::stable_sort(v_.refused.begin(), v_.refused.end(),
                     [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
    std::stable_sort(feasible.begin(), feasible.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      const auto& [score, row] = feasible[i];
      v_.equally_good += score == feasible.front().first;
      const bool here = node_name(row) == v_.node;
      if (here)
        place_ = static_cast<std::size_t>(std::count_if(feasible.begin(), feasible.end(),
                                                        [&](const auto& f) { return f.first > score; })) +
                 1;
      if (i < question_.best || here) v_.best.push_back(scores(state, row));
    }
  }

  void ask_about_reservations(ClassState& state) {
    const auto* const plugin = reservation_plugin(*profile_);
    if (plugin == nullptr) return;
    const PodInfo pod = make_pod_info(pod_, engine_.context().nodes.resources());
    reservations_ = plugin->reservations_for(pod, [&](Row row) {
      if (!v_.prefilter_message.empty()) return std::vector<std::string>{v_.prefilter_message};
      const VerdictId verdict = state.verdict(row);
      return verdict == kPass ? std::vector<std::string>() : engine_.context().verdicts[verdict].reasons;
    });
  }

  NodeScoreView scores(ClassState& state, Row row) const {
    const Explanation e = state.explain(row);
    NodeScoreView out{.node = node_name(row), .total = e.total, .plugins = {}};
    for (const ScoreDetail& s : e.scores)
      out.plugins.push_back({std::string(profile_->plugin_name(s.plugin)), s.normalized, s.weight});
    std::sort(out.plugins.begin(), out.plugins.end(),
              [](const auto& a, const auto& b) { return a.plugin < b.plugin; });
    return out;
  }

  void placed() {
    v_.outcome = "placed";
    say("{} is on node {}.", what_, v_.node);
    if (nodes_.find(v_.node) == kNoRow || !nodes_.node(nodes_.find(v_.node)))
      return say("There is no node of this name (any more).");
    if (!here_) {
      if (v_.prefilter_message.empty())
        say("If it were placed today, {} would refuse it: {} ({}). That does not move a pod that is there.",
            v_.node, fmt::join(refused_here_.reasons, ", "), profile_->plugin_name(refused_here_.plugin));
      else
        say("If it were placed today, it would fit nowhere: {} ({}). That does not move a pod that is there.",
            v_.prefilter_message, fmt::join(rejecting_, ", "));
      return;
    }
    const auto mine = std::find_if(v_.best.begin(), v_.best.end(),
                                   [&](const NodeScoreView& n) { return n.node == v_.node; });
    if (v_.feasible == 1)
      return say("It is the only one of {} that would do.", plural(nodes_.nodes(), "node"));
    if (mine->total == v_.best.front().total && v_.equally_good == 1)
      return say("It is the best of the {} that would do, with {} points.",
                 plural(static_cast<std::size_t>(v_.feasible), "node"), mine->total);
    if (mine->total == v_.best.front().total)
      return say(
          "It is one of {} that are equally good ({} points), of {} that would do: one of them is drawn.",
          plural(static_cast<std::size_t>(v_.equally_good), "node"), mine->total, v_.feasible);
    say("If it were placed today, it would go to {} ({} points): {} has {} points, place {} of {} that would "
        "do. The cluster was another one when it was placed.",
        v_.best.front().node, v_.best.front().total, v_.node, mine->total, place_, v_.feasible);
  }

  void waiting() {
    const std::size_t gates = given_.spec.scheduling_gates.size();
    v_.outcome = v_.feasible > 0 ? "fits" : "unschedulable";
    if (given_.metadata.deletion_timestamp) {
      v_.outcome = "ending";
      say("{} is being deleted: no scheduler places it any more.", what_);
    } else if (gates > 0) {
      v_.outcome = "gated";
      std::vector<std::string_view> names;
      for (const auto& gate : given_.spec.scheduling_gates) names.push_back(gate.name.view());
      say("{} is held back by {} ({}): no scheduler looks at it until whoever set {} takes {} away.", what_,
          plural(gates, "scheduling gate"), fmt::join(names, ", "), gates == 1 ? "it" : "them",
          gates == 1 ? "it" : "them");
    }
    const std::string pod = v_.summary.empty() ? what_ : std::string("It");
    const std::string would = v_.outcome == "gated" || v_.outcome == "ending" ? " would fit" : " fits";
    if (nodes_.nodes() == 0) {
      say("{}{} nowhere: the cluster has no nodes.", pod, would);
    } else if (!v_.prefilter_message.empty()) {
      say("{}{} on none of {}, and none is looked at: {} ({}).", pod, would, plural(nodes_.nodes(), "node"),
          v_.prefilter_message, fmt::join(rejecting_, ", "));
    } else if (v_.feasible == 0) {
      say("{}{} on none of {}.", pod, would, plural(nodes_.nodes(), "node"));
    } else {
      say("{}{} on {} of {} now.", pod, would, v_.feasible, plural(nodes_.nodes(), "node"));
      if (v_.equally_good > 1)
        say("{} of them are equally good ({} points): one of these is drawn.", v_.equally_good,
            v_.best.front().total);
      else
        say("{} is the best of them, with {} points.", v_.best.front().node, v_.best.front().total);
    }
    if (v_.feasible == 0)
      for (std::string& sentence : about_lent(engine_, given_, question_.now))
        v_.summary.push_back(std::move(sentence));
    ask_who_admits();
    if (v_.feasible > 0 && !held_ && gates == 0 && !given_.metadata.deletion_timestamp && may_go_on())
      try_group();
    if (question_.exists) why_pending();
  }

  bool take(AdmitExplainPlugin::Admission said) {
    for (std::string& sentence : said.summary) v_.summary.push_back(std::move(sentence));
    return said.waits;
  }

  /// Quotas and gangs, in their own words.
  void ask_who_admits() {
    const PodInfo pod = make_pod_info(pod_, engine_.context().nodes.resources());
    for (const Profile::Named& named : profile_->plugins)
      if (auto* const plugin = dynamic_cast<AdmitExplainPlugin*>(named.plugin.get()))
        held_ = take(plugin->explain_admission(pod)) || held_;
  }

  /// What fits alone need not fit with those that it is placed with.
  void try_group() {
    const PodInfo pod = make_pod_info(pod_, engine_.context().nodes.resources());
    engine_.put_pod(pod_);
    if (std::ranges::none_of(profile_->groups, [&](const auto& p) { return p.plugin->leads_group(pod); }))
      return;
    question_.progress("trying those that are placed with it");
    const std::vector<Decision> decisions = engine_.try_now(*pod_);
    if (decisions.empty() || decisions.front().kind() == Decision::Kind::bind ||
        decisions.front().kind() == Decision::Kind::wait)
      return;
    held_ = true;
    v_.message = decisions.front().message();
    say("Together they fit nowhere now.");
    say_of_attempt(pod);
    say_of_preemption(decisions);
  }
  void say_of_attempt(const PodInfo& pod) {
    for (const Profile::Named& named : profile_->plugins)
      if (auto* const plugin = dynamic_cast<AdmitExplainPlugin*>(named.plugin.get()))
        for (std::string& sentence : plugin->explain_attempt(pod)) v_.summary.push_back(std::move(sentence));
  }

  /// What a pod that waits waits for, besides nodes.
  void why_pending() {
    if (!known_) {
      std::vector<std::string_view> names;
      for (const Profile& p : engine_.profiles()) names.push_back(p.scheduler_name);
      say("It waits for a scheduler named \"{}\"; this configuration serves {}. If no other scheduler of "
          "that "
          "name runs, nobody will ever place it.",
          v_.scheduler_name, fmt::join(names, ", "));
    }
    if (v_.outcome == "gated" || v_.outcome == "ending") return;
    const auto& conditions = given_.status.conditions;
    const auto c = std::find_if(conditions.begin(), conditions.end(),
                                [](const api::PodCondition& each) { return each.type == "PodScheduled"; });
    if (c == conditions.end()) {
      say("No scheduler has said anything about it yet{}.",
          v_.feasible > 0 && !held_ ? ": see whether one runs and holds its lease" : "");
    } else {
      say("The scheduler's last word about it (its condition {}, false for {}): {}: {}",
          is_placeholder(given_) ? "Scheduled" : "PodScheduled",
          ago(c->last_transition_time.wall(), question_.now), c->reason.view(),
          figures::reason_first(c->message.view()));
      if (v_.feasible > 0 && !held_) say("That is not so any more: it is tried again within minutes.");
    }
    if (!given_.status.nominated_node_name.empty())
      say("It is nominated to {}: it waits for room there, most often for pods that were asked to go.",
          given_.status.nominated_node_name.view());
    if (question_.ahead > 0)
      say("{} before it in the queue, by priority and age.",
          question_.ahead == 1 ? std::string("One pod that waits comes")
                               : fmt::format("{} pods that wait come", question_.ahead));
  }

  void seek() {
    if (nodes_.nodes() == 0) return;
    question_.progress("looking for what would have to change");
    WhatIf what_if(engine_, *profile_, pod_, question_.give_up);
    what_if.search();
    const PodChanges& changes = what_if.changes();
    for (const Remedy& remedy : what_if.remedies()) {
      RemedyView out{.changes = {},
                     .nodes = static_cast<std::int64_t>(remedy.rows.size()),
                     .examples = examples(remedy.rows),
                     .sentence = {}};
      std::vector<std::string> clauses;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        if ((remedy.changes & change(i)) == 0) continue;
        const PodChange& c = changes[i];
        ChangeView view{.kind = std::string(name(c.kind)), .subject = c.subject, .asked = {}, .at_most = {}};
        const auto amount = std::find_if(remedy.amounts.begin(), remedy.amounts.end(),
                                         [&](const auto& a) { return a.first == i; });
        if (c.kind == Kind::request) {
          view.asked = amount_text(c.subject, c.asked);
          view.at_most = amount_text(c.subject, amount == remedy.amounts.end() ? 0 : amount->second);
        }
        const bool lent = c.kind == Kind::request && is_lent(c.subject) && amount != remedy.amounts.end() &&
                          amount->second > 0;
        clauses.push_back(clause(c, lent ? people_count(c.subject, amount->second) : view.at_most,
                                 is_lent(c.subject) ? people_count(c.subject, c.asked) : view.asked));
        out.changes.push_back(std::move(view));
      }
      out.sentence = fmt::format("{}", fmt::join(clauses, ", and "));
      v_.remedies.push_back(std::move(out));
    }
    for (const Hopeless& h : what_if.hopeless()) v_.hopeless.push_back(refusal(h.verdict, h.rows));
    if (changes.cut())
      v_.notes.push_back(
          "The pod could be changed in more ways than were looked at: the nodes have many taints.");
    question_.progress("looking for a node that would help");
    for (const NodeKind& kind : what_if.node_kinds()) {
      NodeKindView out{.like = node_name(kind.like),
                       .nodes = kind.nodes,
                       .allocatable = allocatable(kind.like),
                       .fits = kind.fits,
                       .plugin = {},
                       .reasons = {}};
      if (!kind.fits && !kind.prefilter.empty()) {
        out.reasons = {kind.prefilter};
      } else if (!kind.fits) {
        out.reasons = kind.verdict.reasons;
        if (kind.verdict.plugin != kNoPlugin) out.plugin = profile_->plugin_name(kind.verdict.plugin);
      }
      v_.node_kinds.push_back(std::move(out));
    }
    gave_up_ = what_if.gave_up();
  }

  /// What the pod asks for, and cpu and memory in any case.
  std::string allocatable(Row row) const {
    std::vector<std::string> parts;
    const api::ResourceList& all = nodes_.node(row)->status.allocatable;
    for (const auto& [resource, amount] : all) {
      const bool asked = std::any_of(
          pod_->spec.containers.begin(), pod_->spec.containers.end(),
          [&](const api::Container& c) { return c.resources.requests.contains(resource.view()); });
      if (asked || resource == "cpu" || resource == "memory")
        parts.push_back(is_lent(resource.view())
                            ? fmt::format("{} of {} at most", people_count(resource.view(), amount.value()),
                                          people_call(resource.view()))
                            : fmt::format("{} {}", resource.view(), amount.to_string()));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  /// The attempt itself, with all that comes after the filters.
  void attempt() {
    question_.progress("trying what it would preempt");
    engine_.put_pod(pod_);
    const std::vector<Decision> decisions = engine_.try_now(*pod_);
    if (decisions.empty()) return;
    v_.message = decisions.front().message();
    say_of_attempt(make_pod_info(pod_, engine_.context().nodes.resources()));
    say_of_preemption(decisions);
  }
  /// Each of a profile's plugins that make room has its say, and often the same.
  static std::string told_of_preemption(std::string_view message) {
    constexpr std::string_view kBegin = "preemption: ", kNext = ", preemption: ";
    if (const auto at = message.find(kBegin); at != std::string_view::npos)
      message.remove_prefix(at + kBegin.size());
    std::vector<std::string_view> said;
    while (true) {
      const auto end = message.find(kNext);
      if (const auto one = message.substr(0, end); std::ranges::find(said, one) == said.end())
        said.push_back(one);
      if (end == std::string_view::npos) break;
      message.remove_prefix(end + kNext.size());
    }
    return fmt::format("{}", fmt::join(said, "; "));
  }
  void say_of_preemption(const std::vector<Decision>& decisions) {
    const auto tried =
        std::ranges::find_if(decisions, [](const Decision& d) { return d.preemption().tried; });
    if (tried == decisions.end()) return;
    const Preemption& preemption = tried->preemption();
    PreemptionView& out = v_.preemption.emplace_back();
    if (preemption.victims.empty()) {
      out.message = told_of_preemption(tried->message());
      return;
    }
    Symbol node = tried->nominate().value_or(Symbol());
    for (const Preemption::Nominated& other : preemption.nominations)
      if (other.pod->metadata.uid == pod_->metadata.uid) node = other.node;
    out.node = node.str();
    if (preemption.job != text(placed_name(*tried->pod))) out.job = preemption.job;
    for (const Preemption::Victim& victim : preemption.victims)
      out.victims.push_back({listed(*victim.pod), victim.pod->spec.priority.value_or(0),
                             out.job.empty() ? std::string() : victim.pod->spec.node_name.str()});
  }

  void notes() {
    if (gave_up_)
      v_.notes.push_back(
          "too much to answer in the time that this question has: what else would have to change, and what "
          "the pod would preempt, was not looked at to the end");
    if (question_.defaults)
      v_.notes.push_back(
          "the configuration that the scheduler runs with is not known: the nodes were judged with koord's "
          "defaults; --config names another one");
    if (!known_)
      v_.notes.push_back(
          fmt::format("no profile of this configuration is named \"{}\": the nodes were judged with {}'s",
                      v_.scheduler_name, v_.profile));
    if (const std::string what = unserved(*profile_, *pod_); !what.empty()) v_.notes.push_back(what);
    if (!profile_->missing.empty())
      v_.notes.push_back(fmt::format("plugins that koord does not have yet were not asked: {}",
                                     fmt::join(profile_->missing, ", ")));
  }

  Engine& engine_;
  const NodeTable& nodes_;
  const Question& question_;
  const api::Pod& given_;
  std::shared_ptr<const api::Pod> pod_;
  const Profile* profile_;
  bool known_ = false;
  bool here_ = false;  // it fits where it is
  bool gave_up_ = false;
  bool held_ = false;     // a quota or a gang holds it back, whatever nodes there are
  Verdict refused_here_;  // else
  std::string what_;      // "Pod default/p"
  std::vector<std::string_view> rejecting_;
  PodReservations reservations_;
  std::size_t place_ = 0;  // among those that would do, of the node that it is on
  ExplanationView v_;
};

}  // namespace

ExplanationView explain(Engine& engine, const Question& question) {
  return Explaining(engine, question).run();
}

}  // namespace koord::scheduling::explain
