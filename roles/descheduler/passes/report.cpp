// Tables of a pass's report.
#include "passes/report.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::descheduler {

KOORD_SCHEMA(ReportedPod, ROW(namespace_).wire("namespace"), ROW(name), ROW(uid),
             ROW(node).doc("Where it is; empty: nowhere."), ROW(profile),
             ROW(plugin).doc("Who wanted it to go."), ROW(reason).doc("Why."),
             ROW(refused).doc("Why it stays."),
             ROW(to).doc("Of a dry run: the node that it would go to; empty: none has room."));
KOORD_SCHEMA(ReportedLoad, ROW(requested).doc("Percent of what the node may give."),
             ROW(requested_after).wire("requestedAfter"), ROW(used).doc("By its NodeMetric."),
             ROW(used_after).wire("usedAfter"));
KOORD_SCHEMA(ReportedNode, ROW(name), ROW(pods).always(), ROW(pods_after).wire("podsAfter").always(),
             ROW(cpu), ROW(memory));
KOORD_SCHEMA(ReportedSpread, ROW(resource), ROW(nodes).always().doc("That say what they use."),
             ROW(mean).always().doc("Percent of what nodes may give."), ROW(highest).always(),
             ROW(highest_after).wire("highestAfter").always(),
             ROW(deviation).always().doc("The standard one."),
             ROW(deviation_after).wire("deviationAfter").always());
KOORD_SCHEMA(ReportedError, ROW(profile), ROW(plugin), ROW(point).doc("deschedule or balance."), ROW(error));
KOORD_SCHEMA(PassReport, ROW(number).doc("Of this process, from 1."), ROW(began),
             ROW(took).doc("By the clock, evictions included."),
             ROW(dry_run).always().doc("Nothing was evicted, whatever stands here."),
             ROW(skipped).doc("Why nothing was looked at."), ROW(nodes).always(), ROW(ready_nodes).always(),
             ROW(pods).always(), ROW(node_metrics).always().doc("Nodes whose usage is known."),
             ROW(gone).always().doc("Pods that were made to go, or would be."),
             ROW(stay).always().doc("Pods that plugins wanted to go, and that stay."),
             ROW(evicted).doc("The first 500 of those that go."), ROW(refused).doc("And of those that stay."),
             ROW(errors).doc("Plugins that failed."),
             ROW(notes).doc("What of the scheduler's does not count where pods fit."),
             ROW(changed).doc("Of a dry run: the first 500 nodes that it would change."),
             ROW(spread).doc("Of a dry run: how evenly nodes are used, before and after."));
KOORD_SCHEMA(PassReports, ROW(passes).doc("The last ten, the newest first."));

}  // namespace koord::descheduler
