// KubeSchedulerConfiguration's tables.
#include "koord/api/schema/table.hpp"
#include "koord/scheduling/config/config.hpp"

namespace koord::scheduling {

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
KOORD_SCHEMA(ExtenderTlsConfig, ROW(insecure).doc("The server's certificate is not verified."),
             ROW(server_name).doc("What the certificate must be for; empty: the URL's host."), ROW(cert_file),
             ROW(key_file), ROW(ca_file), ROW(cert_data).doc("Instead of the file; base64, as the others."),
             ROW(key_data), ROW(ca_data));
KOORD_SCHEMA(ExtenderManagedResource, ROW(name).required().doc("An extended resource."),
             ROW(ignored_by_scheduler).doc("NodeResourcesFit does not look at it."));
KOORD_SCHEMA(Extender, ROW(url_prefix).wire("urlPrefix").required().doc("Where it answers."),
             ROW(filter_verb).doc("Behind the URL for that; empty: it does not filter. So the other verbs."),
             ROW(preempt_verb), ROW(prioritize_verb),
             ROW(weight).doc("Its scores, 0 to 10, count so many times as much as a plugin's of 0 to 100."),
             ROW(bind_verb).doc("It binds pods; one of all extenders may."),
             ROW(enable_https)
                 .wire("enableHTTPS")
                 .doc("Without a CA the certificate is not verified. TLS follows from the URL."),
             ROW(tls_config), ROW(http_timeout).wire("httpTimeout").doc("For each call; 5s."),
             ROW(node_cache_capable).doc("It is given names and not nodes."),
             ROW(managed_resources).doc("It is asked about pods with one of these alone; none: about all."),
             ROW(ignorable).doc("If it fails, it is as if it were not there."));
KOORD_OBJECT(
    KubeSchedulerConfiguration, api::Kind("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"),
    ROW(parallelism).doc("Accepted and ignored: one thread decides."), ROW(leader_election),
    ROW(client_connection), ROW(enable_profiling), ROW(enable_contention_profiling),
    ROW(percentage_of_nodes_to_score)
        .doc("1 to 99: stop looking when so many of the nodes are feasible. 0: look at all of them."),
    ROW(pod_initial_backoff_seconds), ROW(pod_max_backoff_seconds),
    ROW(profiles).doc("One scheduler name each."),
    ROW(extenders).doc("HTTP servers that are asked about pods, as kube-scheduler asks them."),
    ROW(delay_cache_until_active));

}  // namespace koord::scheduling
