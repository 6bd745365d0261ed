// KubeSchedulerConfiguration's tables.
#include "framework/config.hpp"

namespace koord::api {

namespace sched = koord::scheduler;

template <>
const Schema& schema<sched::PluginRef>() {
  using T = sched::PluginRef;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required().doc("Name of the plugin; \"*\" under disabled means all."),
      KOORD_FIELD(weight, "weight").doc("Weight of a score plugin."),
  };
  static const Schema kSchema("Plugin", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<sched::PluginSet>() {
  using T = sched::PluginSet;
  static constexpr Field kRows[] = {
      KOORD_FIELD(enabled, "enabled").doc("Plugins besides the default ones, or in another order."),
      KOORD_FIELD(disabled, "disabled").doc("Default plugins that are left out."),
  };
  static const Schema kSchema("PluginSet", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<sched::Plugins>() {
  using T = sched::Plugins;
  static constexpr Field kRows[] = {
      KOORD_FIELD(pre_enqueue, "preEnqueue"),
      KOORD_FIELD(queue_sort, "queueSort"),
      KOORD_FIELD(pre_filter, "preFilter"),
      KOORD_FIELD(filter, "filter"),
      KOORD_FIELD(post_filter, "postFilter"),
      KOORD_FIELD(pre_score, "preScore"),
      KOORD_FIELD(score, "score"),
      KOORD_FIELD(reserve, "reserve"),
      KOORD_FIELD(permit, "permit"),
      KOORD_FIELD(pre_bind, "preBind"),
      KOORD_FIELD(bind, "bind"),
      KOORD_FIELD(post_bind, "postBind"),
      KOORD_FIELD(multi_point, "multiPoint").doc("Plugins at every point that they implement."),
  };
  static const Schema kSchema("Plugins", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<sched::PluginConfig>() {
  using T = sched::PluginConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required().doc("The plugin that is configured."),
      KOORD_FIELD(args, "args").doc("Its arguments."),
  };
  static const Schema kSchema("PluginConfig", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<sched::ProfileConfig>() {
  using T = sched::ProfileConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(scheduler_name, "schedulerName").doc("The pods' spec.schedulerName that it serves."),
      KOORD_FIELD(percentage_of_nodes_to_score, "percentageOfNodesToScore")
          .doc("Stop looking when so many of the nodes are feasible; overrides the global one."),
      KOORD_FIELD(plugins, "plugins").doc("Plugins enabled and disabled by extension point."),
      KOORD_FIELD(plugin_config, "pluginConfig").doc("Arguments of plugins."),
  };
  static const Schema kSchema("KubeSchedulerProfile", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<sched::LeaderElectionSettings>() {
  using T = sched::LeaderElectionSettings;
  static constexpr Field kRows[] = {
      KOORD_FIELD(leader_elect, "leaderElect").doc("Only the holder of the lease schedules."),
      KOORD_FIELD(lease_duration, "leaseDuration").doc("How long others wait before they take over."),
      KOORD_FIELD(renew_deadline, "renewDeadline").doc("How long the holder tries to renew."),
      KOORD_FIELD(retry_period, "retryPeriod").doc("Between tries."),
      KOORD_FIELD(resource_lock, "resourceLock").doc("\"leases\" is the only kind."),
      KOORD_FIELD(resource_name, "resourceName").doc("Name of the Lease."),
      KOORD_FIELD(resource_namespace, "resourceNamespace").doc("Namespace of the Lease."),
  };
  static const Schema kSchema("LeaderElectionConfiguration", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<sched::ClientConnection>() {
  using T = sched::ClientConnection;
  static constexpr Field kRows[] = {
      KOORD_FIELD(kubeconfig, "kubeconfig").doc("Path of a kubeconfig file; empty: in-cluster."),
      KOORD_FIELD(accept_content_types, "acceptContentTypes").doc("Accepted and ignored: JSON is used."),
      KOORD_FIELD(content_type, "contentType").doc("Accepted and ignored: JSON is used."),
      KOORD_FIELD(qps, "qps").doc("Requests a second."),
      KOORD_FIELD(burst, "burst").doc("Requests at once beyond that."),
  };
  static const Schema kSchema("ClientConnectionConfiguration", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<sched::KubeSchedulerConfiguration>() {
  using T = sched::KubeSchedulerConfiguration;
  static constexpr Kind kKind{.group = "kubescheduler.config.k8s.io",
                              .version = "v1",
                              .kind = "KubeSchedulerConfiguration",
                              .plural = "",
                              .singular = ""};
  static constexpr Field kRows[] = {
      KOORD_FIELD(parallelism, "parallelism").doc("Accepted and ignored: one thread decides."),
      KOORD_FIELD(leader_election, "leaderElection"),
      KOORD_FIELD(client_connection, "clientConnection"),
      KOORD_FIELD(enable_profiling, "enableProfiling"),
      KOORD_FIELD(enable_contention_profiling, "enableContentionProfiling"),
      KOORD_FIELD(percentage_of_nodes_to_score, "percentageOfNodesToScore")
          .doc("1 to 99: stop looking when so many of the nodes are feasible. 0: look at all of them."),
      KOORD_FIELD(pod_initial_backoff_seconds, "podInitialBackoffSeconds"),
      KOORD_FIELD(pod_max_backoff_seconds, "podMaxBackoffSeconds"),
      KOORD_FIELD(profiles, "profiles").doc("One scheduler name each."),
      KOORD_FIELD(extenders, "extenders").doc("Not served yet: an error if any is given."),
      KOORD_FIELD(delay_cache_until_active, "delayCacheUntilActive"),
  };
  static const Schema kSchema("KubeSchedulerConfiguration", kRows, type_of<T>, &kKind);
  return kSchema;
}

}  // namespace koord::api
