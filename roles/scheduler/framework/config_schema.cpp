// KubeSchedulerConfiguration's tables.
#include "framework/config.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::scheduler {

KOORD_SCHEMA(PluginRef, ROW(name).required().doc("Name of the plugin; \"*\" under disabled means all."),
             ROW(weight).doc("Weight of a score plugin."));
KOORD_SCHEMA(PluginSet, ROW(enabled).doc("Plugins besides the default ones, or in another order."),
             ROW(disabled).doc("Default plugins that are left out."));
KOORD_SCHEMA(Plugins, ROW(pre_enqueue), ROW(queue_sort), ROW(pre_filter), ROW(filter), ROW(post_filter),
             ROW(pre_score), ROW(score), ROW(reserve), ROW(permit), ROW(pre_bind), ROW(bind), ROW(post_bind),
             ROW(multi_point).doc("Plugins at every point that they implement."));
KOORD_SCHEMA(PluginConfig, ROW(name).required().doc("The plugin that is configured."),
             ROW(args).doc("Its arguments."), NO_ROW(decoded));
KOORD_SCHEMA(ProfileConfig, ROW(scheduler_name).doc("The pods' spec.schedulerName that it serves."),
             ROW(percentage_of_nodes_to_score)
                 .doc("Stop looking when so many of the nodes are feasible; overrides the global one."),
             ROW(plugins).doc("Plugins enabled and disabled by extension point."),
             ROW(plugin_config).doc("Arguments of plugins."));
KOORD_OBJECT(
    KubeSchedulerConfiguration, api::Kind("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"),
    ROW(parallelism).doc("Accepted and ignored: one thread decides."), ROW(leader_election),
    ROW(client_connection), ROW(enable_profiling), ROW(enable_contention_profiling),
    ROW(percentage_of_nodes_to_score)
        .doc("1 to 99: stop looking when so many of the nodes are feasible. 0: look at all of them."),
    ROW(pod_initial_backoff_seconds), ROW(pod_max_backoff_seconds),
    ROW(profiles).doc("One scheduler name each."),
    ROW(extenders).doc("Not served yet: an error if any is given."), ROW(delay_cache_until_active));

}  // namespace koord::scheduler
