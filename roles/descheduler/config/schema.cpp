// DeschedulerConfiguration's tables.
#include "config/config.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::descheduler {

KOORD_SCHEMA(PluginRef, ROW(name).required().doc("Name of the plugin; \"*\" under disabled means all."));
KOORD_SCHEMA(PluginSet, ROW(enabled).doc("Plugins besides the default ones."),
             ROW(disabled).doc("Default plugins that are left out."));
KOORD_SCHEMA(Plugins, ROW(deschedule).doc("Who looks for pods that should not be where they are; none."),
             ROW(balance).doc("Who spreads or packs load; none."),
             ROW(evict).doc("Who makes pods go, exactly one; MigrationController."),
             ROW(filter).doc("Who has to agree that a pod may go; MigrationController."));
KOORD_SCHEMA(PluginConfig, ROW(name).required().doc("The plugin that is configured."),
             ROW(args).doc("Its arguments."), NO_ROW(decoded));
KOORD_SCHEMA(ProfileConfig, ROW(name).doc("Whose events they are; koord-descheduler, if it is the only one."),
             ROW(plugin_config).doc("Arguments of plugins."),
             ROW(plugins).doc("Plugins enabled and disabled by extension point."),
             ROW(node_selector).doc("Of the configuration's nodes those that the profile looks at; all."));
KOORD_OBJECT(
    DeschedulerConfiguration, descheduler_kind("DeschedulerConfiguration"), ROW(leader_election),
    ROW(client_connection), ROW(enable_profiling).doc("Accepted: no profiles are served."),
    ROW(enable_contention_profiling).doc("Accepted: no profiles are served."),
    ROW(healthz_bind_address)
        .doc("Where the plain port is opened, instead of --address and --port, unless those are given; "
             "0.0.0.0:10251. Port 0: nowhere."),
    ROW(metrics_bind_address).doc("The same; where it differs a second port is opened."),
    ROW(descheduling_interval).doc("From the beginning of a pass to that of the next; 0s: one pass is made."),
    ROW(dry_run).doc("Passes say what they would evict, and nothing is evicted."),
    ROW(profiles).doc("In the order in which they are asked."),
    ROW(node_selector).doc("The nodes that are looked at; all."),
    ROW(max_no_of_pods_to_evict_per_node).doc("In one pass; as many as plugins choose."),
    ROW(max_no_of_pods_to_evict_per_namespace).doc("In one pass; as many as plugins choose."),
    ROW(max_no_of_pods_to_evict_total).doc("In one pass; as many as plugins choose."));

}  // namespace koord::descheduler
