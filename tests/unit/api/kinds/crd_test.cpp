// CRD manifests and OpenAPI schemas.
#include "koord/api/kinds/crd.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/apiextensions_v1/custom_resource_definition.hpp"
#include "koord/api/types/config_v1alpha1/cluster_colocation_profile.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/scheduling_v1alpha1/drain_node_group.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

using namespace koord;
using namespace koord::api;

TEST_CASE("packaging/crds has what the tables say") {
  for (const Schema* resource : custom_resources()) {
    const Kind& kind = kind_of(*resource);
    const std::string name = std::string(kind.group) + "_" + std::string(kind.plural) + ".yaml";
    INFO(name << ": compare with koord crds");
    std::ifstream in(std::string(KOORD_PACKAGING) + "/crds/" + name);
    REQUIRE(in.good());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    CHECK((text == crd_manifest_yaml(*resource)));
  }
}

TEST_CASE("a manifest decodes as what it is") {
  const auto crd = decode<CustomResourceDefinition>(crd_manifest_json(schema<NodeSlo>()));
  REQUIRE(crd.has_value());
  CHECK(crd->metadata.name == "nodeslos.slo.koordinator.sh");
  CHECK(crd->spec.names.kind == "NodeSLO");
  CHECK(crd->spec.names.list_kind == "NodeSLOList");
  CHECK(crd->spec.scope == "Cluster");
  REQUIRE(crd->spec.versions.size() == 1);
  const CrdVersion& version = crd->spec.versions[0];
  CHECK(version.name == "v1alpha1");
  CHECK(version.served);
  CHECK(version.storage);
  CHECK(version.subresources->status.has_value());
  const auto root = json::parse(version.schema->open_apiv3_schema.text);
  REQUIRE(root.has_value());
  CHECK(json::to_text(*json::find(*root, "properties", "metadata")) == R"({"type":"object"})");
  const std::string be = "/properties/spec/properties/resourceQOSStrategy/properties/beClass/properties";
  CHECK(
      json::to_text(*json::find_path(*root, be + "/networkQOS/properties/egressLimit")) ==
      R"({"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true,"default":100})");
  CHECK(json::find_path(*root, be + "/memoryQOS/properties/wmarkMinAdj/minimum")->to_int() == -25);
  CHECK(json::true_at(*root, "properties", "spec", "properties", "extensions",
                      "x-kubernetes-preserve-unknown-fields"));
}

TEST_CASE("what a definition says beside types") {
  struct Row {
    const Schema& schema;
    std::string_view path, says;
  };
  const std::string_view spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
  const Row rows[] = {
      // Anything at all, not just objects: upstream's pods and templates come whole.
      {schema<ClusterColocationProfile>(), "patch",
       R"({"x-kubernetes-preserve-unknown-fields":true,"description":"Strategic merge patch of the pods."})"},
      {schema<ClusterColocationProfile>(), "selector/x-kubernetes-map-type", R"("atomic")"},
      {schema<ClusterColocationProfile>(),
       "selector/properties/matchExpressions/items/properties/values/x-kubernetes-list-type", R"("atomic")"},
      {schema<ClusterColocationProfile>(), "qosClass/enum", R"(["LSE","LSR","LS","BE","SYSTEM"])"},
      {schema<Reservation>(), "ttl/default", R"("24h")"},
      {schema<Reservation>(), "allocateOnce/default", "true"},
      {schema<Reservation>(), "owners/items/properties/controller/required",
       R"(["apiVersion","kind","name","uid"])"},
      {schema<Reservation>(), "owners/items/properties/object/x-kubernetes-map-type", R"("atomic")"},
      {schema<Device>(), "devices/items/required", R"(["health"])"},
      {schema<PodMigrationJob>(), "podRef/x-kubernetes-map-type", R"("atomic")"},
      {schema<PodMigrationJob>(),
       "reservationOptions/properties/template/x-kubernetes-preserve-unknown-fields", "true"},
      {schema<PodMigrationJob>(), "deleteOptions/properties/dryRun/x-kubernetes-list-type", R"("atomic")"},
      {schema<PodMigrationJob>(), "deleteOptions/properties/orphanDependents", R"({"type":"boolean"})"},
  };
  for (const Row& row : rows) {
    INFO(row.path);
    const auto document = json::parse(crd_manifest_json(row.schema));
    REQUIRE(document.has_value());
    const json::Value* found = json::find_path(*document, fmt::format("{}/{}", spec, row.path));
    REQUIRE(found != nullptr);
    CHECK(json::to_text(*found) == row.says);
  }
}

TEST_CASE("a definition without the status subresource, one of Kubernetes' own group, one of two versions") {
  const auto device = decode<CustomResourceDefinition>(crd_manifest_json(schema<Device>()));
  CHECK_FALSE(device->spec.versions[0].subresources.has_value());
  const auto topology = decode<CustomResourceDefinition>(crd_manifest_json(schema<NodeResourceTopology>()));
  CHECK(value_or(topology->metadata.annotations, "api-approved.kubernetes.io") ==
        "https://github.com/kubernetes/enhancements/pull/1870");
  CHECK(topology->spec.names.short_names == std::vector<std::string>{"node-res-topo"});
  REQUIRE(topology->spec.versions.size() == 2);
  const CrdVersion &read = topology->spec.versions[0], &stored = topology->spec.versions[1];
  CHECK((read.name == "v1alpha1" && read.served && !read.storage));
  CHECK((stored.name == "v1alpha2" && stored.served && stored.storage));
  const auto first = json::parse(read.schema->open_apiv3_schema.text),
             second = json::parse(stored.schema->open_apiv3_schema.text);
  CHECK(json::to_text(*json::find(*first, "required")) == R"(["topologyPolicies","zones"])");
  CHECK(json::to_text(*json::find(*second, "required")) == R"(["zones"])");
  CHECK(json::find(*first, "properties", "attributes") == nullptr);
  CHECK(json::find(*second, "properties", "attributes") != nullptr);
}

TEST_CASE("a PodMigrationJob is listed with the original's columns, and its conditions may have no times") {
  const auto crd = decode<CustomResourceDefinition>(crd_manifest_json(schema<PodMigrationJob>()));
  REQUIRE(crd.has_value());
  CHECK(crd->spec.scope == "Cluster");
  CHECK(crd->spec.names.short_names == std::vector<std::string>{"pmj"});
  const CrdVersion& version = crd->spec.versions[0];
  CHECK(version.subresources->status.has_value());
  const std::pair<std::string_view, std::string_view> columns[] = {
      {"Phase", ".status.phase"},
      {"Status", ".status.status"},
      {"Age", ".metadata.creationTimestamp"},
      {"Node", ".status.nodeName"},
      {"Reservation", ".spec.reservationOptions.reservationRef.name"},
      {"PodNamespace", ".spec.podRef.namespace"},
      {"Pod", ".spec.podRef.name"},
      {"NewPod", ".status.podRef.name"},
      {"TTL", ".spec.ttl"},
  };
  REQUIRE(version.additional_printer_columns.size() == std::size(columns));
  for (std::size_t i = 0; i < std::size(columns); ++i) {
    CHECK(version.additional_printer_columns[i].name == columns[i].first);
    CHECK(version.additional_printer_columns[i].json_path == columns[i].second);
  }
  const auto root = json::parse(version.schema->open_apiv3_schema.text);
  REQUIRE(root.has_value());
  CHECK(json::to_text(*json::find_path(*root, "/properties/spec/required")) == R"(["podRef"])");
  for (const std::string_view time : {"lastProbeTime", "lastTransitionTime"})
    CHECK(json::to_text(*json::find_path(
              *root, fmt::format("/properties/status/properties/conditions/items/properties/{}", time))) ==
          R"({"type":"string","format":"date-time","nullable":true})");
  // What a writer in Go sends where it knows no time.
  const auto job = decode<PodMigrationJob>(
      R"({"status":{"conditions":[{"type":"Eviction","status":"False","lastProbeTime":null}]}})");
  REQUIRE(job.has_value());
  CHECK(job->status.conditions[0].last_probe_time == Time());
}

TEST_CASE("kubectl get shows how far drains are, after the columns of who had them first") {
  const auto columns_of = [](const Schema& schema) {
    const auto crd = decode<CustomResourceDefinition>(crd_manifest_json(schema));
    REQUIRE(crd.has_value());
    CHECK(crd->spec.scope == "Cluster");
    CHECK(crd->spec.versions[0].subresources->status.has_value());
    std::string all = crd->spec.names.short_names.at(0);
    for (const auto& column : crd->spec.versions[0].additional_printer_columns)
      all += fmt::format(" {}={}", column.name, column.json_path);
    return all;
  };
  CHECK(columns_of(schema<DrainNodeGroup>()) ==
        "dng Phase=.status.phase Age=.metadata.creationTimestamp TTL=.spec.ttl Nodes=.status.totalCount "
        "Unavailable=.status.unavailableCount Running=.status.runningCount "
        "Succeeded=.status.succeededCount Failed=.status.failedCount");
  CHECK(columns_of(schema<DrainNode>()) ==
        "dn Phase=.status.phase Age=.metadata.creationTimestamp TTL=.spec.ttl Node=.spec.nodeName "
        "Confirm=.spec.confirmState Waiting=.status.pogMigrationSummary.Waiting "
        "Available=.status.pogMigrationSummary.Available Migrating=.status.pogMigrationSummary.Migrating "
        "Succeed=.status.pogMigrationSummary.Succeed Failed=.status.pogMigrationSummary.Failed "
        "Unmigratable=.status.pogMigrationSummary.Unmigratable "
        "Unavailable=.status.pogMigrationSummary.Unavailable");
}

TEST_CASE("drains on the wire are as their first writer has them") {
  const auto node = decode<DrainNode>(
      R"({"spec":{"nodeName":"n","ttl":"1h0m0s","cordonPolicy":{"mode":"Label","labels":{"a":"b"}},)"
      R"("migrationPolicy":{"mode":"WaitFirst","waitDuration":"30m","jobMode":"EvictDirectly"},)"
      R"("confirmState":"WaitForConfirm"},"status":{"phase":"Running","pogMigrations":[{"uid":"1",)"
      R"("namespace":"ns","podName":"p","phase":"Waiting","startTimestamp":null,)"
      R"("chartedAfterDrainNodeConfirmed":true}],"pogMigrationSummary":{"Waiting":1},"conditions":)"
      R"([{"type":"OnceAvailable","status":"True","lastProbeTime":null}]}})");
  REQUIRE(node.has_value());
  CHECK(node->spec.migration_policy.wait_duration == Duration(std::chrono::minutes(30)));
  CHECK(node->spec.cordon_policy->labels == SymbolMap{{"a", Symbol("b")}});
  REQUIRE(node->status.pod_migrations.size() == 1);
  CHECK(node->status.pod_migrations[0].pod_uid == "1");
  CHECK(node->status.pod_migrations[0].charted_after_drain_node_confirmed);
  CHECK(*node->status.pod_migration_summary.find("Waiting") == 1);
  const auto group = decode<DrainNodeGroup>(
      R"({"spec":{"nodeSelector":{"matchLabels":{"pool":"old"}},"cordonNodePolicy":{"mode":"Taint"},)"
      R"("executionPolicy":{"partition":0,"paused":true},)"
      R"("terminationPolicy":{"maxNodeCount":3,"percentageOfResourceReserved":10}}})");
  REQUIRE(group.has_value());
  CHECK(group->spec.execution_policy->partition == 0);
  CHECK(group->spec.termination_policy->percentage_of_resource_reserved == 10);
}

TEST_CASE("OpenAPI of kinds that are described in part") {
  const auto pod = json::parse(openapi_schema(schema<Pod>(), true));
  REQUIRE(pod.has_value());
  CHECK(json::true_at(*pod, "x-kubernetes-preserve-unknown-fields"));
  CHECK(json::text_at(*pod, "properties", "metadata", "properties", "creationTimestamp", "format") ==
        "date-time");
  CHECK(json::text_at(*pod, "properties", "spec", "properties", "containers",
                      "x-kubernetes-patch-merge-key") == "name");
  CHECK(json::to_text(*json::find(*pod, "properties", "spec", "required")) == R"(["containers"])");
}
