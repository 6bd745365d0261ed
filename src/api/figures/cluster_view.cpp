// The schema tables of cluster_view.hpp; reasons as people read them.
#include "koord/api/figures/cluster_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/table.hpp"

namespace koord::figures {

KOORD_SCHEMA(Amount, ROW(cpu_cores).always().doc("CPUs."),
             ROW(memory_bytes).always().doc("Bytes of memory."));
KOORD_SCHEMA(TierRow,
             ROW(name).doc("koord-prod, koord-mid, koord-batch, koord-free, none (no class), system."),
             ROW(pods).always().doc("Pods of the class that agents have reported."),
             ROW(used).doc("What they use."));
KOORD_SCHEMA(
    NodeRow, ROW(name).doc("The node's name."),
    ROW(state).doc("ready, cordoned, NotReady, no report, or how old its report is."),
    ROW(ready).always().doc("By its condition Ready."),
    ROW(cordoned).doc("It takes no new pods (spec.unschedulable)."),
    ROW(reported).doc("When its NodeMetric was written last; absent: never, and its use is not known."),
    ROW(capacity).doc("What the machine has."), ROW(used).doc("What all that runs there uses."),
    ROW(lent).doc("What it lends to batch pods now."),
    ROW(asked).doc("What the batch pods that are on it ask for."),
    ROW(over_asked).doc("They ask for more than it lends now."),
    ROW(tiers).doc("What its pods use, by class."));
KOORD_SCHEMA(QuotaRow, ROW(name).doc("The ElasticQuota's name."), ROW(parent).doc("The quota above it."),
             ROW(min).doc("What it is sure of."), ROW(used).doc("What its pods have."),
             ROW(requested).doc("What its pods ask for, those that wait with them."),
             ROW(may_use).doc("What it may use now (its runtime); absent: it shares with nobody."),
             ROW(lent_cpu_cores).always().doc("CPUs of its min that others may use."),
             ROW(borrowed_cpu_cores).always().doc("CPUs that it uses beyond its min."),
             ROW(waiting).always().doc("Pods that it refuses now."));
KOORD_SCHEMA(
    GangRow, ROW(name).doc("NAMESPACE/NAME."),
    ROW(state).doc("complete, waiting (for nodes), short (of members), ended, or that it does not exist."),
    ROW(min).doc("So many start together; absent: nobody says it."),
    ROW(pods).always().doc("Members that have not ended."),
    ROW(placed).always().doc("Those that are on nodes."), ROW(waiting).always().doc("Those that wait."),
    ROW(since).doc("When the oldest of those was made."),
    ROW(why).doc("What the scheduler says of one of those."));
KOORD_SCHEMA(ReservationRow, ROW(name).doc("The Reservation's name."),
             ROW(phase).doc("Pending, Available, Succeeded, Failed or Waiting."),
             ROW(node).doc("The node that it keeps room on."), ROW(created).doc("When it was made."),
             ROW(reserved).doc("What it keeps."), ROW(used).doc("What pods have of it."),
             ROW(owners).always().doc("Pods that have room of it."),
             ROW(why).doc("Why it waits for a node."));
KOORD_SCHEMA(WaitRow, ROW(why).doc("What the scheduler says of them."),
             ROW(pods).always().doc("Pods and reservations of which it says that."),
             ROW(examples).doc("Some of them."), ROW(oldest).doc("When the oldest was made."));
KOORD_SCHEMA(MissingRow, ROW(kind).doc("gang or quota."), ROW(name).doc("The name that pods say."),
             ROW(pods).always().doc("Pods that wait and name it."));
KOORD_SCHEMA(ClusterView, ROW(server).doc("The API server's URL."), ROW(time).doc("When that was."),
             ROW(ready).always().doc("Nodes that are ready."),
             ROW(reporting).always().doc("Nodes whose agent has reported in the last three minutes."),
             ROW(silent).always().doc("Nodes whose agent never has."),
             ROW(lending).always().doc("Nodes that lend batch CPU."),
             ROW(over_asked).always().doc("Nodes that are asked for more than they lend."),
             ROW(waiting_pods).always().doc("Pods that wait for a node."),
             ROW(waiting_reservations).always().doc("Reservations that wait for a node."),
             ROW(capacity).doc("Of the nodes that have reported."), ROW(used).doc("Of the same nodes."),
             ROW(unknown).doc("The capacity of nodes that have never reported."),
             ROW(lent).doc("What all nodes lend to batch pods."),
             ROW(asked).doc("What batch pods on nodes ask for."), ROW(batch_used).doc("What batch pods use."),
             ROW(tiers).doc("What pods use, by class."), ROW(nodes).doc("Each node, by name."),
             ROW(quotas).doc("Each ElasticQuota, whom most pods wait for first."),
             ROW(gangs).doc("Each gang, those that wait first."),
             ROW(reservations).doc("Each Reservation that has not ended."),
             ROW(waiting).doc("Why pods and reservations wait, most first."),
             ROW(more_waiting).doc("How many wait for further reasons."),
             ROW(missing).doc("Groups that waiting pods name and that are not there."),
             ROW(notes).doc("What could not be read."));

std::string reason_first(std::string_view message) {
  // "0/12 nodes are available: REASONS. preemption: ..."
  const auto slash = message.find('/');
  constexpr std::string_view kAvailable = " nodes are available: ";
  const auto available = message.find(kAvailable);
  const auto number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (available == std::string_view::npos || slash == std::string_view::npos || slash > available ||
      !number(message.substr(0, slash)) || !number(message.substr(slash + 1, available - slash - 1)))
    return std::string(message);
  std::string_view reasons = message.substr(available + kAvailable.size());
  reasons = reasons.substr(0, reasons.find(". preemption:"));
  reasons = reasons.substr(0, reasons.find(" preemption:"));
  while (!reasons.empty() && (reasons.back() == '.' || reasons.back() == ' ' || reasons.back() == ','))
    reasons.remove_suffix(1);
  if (reasons.empty()) return std::string(message);
  return fmt::format("{} ({} nodes)", reasons, message.substr(0, available));
}

std::string age(std::chrono::seconds seconds) {
  const std::int64_t count = std::max<std::int64_t>(seconds.count(), 0);
  if (count < 120) return fmt::format("{}s", count);
  if (count < 7'200) return fmt::format("{}m", count / 60);
  return count < 172'800 ? fmt::format("{}h", count / 3'600) : fmt::format("{}d", count / 86'400);
}

}  // namespace koord::figures
