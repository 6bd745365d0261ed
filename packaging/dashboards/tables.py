"""What the dashboards show: one table a dashboard, a row a panel. `generate.py` makes Grafana's JSON of them; a test looks up each metric and
label in `koord docs`. A panel: (title, unit, [(query, legend)], kind, meaning). JOB stands for the role's own jobs, RATE for the interval of rates,
HIST(q, metric, by) for a percentile of a histogram, AVG(metric, by) for its mean."""

STAT, LINES, STACK, BARS = "stat", "timeseries", "stack", "bargauge"


def hist(quantile, metric, by=""):
    more = f", {by}" if by else ""
    return f"histogram_quantile({quantile}, sum(rate({metric}_bucket{{JOB}}[RATE])) by (le{more}))"


def percentiles(metric, by="", quantiles=(0.5, 0.9, 0.99)):
    legend = "".join(f" {{{{{label.strip()}}}}}" for label in by.split(",")) if by else ""
    return [(hist(quantile, metric, by), f"p{quantile * 100:g}{legend}") for quantile in quantiles]


def avg(metric, by, where=""):
    which = f"JOB, {where}" if where else "JOB"
    return f"sum(rate({metric}_sum{{{which}}}[RATE])) by ({by}) / sum(rate({metric}_count{{{which}}}[RATE])) by ({by})"


def rate(metric, by, where=""):
    which = f"JOB, {where}" if where else "JOB"
    return f"sum(rate({metric}{{{which}}}[RATE])) by ({by})"


def process(what):
    """Every role has these."""
    return (f"{what} itself", [
        ("CPU", "short", [("sum(rate(process_cpu_seconds_total{JOB}[RATE])) by (instance)", "{{instance}}")], LINES, "Cores that the process uses."),
        ("Memory", "bytes", [("sum(process_resident_memory_bytes{JOB}) by (instance)", "{{instance}}")], LINES, "Resident memory of the process."),
        ("Requests to the API server", "reqps", [(rate("rest_client_requests_total", "code, method"), "{{method}} {{code}}")], LINES, "By method and status."),
        ("Latency of the API server", "s", percentiles("rest_client_request_duration_seconds", "verb", (0.5, 0.99)), LINES, "As this process sees it."),
        ("Log lines lost", "short", [("sum(increase(koord_log_lines_lost_total{JOB}[RATE])) by (reason)", "{{reason}}")], LINES,
         "Lines that nobody will read: the reader of the log is too slow, or its disk is full."),
    ])


CLUSTER = [
    ("Lent", [
        ("CPU lent to batch work", "short", [('sum(slo_controller_node_extended_resource_allocatable_internal{resource="kubernetes.io/batch-cpu"})', "batch CPU"),
                                             ('sum(slo_controller_node_extended_resource_allocatable_internal{resource="kubernetes.io/mid-cpu"})', "mid CPU")],
         LINES, "What all nodes lend, as the manager worked it out last, in cores."),
        ("Memory lent", "bytes", [('sum(slo_controller_node_extended_resource_allocatable_internal{resource="kubernetes.io/batch-memory"})', "batch memory"),
                                  ('sum(slo_controller_node_extended_resource_allocatable_internal{resource="kubernetes.io/mid-memory"})', "mid memory")],
         LINES, "What all nodes lend, in bytes."),
        ("Nodes that lend batch CPU", "short", [('count(slo_controller_node_extended_resource_allocatable_internal{resource="kubernetes.io/batch-cpu"} > 0)', "nodes")],
         STAT, "None: ask koordlet whether it reports (koord explain says why)."),
        ("Nodes that lend less than they could", "percent", [("topk(10, koord_manager_node_overcommit_percent)", "{{node}}")], LINES,
         "Abnormal nodes, and what they lend of what they could."),
    ]),
    ("Asked and used", [
        ("Batch CPU asked", "short", [('sum(koordlet_container_resource_requests{resource="kubernetes.io/batch-cpu"}) by (unit)', "{{unit}}")], LINES,
         "What batch containers on all nodes ask of lent CPU."),
        ("CPU used", "short", [("sum(koordlet_node_used_cpu_cores)", "nodes"), ("sum(koordlet_be_suppress_ls_used_cpu_cores)", "latency-sensitive"),
                               ("sum(koordlet_be_suppress_be_used_cpu_cores)", "best-effort")], LINES, "Cores in use, all of them and by tier."),
        ("Memory used", "bytes", [("sum(koordlet_node_used_memory_bytes)", "nodes")], LINES, "Without reclaimable page cache."),
        ("Reclaimable by prediction", "short", [('sum(koordlet_node_predicted_resource_reclaimable{resource="cpu"}) by (predictor)', "{{predictor}}")], LINES,
         "What prod pods asked for and are predicted not to use."),
    ]),
    ("Done", [
        ("Pods placed", "short", [('sum(rate(scheduler_schedule_attempts_total{result="scheduled"}[RATE]))', "a second")], LINES, "By all schedulers."),
        ("Pods that wait", "short", [("sum(scheduler_pending_pods) by (queue)", "{{queue}}")], STACK, "By the scheduler's queue."),
        ("Pods evicted by agents", "short", [("sum(increase(koordlet_pod_eviction[RATE])) by (reason)", "{{reason}}")], LINES, "For want of CPU or memory on their nodes."),
        ("Pods evicted by the descheduler", "short", [("sum(increase(descheduler_pods_evicted[RATE])) by (strategy, result)", "{{strategy}} {{result}}")], LINES, ""),
    ]),
]

NODE = [
    ("Tiers", [
        ("CPU", "short", [("koordlet_node_used_cpu_cores{JOB}", "{{node}} used"), ("koordlet_be_suppress_ls_used_cpu_cores{JOB}", "{{node}} latency-sensitive"),
                          ("koordlet_be_suppress_be_used_cpu_cores{JOB}", "{{node}} best-effort"), ("koordlet_be_suppress_cpu_cores{JOB}", "{{node}} best-effort may use ({{type}})")],
         LINES, "What is used, and what suppression leaves best-effort work."),
        ("Memory", "bytes", [("koordlet_node_used_memory_bytes{JOB}", "{{node}}")], LINES, "Without reclaimable page cache."),
        ("Shared CPUs", "short", [("koordlet_cpuset_share_pool_cpu_cores{JOB}", "{{node}} latency-sensitive"), ("koordlet_cpuset_be_share_pool_cpu_cores{JOB}", "{{node}} best-effort")],
         LINES, "How many CPUs each tier shares."),
        ("What pods lose to others", "percentunit", [("koordlet_tier_interference{JOB}", "{{node}} {{qos}}")], LINES, "0 to 1, by class (gate PodInterference)."),
    ]),
    ("Waits", [
        ("Waits for a CPU by tier", "s", [("sum(rate(koordlet_cpu_wait_seconds_total{JOB}[RATE])) by (tier, runner)", "{{tier}} behind {{runner}}")], LINES,
         "Seconds waited a second, by who ran meanwhile (gate BECPUBlame)."),
        ("Caused by best-effort work", "s", percentiles("koordlet_cpu_wait_caused_seconds", "tier", (0.5, 0.99)), LINES, ""),
        ("Direct reclaim", "s", percentiles("koordlet_direct_reclaim_stall_seconds", "tier", (0.99,)), LINES, "How long tasks reclaimed memory themselves."),
        ("Block I/O", "s", percentiles("koordlet_block_io_latency_seconds", "tier", (0.5, 0.99)), LINES, "By the tier of who asked."),
        ("Pressure of pods", "percent", [('topk(10, koordlet_pod_psi{JOB, psi_precision="avg10", psi_degree="some"})', "{{pod_namespace}}/{{pod_name}} {{psi_resource_type}}")], LINES,
         "The ten that stall most (gate PSICollector)."),
        ("OOM kills", "short", [("sum(increase(koordlet_oom_kills_total{JOB}[RATE])) by (tier)", "{{tier}}")], LINES, ""),
    ]),
    ("Caches and bandwidth", [
        ("Memory bandwidth", "Bps", [("sum(koordlet_resctrl_memory_bandwidth{JOB}) by (qos, mb_type)", "{{qos}} {{mb_type}}")], LINES, "Gate ResctrlCollector."),
        ("Last-level cache", "bytes", [("sum(koordlet_resctrl_llc_occupancy{JOB}) by (qos)", "{{qos}}")], LINES, "Gate ResctrlCollector."),
        ("Cycles an instruction", "short", [('sum(koordlet_node_cpi{JOB, cpi_field="cycles"}) by (node) / sum(koordlet_node_cpi{JOB, cpi_field="instructions"}) by (node)', "{{node}}")], LINES,
         "Of all tasks of the node (gate CPICollector)."),
    ]),
    ("What the agent does", [
        ("Evictions", "short", [("sum(increase(koordlet_pod_eviction{JOB}[RATE])) by (reason)", "{{reason}}")], LINES, ""),
        ("Knobs held", "short", [("sum(koordlet_limited_groups{JOB}) by (node)", "{{node}}")], LINES, "Cgroup values that differ from what sets them free."),
        ("Writes", "ms", [(avg("koordlet_resource_update_duration_milliseconds", "type"), "{{type}}")], LINES, "How long a write to a cgroup file took."),
        ("Requests of the container runtime", "reqps", [(rate("koordlet_runtime_requests_total", "transport, stage, outcome"), "{{transport}} {{stage}} {{outcome}}")], LINES, ""),
        ("The runtime asks the agent", "short", [("koordlet_runtime_connected{JOB}", "{{node}} {{transport}}")], LINES,
         "0: new containers get their values after they started."),
        ("Collectors that do not work", "short", [("koordlet_collector_available{JOB} == 0", "{{node}} {{collector}}")], LINES, "On this kernel; the log says why."),
        ("Ticks late", "s", percentiles("koordlet_tick_lateness_seconds", "node", (0.99,)), LINES, ""),
        ("Devices", "short", [("sum(koordlet_devices{JOB}) by (type, healthy)", "{{type}} healthy: {{healthy}}")], LINES, "Gate Accelerators."),
        ("GPUs: cores", "percent", [("koordlet_node_gpu_core_usage{JOB}", "{{node}} {{gpu_minor}}")], LINES, "Gate Accelerators: what all processes use together."),
        ("GPUs: memory", "percent", [("100 * koordlet_node_gpu_memory_usage{JOB} / koordlet_node_gpu_memory_total{JOB}", "{{node}} {{gpu_minor}}")], LINES, "Gate Accelerators."),
        ("Parts of GPUs: memory", "percent", [("100 * hami_vgpu_memory_used_bytes{JOB} / (hami_vgpu_memory_limit_bytes{JOB} > 0)", "{{namespace}}/{{pod}} {{container}} {{vdevice_index}}")], LINES, "Gate HamiCoreVGPUMonitor: of what HAMi-core lets a container have."),
    ]),
    process("koordlet"),
]

SCHEDULER = [
    ("Summary", [
        ("Growth of the queue", "short", [('sum(rate(scheduler_queue_incoming_pods_total{JOB, queue="active"}[RATE])) - sum(rate(scheduler_schedule_attempts_total{JOB}[RATE]))', "")], STAT,
         "Pods that come a second less those that are tried."),
        ("Pods that wait for their turn", "short", [('sum(scheduler_pending_pods{JOB, queue="active"})', "")], STAT, ""),
        ("Mean time of an attempt that placed a pod", "s",
         [('sum(rate(scheduler_e2e_scheduling_duration_seconds_sum{JOB, result="scheduled"}[RATE])) / sum(rate(scheduler_e2e_scheduling_duration_seconds_count{JOB, result="scheduled"}[RATE]))', "")],
         STAT, ""),
        ("Attempts over --scheduling-timeout", "short", [("sum(increase(scheduler_scheduling_timeout{JOB}[RATE]))", "")], STAT, ""),
        ("Pods in a second", "reqps", [('sum(rate(scheduler_queue_incoming_pods_total{JOB, queue="active"}[RATE]))', "")], STAT, ""),
        ("Attempts a second", "reqps", [("sum(rate(scheduler_schedule_attempts_total{JOB}[RATE]))", "")], STAT, ""),
    ]),
    ("Queue and results", [
        ("Pods that wait", "short", [("scheduler_pending_pods{JOB}", "{{queue}}")], LINES, ""),
        ("Unschedulable pods by plugin", "short", [("scheduler_unschedulable_pods{JOB}", "{{plugin}} {{profile}}")], LINES, "Which plugin refused them."),
        ("Pods in, by event", "reqps", [(rate("scheduler_queue_incoming_pods_total", "queue, event", 'queue="active"'), "{{event}}")], LINES, "Why they are tried."),
        ("Pods back off, by event", "reqps", [(rate("scheduler_queue_incoming_pods_total", "queue, event", 'event!="PodAdd", queue="backoff"'), "{{event}}")], LINES, ""),
        ("Results", "percent", [(f'(sum(rate(scheduler_schedule_attempts_total{{JOB, result="{result}"}}[RATE])) / sum(rate(scheduler_schedule_attempts_total{{JOB}}[RATE]))) * 100', result)
                                for result in ("scheduled", "unschedulable", "error")], LINES, "Share of attempts."),
        ("Attempts by result", "reqps", [(rate("scheduler_schedule_attempts_total", "result"), "{{result}}")], LINES, ""),
        ("Preemption", "short", [("rate(scheduler_preemption_attempts_total{JOB}[RATE])", "attempts a second")], LINES, ""),
        ("An attempt", "s", percentiles("scheduler_scheduling_attempt_duration_seconds"), LINES, "Decision and binding."),
        ("From the queue to a node", "s", percentiles("scheduler_pod_scheduling_duration_seconds"), LINES, "All attempts included."),
        ("Attempts until a pod was bound", "short", percentiles("scheduler_pod_scheduling_attempts"), LINES, ""),
        ("Work under way", "short", [("scheduler_goroutines{JOB}", "{{operation}}"), ("scheduler_scheduler_goroutines{JOB}", "{{work}}")], LINES, ""),
        ("Errors with volumes", "short", [(rate("scheduler_volume_scheduling_stage_error_total", "operation"), "{{operation}}")], LINES, "koord counts them as results."),
    ]),
    ("Decisions", [
        ("A decision", "s", percentiles("scheduler_scheduling_algorithm_duration_seconds"), LINES, ""),
        ("Decisions a second", "reqps", [("sum(rate(scheduler_scheduling_algorithm_duration_seconds_count{JOB}[RATE]))", "decisions")], LINES, ""),
        ("Extension points, p99", "s", percentiles("scheduler_framework_extension_point_duration_seconds", "extension_point", (0.99,)), LINES, ""),
        ("Plugins, p99, the ten slowest", "s", [(f'topk(10, {hist(0.99, "scheduler_plugin_execution_duration_seconds", "plugin, extension_point")})', "{{plugin}} {{extension_point}}")], LINES, ""),
        ("Nodes looked at", "short", percentiles("scheduler_pod_scheduling_evaluated_nodes", quantiles=(0.5, 0.99)), LINES, ""),
        ("Nodes that would do", "short", percentiles("scheduler_pod_scheduling_feasible_nodes", quantiles=(0.5, 0.99)), LINES, ""),
        ("Waits for a permit", "s", percentiles("scheduler_permit_wait_duration_seconds", quantiles=(0.5, 0.99)), LINES, "Of gangs."),
        ("Extension points, mean", "s", [(avg("scheduler_framework_extension_point_duration_seconds", "extension_point"), "{{extension_point}}")], LINES, ""),
    ]),
    ("Quotas, gangs, reservations", [
        ("Quotas", "short", [("scheduler_elastic_quota_status{JOB}", "{{name}} {{resource}} {{field}}")], LINES, "What each says, asks for, uses and may use."),
        ("Quotas as they are written", "short", [("scheduler_elastic_quota_spec{JOB}", "{{name}} {{resource}} {{field}}")], LINES, "Of Koordinator; koord has it in the panel above."),
        ("Writing quotas' status", "s", percentiles("scheduler_update_elastic_quota_status_duration_seconds", quantiles=(0.5, 0.99)), LINES, ""),
        ("Work on quotas", "s", percentiles("scheduler_elastic_quota_process_latency", quantiles=(0.5, 0.99)), LINES, "Of Koordinator; koord measures none."),
        ("Hooks of quotas, p99", "s", percentiles("scheduler_elastic_quota_hook_plugin_latency", "plugin, operation", (0.99,)), LINES, "Of Koordinator; koord has none."),
        ("Quotas' rates", "reqps", [(f"rate({metric}_count{{JOB}}[RATE])", metric) for metric in (
            "scheduler_update_elastic_quota_status_duration_seconds", "scheduler_elastic_quota_process_latency", "scheduler_elastic_quota_hook_plugin_latency")], LINES, ""),
        ("Gangs that wait", "short", [("scheduler_waiting_gang_group_number{JOB}", "groups")], LINES, "With pods that wait for the others."),
        ("Reservations", "percentunit", [('scheduler_reservation_resource{JOB, type="utilization"}', "{{name}} {{resource}}")], LINES, "The share of a reservation that its pods have."),
        ("GPUs given twice", "short", [("scheduler_gpus_given_twice{JOB}", "{{node_name}}")], LINES, "By DeviceShare and by claims."),
    ]),
    ("Before and after a plugin", [
        ("Transformers, mean", "s", [(avg("scheduler_plugin_execution_duration_seconds", "plugin, extension_point",
                                         'extension_point=~"BeforePreFilter|AfterPreFilter|BeforeFilter|BeforeScore"'), "{{plugin}} {{extension_point}}")], LINES, ""),
        ("Transformers' calls", "reqps", [(rate("scheduler_plugin_execution_duration_seconds_count", "extension_point, plugin, status",
                                               'extension_point=~"BeforePreFilter|AfterPreFilter|BeforeFilter|BeforeScore"'), "{{plugin}} {{extension_point}} {{status}}")], LINES, ""),
    ]),
    process("The scheduler"),
]

MANAGER = [
    ("Nodes", [
        ("Writes of nodes", "reqps", [(rate("slo_controller_node_resource_reconcile_count", "status, reason"), "{{status}} {{reason}}")], LINES, ""),
        ("Plugins", "reqps", [(rate("slo_controller_node_resource_run_plugin_status", "plugin, status"), "{{plugin}} {{status}}")], LINES, "That work out what nodes have."),
        ("Writes of NodeMetrics", "reqps", [(rate("slo_controller_nodemetric_reconcile_count", "status, reason"), "{{status}} {{reason}}")], LINES, ""),
        ("Writes of NodeSLOs", "reqps", [(rate("slo_controller_nodeslo_reconcile_count", "status, reason"), "{{status}} {{reason}}")], LINES, ""),
    ]),
    ("Webhooks", [
        ("Requests", "reqps", [(rate("controller_runtime_webhook_requests_total", "webhook, code"), "{{webhook}} {{code}}")], LINES, "All but 200 are no verdicts."),
        ("Latency", "s", percentiles("controller_runtime_webhook_latency_seconds", "webhook", (0.5, 0.99)), LINES, ""),
        ("In flight", "short", [("sum(controller_runtime_webhook_requests_in_flight{JOB}) by (webhook)", "{{webhook}}")], LINES, ""),
        ("Plugins, mean", "ms", [(avg("koord_manager_webhook_webhook_duration_milliseconds", "plugin_name, status"), "{{plugin_name}} {{status}}")], LINES, ""),
    ]),
    ("Profiles and quotas", [
        ("Pods without their profile", "short", [("sum(increase(koord_manager_colocationprofile_missed_pods_total{JOB}[RATE])) by (profile)", "{{profile}}")], LINES, "They slipped past the webhook."),
        ("Pods that broke a rule", "short", [("sum(increase(koord_manager_colocationprofile_slipped_pods_total{JOB}[RATE])) by (rule)", "{{rule}}")], LINES, ""),
        ("Bindings", "reqps", [(rate("koord_manager_webhook_binding_admission_decisions_total", "decision"), "{{decision}}")], LINES, "By what was decided."),
        ("Devices of pods, unanswered", "reqps", [(rate("koord_manager_webhook_device_admission_failures_total", "reason, decision"), "{{decision}}: {{reason}}")], LINES, "Changes of which it could not be asked who may bind."),
        ("Writes of quota profiles", "reqps", [(rate("koord_manager_quota_profile_writes_total", "status, object"), "{{object}} {{status}}")], LINES, ""),
    ]),
    process("The manager"),
]

DESCHEDULER = [
    ("Evictions", [
        ("All", "short", [("sum(descheduler_pods_evicted{JOB})", "")], STAT, ""),
        ("Done", "short", [('sum(descheduler_pods_evicted{JOB, result="success"})', "")], STAT, ""),
        ("Failed", "short", [('sum(descheduler_pods_evicted{JOB, result="error"})', "")], STAT, ""),
        ("A second", "short", [("sum(rate(descheduler_pods_evicted{JOB}[RATE]))", "")], STAT, ""),
        ("By result", "short", [(rate("descheduler_pods_evicted", "result"), "{{result}}")], LINES, ""),
        ("By strategy", "short", [(rate("descheduler_pods_evicted", "strategy"), "{{strategy}}")], LINES, ""),
        ("By node, the ten first", "short", [(f'topk(10, {rate("descheduler_pods_evicted", "node")})', "{{node}}")], LINES, ""),
        ("By namespace, the ten first", "short", [(f'topk(10, {rate("descheduler_pods_evicted", "namespace")})', "{{namespace}}")], LINES, ""),
        ("Done, by strategy", "short", [(rate("descheduler_pods_evicted", "strategy", 'result="success"'), "{{strategy}}")], LINES, ""),
        ("Failed, by strategy", "short", [(rate("descheduler_pods_evicted", "strategy", 'result="error"'), "{{strategy}}")], LINES, ""),
        ("Over the limit of a node", "short", [(rate("descheduler_pods_evicted", "node", 'result="maximum number of pods per node reached"'), "{{node}}")], LINES, ""),
        ("Over the limit of a namespace", "short", [(rate("descheduler_pods_evicted", "namespace", 'result="maximum number of pods per namespace reached"'), "{{namespace}}")], LINES, ""),
        ("So far, by strategy", "short", [("sum(descheduler_pods_evicted{JOB}) by (strategy)", "{{strategy}}")], LINES, ""),
        ("So far, by strategy, node, namespace and result", "short", [("sum by (strategy, node, namespace, result) (increase(descheduler_pods_evicted{JOB}[RANGE]))",
                                                                      "{{strategy}} {{node}} {{namespace}} {{result}}")], BARS, ""),
    ]),
    ("Passes", [
        ("Passes", "short", [(rate("koord_descheduler_passes_total", "result"), "{{result}}")], LINES, ""),
        ("Age of the last one", "s", [("koord_descheduler_last_pass_age_seconds{JOB}", "{{instance}}")], LINES, ""),
        ("A pass", "s", percentiles("koord_descheduler_pass_duration_seconds", quantiles=(0.5, 0.99)), LINES, ""),
        ("Pods that plugins chose", "short", [(rate("koord_descheduler_chosen_pods_total", "strategy, result"), "{{strategy}} {{result}}")], LINES, "And what became of them."),
    ]),
    process("The descheduler"),
]

KOORD = [
    ("Versions", [
        ("Processes by version", "short", [("count(kubernetes_build_info{JOB}) by (git_version)", "{{git_version}}")], LINES, "While roles are rolled out there are two."),
        ("Restarts", "short", [("changes(process_start_time_seconds{JOB}[RATE])", "{{job}} {{instance}}")], LINES, ""),
        ("Open files", "percentunit", [("process_open_fds{JOB} / process_max_fds{JOB}", "{{job}} {{instance}}")], LINES, "Of those that a process may have."),
        ("Connections dropped", "short", [(rate("koord_server_dropped_connections_total", "reason"), "{{reason}}")], LINES, "Of the roles' ports."),
        ("Gates without their part", "short", [("koordlet_feature_gate_available{JOB} == 0", "{{node}} {{gate}}")], LINES, "Switched on, and without effect in this version."),
    ]),
    ("The CRI proxy", [
        ("Calls passed", "reqps", [("sum(rate(koord_runtimeproxy_relayed_calls_total{JOB}[RATE])) by (instance)", "{{instance}}")], LINES, ""),
        ("Calls of hook servers", "reqps", [(rate("koord_runtimeproxy_hook_calls_total", "stage, result"), "{{stage}} {{result}}")], LINES, ""),
        ("Hook servers", "s", percentiles("koord_runtimeproxy_hook_seconds", "stage", (0.99,)), LINES, ""),
        ("Without their hook", "short", [("sum(increase(koord_runtimeproxy_unhooked_total{JOB}[RATE])) by (stage)", "{{stage}} went on"),
                                        ("sum(increase(koord_runtimeproxy_refused_total{JOB}[RATE])) by (stage)", "{{stage}} refused")], LINES, ""),
        ("The runtime answers", "short", [("koord_runtimeproxy_backend_up{JOB}", "{{instance}}")], LINES, ""),
    ]),
    ("The device daemon", [
        ("Accelerators", "short", [("sum(koord_device_daemon_devices{JOB}) by (vendor, healthy)", "{{vendor}} healthy: {{healthy}}")], LINES, ""),
        ("Failures", "short", [("sum(increase(koord_device_daemon_failures_total{JOB}[RATE])) by (vendor)", "{{vendor}}")], LINES, ""),
    ]),
    process("A role"),
]

# file -> (title, the metric whose jobs are chosen from, rows)
DASHBOARDS = {
    "koord-cluster": ("koord: the cluster", None, CLUSTER),
    "koord-node": ("koord: nodes", "koordlet_start_time", NODE),
    "koord-scheduler": ("koord: the scheduler", "scheduler_schedule_attempts_total", SCHEDULER),
    "koord-manager": ("koord: the manager and its webhooks", "slo_controller_nodemetric_reconcile_count", MANAGER),
    "koord-descheduler": ("koord: the descheduler", "descheduler_pods_evicted", DESCHEDULER),
    "koord-itself": ("koord itself", "kubernetes_build_info", KOORD),
}
