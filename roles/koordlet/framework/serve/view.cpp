// The schema tables of view.hpp.
#include "framework/serve/view.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::koordlet {

KOORD_SCHEMA(UsageView, ROW(cpu_cores).doc("CPUs, over the last tick."),
             ROW(memory_bytes).doc("Without page cache."), ROW(memory_with_page_cache_bytes),
             ROW(throttled_ratio).doc("Throttled periods per period."));
KOORD_SCHEMA(LatencyView, ROW(p50_us).wire("p50Microseconds").always(),
             ROW(p90_us).wire("p90Microseconds").always(), ROW(p99_us).wire("p99Microseconds").always(),
             ROW(mean_us).wire("meanMicroseconds").always(), ROW(waits).always().doc("How many."));
KOORD_SCHEMA(LimitsView, ROW(cpu_cores), ROW(memory_bytes));
KOORD_SCHEMA(TierView, ROW(name).doc("LS, BE or system."), ROW(pods).always(), ROW(usage), ROW(limits),
             ROW(run_queue_latency));
KOORD_SCHEMA(StrategyView, ROW(name), ROW(enabled).always().doc("By its feature gate."), ROW(active).always(),
             ROW(summary),
             ROW(held_seconds).doc("How long it has not been able to tell, an input being unknown."));
KOORD_SCHEMA(SuppressionView, ROW(strategy), ROW(knob), ROW(cgroup), ROW(value).doc("In cgroup v1's terms."),
             ROW(reason), ROW(in_force).always().doc("The file holds it."),
             ROW(held).doc("Wanted earlier; the strategy cannot tell now."));
KOORD_SCHEMA(FailureView, ROW(knob), ROW(cgroup), ROW(error), ROW(attempts).always());
KOORD_SCHEMA(SourceView, ROW(name), ROW(ok).always(), ROW(error), ROW(last_good));
KOORD_SCHEMA(CollectorView, ROW(name), ROW(works).always(), ROW(reason).doc("Why not."));
KOORD_SCHEMA(RunnerView, ROW(name).doc("LSE, LSR, LS, BE, system or nobody."), ROW(seconds).always());
KOORD_SCHEMA(BlameView, ROW(period_seconds).always(),
             ROW(waits).always().doc("How many, without those by the waiters' own quotas."),
             ROW(runners).doc("Who ran while LSE, LSR and LS tasks waited."),
             ROW(caused_seconds)
                 .always()
                 .doc("By best-effort work, there or on another CPU that the waiter may use as well."),
             ROW(own_quota_seconds)
                 .always()
                 .doc("While somebody ran, of tasks whose own quota was used up within the last quarter of a "
                      "second: nobody caused that."),
             ROW(best_effort_p99_us)
                 .wire("bestEffortP99Microseconds")
                 .always()
                 .doc("Of what best-effort work caused of each wait."),
             ROW(fit).always().doc("For somebody who acts on it."), ROW(why_unfit));
KOORD_SCHEMA(InterferenceView, ROW(name).doc("Of the class."),
             ROW(all).always().doc("Of what could have been done of late the share that was lost to others."),
             ROW(run_queue).doc("Waits for a CPU."), ROW(memory).doc("Waits for memory."),
             ROW(io).doc("Waits for block devices."),
             ROW(cpi).doc("Cycles beyond those of the median of half an hour."));
KOORD_SCHEMA(NodeView, ROW(name), ROW(version), ROW(time), ROW(tick).always(), ROW(cgroup_version),
             ROW(cgroup_driver), ROW(capacity), ROW(allocatable),
             ROW(reserved_cpu_cores).wire("reservedCPUCores").always(), ROW(usage), ROW(tiers),
             ROW(complete).always().doc("Everything was read in the last tick."), ROW(slo_known).always(),
             ROW(strategies), ROW(suppressed), ROW(failures), ROW(sources), ROW(collectors), ROW(blame),
             ROW(interference).doc("By class."));
KOORD_SCHEMA(ContainerView, ROW(name), ROW(id), ROW(limits), ROW(usage), ROW(run_queue_latency));
KOORD_SCHEMA(PodView, ROW(ns).wire("namespace"), ROW(name), ROW(uid),
             ROW(qos).doc("With the default where the pod has no label."), ROW(kube_qos).wire("kubeQOS"),
             ROW(priority_class), ROW(cgroup), ROW(usage), ROW(limits), ROW(run_queue_latency),
             ROW(best_effort_wait_seconds)
                 .doc("How long its tasks waited by best-effort work's doing, over the last seconds."),
             ROW(interference), ROW(suppressed), ROW(containers));
KOORD_SCHEMA(PodListView, ROW(node), ROW(time), ROW(pods_known).always(), ROW(pods).always(),
             ROW(host_applications));

}  // namespace koord::koordlet
