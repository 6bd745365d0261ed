// The schema tables of explanation.hpp, and the same as text.
#include "koord/scheduling/what_if/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/figures/cluster_view.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::scheduling::explain {

KOORD_SCHEMA(RefusalView, ROW(plugin).doc("The filter that refuses it; empty: a step before the filters."),
             ROW(reasons).doc("In its words."), ROW(nodes).always().doc("So many nodes."),
             ROW(examples).doc("Some of them."),
             ROW(preemption_may_help).always().doc("Pods that go would change it."));
KOORD_SCHEMA(PluginScoreView, ROW(plugin).doc("The plugin."), ROW(score).always().doc("0 to 100."),
             ROW(weight).always().doc("What it is multiplied by."));
KOORD_SCHEMA(NodeScoreView, ROW(node).doc("The node."), ROW(total).always().doc("The sum, weights counted."),
             ROW(plugins).doc("What each plugin gives."));
KOORD_SCHEMA(ChangeView,
             ROW(kind).doc("request, taint, unschedulable, nodeSelector, nodeAffinity, podAffinity, "
                           "podAntiAffinity, topologySpreadConstraint, hostPort or volume."),
             ROW(subject).doc("Of what: the resource, the taint, ..."),
             ROW(asked).doc("Of a request: what it is."),
             ROW(at_most).doc("Of a request: the most that would fit."));
KOORD_SCHEMA(RemedyView, ROW(changes).doc("All of them together make it fit."),
             ROW(nodes).always().doc("On so many nodes."), ROW(examples).doc("Some of them."),
             ROW(sentence).doc("The same in words."));
KOORD_SCHEMA(NodeKindView, ROW(like).doc("A node of the kind."),
             ROW(nodes).always().doc("So many are like it."),
             ROW(allocatable).doc("What it has of what the pod asks for."),
             ROW(fits).always().doc("One more of them, empty, would take the pod."),
             ROW(plugin).doc("Else who refuses it."), ROW(reasons).doc("Why."));
KOORD_SCHEMA(VictimView, ROW(pod).doc("NAMESPACE/NAME."), ROW(priority).always().doc("Its priority."),
             ROW(node).doc("Where it is, if a gang's are on several."));
KOORD_SCHEMA(PreemptionView, ROW(node).doc("Where it would go; empty: it would preempt nobody."),
             ROW(job).doc("For whom they go, if not for the pod alone."),
             ROW(victims).doc("Who would be removed."), ROW(message).doc("Why nobody."));
KOORD_SCHEMA(ExplanationView, ROW(pod).doc("NAMESPACE/NAME, or reservation:NAME."),
             ROW(exists).always().doc("The cluster has it; false: it is a manifest's."),
             ROW(scheduler_name).doc("As the pod says it."), ROW(profile).doc("Whose rules were asked."),
             ROW(priority).always().doc("The pod's."), ROW(node).doc("The node that it is on."),
             ROW(outcome).doc("placed, fits, unschedulable, gated, ending, finished, invalid or unserved."),
             ROW(summary).doc("Sentences."), ROW(nodes).always().doc("Nodes of the cluster."),
             ROW(pods).always().doc("Pods of the cluster that have not ended."),
             ROW(feasible).always().doc("Nodes that would do."),
             ROW(best).doc("The best of them, and the one that it is on."),
             ROW(equally_good).doc("So many are as good as the first."),
             ROW(prefilter_message).doc("Why no node is looked at."),
             ROW(refused).doc("Nodes that refuse it, by reason."),
             ROW(reservations).doc("Some that are for it, or that it names."),
             ROW(more_reservations).doc("So many more."),
             ROW(reservation).doc("The one that was asked about."),
             ROW(message).doc("What the scheduler says of an attempt now."),
             ROW(remedies).doc("What would make it fit, each alone."),
             ROW(hopeless).doc("Who refuses it whatever it is changed to."),
             ROW(node_kinds).doc("What a further node would do."),
             ROW(preemption).doc("Whom it would preempt."),
             ROW(attempts).doc("What a running scheduler remembers, the oldest first."),
             ROW(notes).doc("What limits the answer."));

namespace {

std::string count(std::int64_t n, std::string_view one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

/// "n1, n2, n3 and 4 more"
std::string nodes_text(const std::vector<std::string>& examples, std::int64_t nodes) {
  const auto more = nodes - static_cast<std::int64_t>(examples.size());
  if (more <= 0) return fmt::format("{}", fmt::join(examples, ", "));
  return fmt::format("{} and {} more", fmt::join(examples, ", "), more);
}

void refusals(std::string& out, const std::vector<RefusalView>& all) {
  for (const RefusalView& r : all)
    out +=
        fmt::format("  {}: {}{}: {}\n", count(r.nodes, "node"), fmt::join(r.reasons, ", "),
                    r.plugin.empty() ? "" : fmt::format(" ({})", r.plugin), nodes_text(r.examples, r.nodes));
}

/// Whether the nodes that are shown differ in it.
bool tells_apart(const ExplanationView& v, std::size_t plugin) {
  return std::ranges::any_of(v.best, [&](const NodeScoreView& n) {
    return plugin < n.plugins.size() && n.plugins[plugin].score != v.best.front().plugins[plugin].score;
  });
}

void scores(std::string& out, const ExplanationView& v, bool wide) {
  out +=
      fmt::format("\nScores (0 to 100, times the plugin's weight; the most wins), {} of {} that would do:\n",
                  v.best.size(), count(v.feasible, "node"));
  std::vector<std::vector<std::string>> table{{"NODE", "TOTAL"}};
  const std::size_t plugins = v.best.front().plugins.size();
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < plugins; ++i)
    if (wide || tells_apart(v, i)) shown.push_back(i);
  for (const std::size_t i : shown) {
    const PluginScoreView& p = v.best.front().plugins[i];
    table[0].push_back(p.weight == 1 ? p.plugin : fmt::format("{}*{}", p.plugin, p.weight));
  }
  for (const NodeScoreView& n : v.best) {
    auto& row = table.emplace_back();
    row = {n.node == v.node ? fmt::format("{} (it is here)", n.node) : n.node, fmt::to_string(n.total)};
    for (const std::size_t i : shown)
      if (i < n.plugins.size()) row.push_back(fmt::to_string(n.plugins[i].score));
  }
  for (const auto& row : table) {
    out += " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::size_t width = 0;
      for (const auto& other : table)
        if (i < other.size()) width = std::max(width, other[i].size());
      out += i + 1 == row.size() ? fmt::format(" {}", row[i]) : fmt::format(" {:<{}} ", row[i], width);
    }
    out += '\n';
  }
  if (shown.size() < plugins)
    out += fmt::format("  The other {} plugins tell none of them apart (-o wide).\n", plugins - shown.size());
}

void attempt(std::string& out, const AttemptRecord& a) {
  const std::string when =
      a.times == 1 ? a.last.to_string()
                   : fmt::format("{} to {}, {} times", a.first.to_string(), a.last.to_string(), a.times);
  out += fmt::format("  {}: {}{}{}\n", when, a.outcome, a.node.empty() ? "" : fmt::format(" on {}", a.node),
                     a.message.empty() ? "" : fmt::format(": {}", figures::reason_first(a.message)));
  for (const RefusalRecord& r : a.refused)
    out += fmt::format("    {}: {} ({}): {}\n", count(r.nodes, "node"), fmt::join(r.reasons, ", "), r.plugin,
                       nodes_text(r.examples, r.nodes));
  if (a.scores.empty()) return;
  std::vector<std::string> scores;
  scores.reserve(a.scores.size());
  for (const ScoreRecord& s : a.scores)
    scores.push_back(fmt::format("{} {}*{}", s.plugin, s.score, s.weight));
  out += fmt::format("    scores: {}\n", fmt::join(scores, ", "));
}

std::string served(bool serves, const std::vector<std::string>& reasons) {
  return serves ? "would serve it" : fmt::format("does not serve it: {}", fmt::join(reasons, ", "));
}

void reservation(std::string& out, const ReservationView& r) {
  if (!r.users.empty()) out += "\nPods that have room of it:\n";
  for (const ReservationUserView& user : r.users)
    out += fmt::format("  {}: {}\n", user.pod, amounts_text(user.has));
  if (!r.owners.empty()) out += "\nPods that it is for and that have none of it:\n";
  for (const ReservationOwnerView& owner : r.owners)
    out += owner.node.empty()
               ? fmt::format("  {} waits: {}\n", owner.pod, served(owner.serves, owner.reasons))
               : fmt::format("  {} is on {}\n", owner.pod, owner.node);
  if (r.more_owners > 0) out += fmt::format("  and {} more\n", r.more_owners);
}

/// What the scheduler says, less of whom it would preempt where a line of its own tells that.
std::string_view without_preemption(const ExplanationView& v) {
  constexpr std::string_view kPreemption = "preemption: ";
  const std::string_view said = v.message;
  const auto at = said.find(kPreemption);
  if (at == std::string_view::npos) return said;
  const bool is_told = std::ranges::any_of(v.preemption, [&](const PreemptionView& p) {
    return p.node.empty() && said.substr(at + kPreemption.size())
                                 .starts_with(std::string_view(p.message).substr(0, p.message.find("; ")));
  });
  return is_told ? said.substr(0, said.substr(0, at).find_last_not_of(' ') + 1) : said;
}

}  // namespace

std::string render(const ExplanationView& v, bool wide) {
  std::string out;
  for (const std::string& sentence : v.summary) out += fmt::format("{}\n", sentence);
  for (const ReservationView& r : v.reservation) reservation(out, r);
  if (!v.reservations.empty()) out += "\nReservations that are for it, or that it names:\n";
  for (const MatchedReservationView& r : v.reservations)
    out += fmt::format("  {}{}: {}{}\n", r.name, r.node.empty() ? "" : fmt::format(" on {}", r.node),
                       served(r.serves, r.reasons),
                       r.left.empty() ? "" : fmt::format("; left of it: {}", amounts_text(r.left)));
  if (v.more_reservations > 0) out += fmt::format("  and {} more\n", v.more_reservations);
  if (!v.refused.empty()) {
    out += fmt::format("\nNodes that refuse it, by the first plugin that does:\n");
    refusals(out, v.refused);
  }
  if (!v.best.empty()) scores(out, v, wide);
  if (!v.remedies.empty()) {
    out += "\nIt would fit if (each line alone is enough, and nothing less of it):\n";
    for (const RemedyView& r : v.remedies)
      out += fmt::format("  - {}: {}\n", r.sentence, nodes_text(r.examples, r.nodes));
  }
  if (!v.hopeless.empty()) {
    out += v.remedies.empty() ? "\nNo change of the pod would make it fit:\n"
                              : "\nWhatever the pod is changed to, these refuse it:\n";
    refusals(out, v.hopeless);
  }
  if (!v.node_kinds.empty()) {
    out += "\nA further node, empty and ready:\n";
    for (const NodeKindView& k : v.node_kinds) {
      const std::string like = fmt::format("like {} ({}{})", k.like, k.allocatable,
                                           k.nodes == 1 ? "" : fmt::format("; {} are like it", k.nodes));
      if (k.fits)
        out += fmt::format("  - {}: would take it\n", like);
      else
        out += fmt::format("  - {}: would not: {}{}\n", like, fmt::join(k.reasons, ", "),
                           k.plugin.empty() ? "" : fmt::format(" ({})", k.plugin));
    }
  }
  for (const PreemptionView& p : v.preemption) {
    if (p.node.empty()) {
      out += fmt::format("\nPreemption: it would preempt nobody: {}\n", figures::reason_first(p.message));
      continue;
    }
    std::vector<std::string> victims;
    victims.reserve(p.victims.size());
    for (const VictimView& victim : p.victims)
      victims.push_back(
          p.job.empty() ? fmt::format("{} (priority {})", victim.pod, victim.priority)
                        : fmt::format("{} (priority {}, on {})", victim.pod, victim.priority, victim.node));
    if (!p.job.empty()) {
      out += fmt::format(
          "\nPreemption: for all pods of its gang ({}) {} would be removed: {}; it would go to {}\n", p.job,
          count(static_cast<std::int64_t>(victims.size()), "pod"), fmt::join(victims, ", "), p.node);
      continue;
    }
    out += fmt::format("\nPreemption: its priority is {}; it would have {} removed from {}: {}\n", v.priority,
                       count(static_cast<std::int64_t>(victims.size()), "pod"), p.node,
                       fmt::join(victims, ", "));
  }
  if (const std::string_view said = without_preemption(v); !said.empty())
    out += fmt::format("\nWhat the scheduler says of an attempt now:\n  {}\n", figures::reason_first(said));
  if (!v.attempts.empty()) out += "\nWhat the running scheduler remembers, the oldest first:\n";
  for (const AttemptRecord& a : v.attempts) attempt(out, a);
  if (!v.notes.empty()) out += '\n';
  for (const std::string& note : v.notes) out += fmt::format("Note: {}\n", note);
  return out;
}

}  // namespace koord::scheduling::explain
