// The schema tables of koord/api/types/config_v1alpha1/cluster_colocation_profile.hpp:
// ClusterColocationProfile.
#include "koord/api/types/config_v1alpha1/cluster_colocation_profile.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kQosClasses[] = {"LSE", "LSR", "LS", "BE", "SYSTEM"};

}  // namespace

KOORD_SCHEMA(ClusterColocationProfileSpec, ROW(namespace_selector).doc("Namespaces of the pods; empty: all."),
             ROW(selector).doc("Labels of the pods; empty: all."),
             ROW(probability).doc("Percentage of the pods that get the profile."),
             ROW(qos_class).one_of(kQosClasses).doc("QoS class, as the label koordinator.sh/qosClass."),
             ROW(priority_class_name).doc("PriorityClass whose name and value the pods get."),
             ROW(koordinator_priority).doc("Priority in its class, as the label koordinator.sh/priority."),
             ROW(labels).doc("Labels that the pods get."),
             ROW(annotations).doc("Annotations that the pods get."),
             ROW(label_keys_mapping).doc("Labels that are copied, from key to key."),
             ROW(annotation_keys_mapping).doc("Annotations that are copied, from key to key."),
             ROW(label_suffixes).doc("What is appended to the values of labels."),
             ROW(scheduler_name).doc("Scheduler of the pods."),
             ROW(patch).untyped().doc("Strategic merge patch of the pods."));
KOORD_SCHEMA(ClusterColocationProfileStatus);
KOORD_OBJECT(ClusterColocationProfile,
             Kind("config.koordinator.sh/v1alpha1", "ClusterColocationProfile", "clustercolocationprofiles")
                 .cluster_scoped()
                 .custom_resource("What pods get when they are admitted."),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
