// MigrationControllerArgs: upstream's rows of defaults and mistakes, and what follows from them.
#include "migration/args.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler::migration::test {
namespace {

using scheduling::args_type;

/// As it is after completion; a mistake's text in `errors`.
MigrationControllerArgs read(std::string_view json, std::string& errors) {
  auto args = api::decode_strict<MigrationControllerArgs>(json);
  if (!args) {
    errors = args.error().message();
    return {};
  }
  args_type<MigrationControllerArgs>.set_defaults(&*args);
  FieldErrors found;
  args->validate("", found);
  errors = found.empty() ? std::string() : found.text();
  return std::move(*args);
}

TEST_CASE("what is not said of the migration controller has upstream's defaults") {
  std::string errors;
  const MigrationControllerArgs args = read("{}", errors);
  CHECK(errors.empty());
  CHECK(
      api::encode(args) ==
      R"({"apiVersion":"descheduler/v1alpha2","kind":"MigrationControllerArgs","maxConcurrentReconciles":1,)"
      R"("evictFailedBarePods":false,"evictAllBarePods":false,"evictLocalStoragePods":false,)"
      R"("evictSystemCriticalPods":false,"ignorePvcPods":false,"maxMigratingPerNode":2,)"
      R"("objectLimiters":{"workload":{"duration":"5m0s"}},"defaultJobMode":"ReservationFirst",)"
      R"("defaultJobTTL":"5m0s","schedulerNames":["koord-scheduler"],"evictQPS":10,"evictBurst":1,)"
      R"("evictionPolicy":"Eviction","arbitrationArgs":{"enabled":true,"interval":"500ms"}})");
  CHECK(args.qps() == 10);
  CHECK(args.policy() == EvictionPolicy::eviction);
}

TEST_CASE("what is said stays, and an interval that is not said is half a second") {
  std::string errors;
  const MigrationControllerArgs args =
      read(R"({"evictQPS":"2.5","objectLimiters":{"namespace":{"duration":"1m","maxMigrating":3}},)"
           R"("arbitrationArgs":{"enabled":false},"defaultJobTTL":"0s","maxMigratingPerNode":0})",
           errors);
  CHECK(errors.empty());
  CHECK(args.qps() == 2.5);
  CHECK(args.object_limiters.size() == 1);
  CHECK(args.arbitration_interval() == std::chrono::milliseconds(500));
  CHECK(args.max_migrating_per_node == 0);
  CHECK(args.default_job_ttl->value.count() == 0);
}

TEST_CASE("mistakes in the migration controller's arguments are named, in upstream's words") {
  struct Row {
    std::string json, error;  // empty: there is none
  };
  // The first eight are upstream's table, then those of its limits.
  const Row rows[] = {
      {"{}", ""},
      {R"({"evictQPS":"xxxx"})", R"(evictQPS: Invalid value: "xxxx": evictQPS must be greater than 0)"},
      {R"({"evictQPS":11,"evictBurst":0})",
       "evictBurst: Invalid value: 0: evictBurst must be greater than 0"},
      {R"({"labelSelector":{"matchLabels":{"test/a/b/c":"123"}}})", "labelSelector"},
      {R"({"maxConcurrentReconciles":-1})",
       "maxConcurrentReconciles: Invalid value: -1: maxConcurrentReconciles should be greater than or equal "
       "to 1"},
      {R"({"defaultJobMode":"unsupportedMode"})",
       R"(defaultJobMode: Invalid value: "unsupportedMode": defaultJobMode must be ReservationFirst or EvictDirectly)"},
      {R"({"defaultJobTTL":"-10m"})",
       R"(defaultJobTTL: Invalid value: "-10m0s": defaultJobTTL should be positive or zero)"},
      {R"({"skipEvictionGates":["NoSuchGate"]})",
       R"(skipEvictionGates[0]: Invalid value: "NoSuchGate": unknown eviction gate)"},
      {R"({"maxMigratingPerNamespace":10})", ""},
      {R"({"maxMigratingPerNamespace":100})", ""},
      {R"({"maxMigratingPerNamespace":0})", ""},
      {R"({"maxMigratingPerNamespace":-1})", "maxMigratingPerNamespace should be greater or equal 0"},
      {R"({"maxMigratingGlobally":10})", ""},
      {R"({"maxMigratingGlobally":100})", ""},
      {R"({"maxMigratingGlobally":0})", ""},
      {R"({"maxMigratingGlobally":-1})", "maxMigratingGlobally should be greater or equal 0"},
      {R"({"maxMigratingPerNode":10})", ""},
      {R"({"maxMigratingPerNode":100})", ""},
      {R"({"maxMigratingPerNode":0})", ""},
      {R"({"maxMigratingPerNode":-1})", "maxMigratingPerNode should be greater or equal 0"},
      {R"({"maxMigratingPerWorkload":10})", ""},
      {R"({"maxMigratingPerWorkload":100})", ""},
      {R"({"maxMigratingPerWorkload":0})", ""},
      {R"({"maxMigratingPerWorkload":-1})", ""},
      {R"({"maxUnavailablePerWorkload":10})", ""},
      {R"({"maxUnavailablePerWorkload":100})", ""},
      {R"({"maxUnavailablePerWorkload":0})", ""},
      {R"({"maxUnavailablePerWorkload":-1})", ""},
      // More than upstream's table has.
      {R"({"maxUnavailablePerWorkload":"many"})", "maxUnavailablePerWorkload is invalid, err: "},
      {R"({"namespaces":{"include":["a"],"exclude":["b"]}})",
       "only one of Include/Exclude namespaces can be set"},
      {R"({"evictQPS":0})", "evictQPS must be greater than 0"},
      {R"({"evictQPS":"NaN"})", "evictQPS must be greater than 0"},
      {R"({"evictQPS":"inf"})", "evictQPS must be greater than 0"},
      {R"({"evictQPS":{}})", "evictQPS must be greater than 0"},
      {R"({"evictionPolicy":"Kill"})", "unsupported evicition policy"},
      {R"({"nodeSelector":"a=b=c"})", "nodeSelector"},
      {R"({"skipEvictionGates":["pvc"]})", "unknown eviction gate"},
      {R"({"arbitrationArgs":{"interval":"0s"}})", "interval should be positive"},
      {R"({"noSuchField":1})", "noSuchField"},
  };
  for (const Row& row : rows) {
    INFO(row.json);
    std::string errors;
    (void)read(row.json, errors);
    if (row.error.empty())
      CHECK(errors.empty());
    else
      CHECK_THAT(errors, Catch::Contains(row.error));
  }
}

TEST_CASE("a gate that is skipped takes its rule away") {
  struct Row {
    std::string_view gate, rule;
    std::string pod;
  };
  const Row rows[] = {
      {"BarePods", "{", R"({"metadata":{"name":"a"}})"},
      {"LocalStorage", "{",
       R"({"metadata":{"ownerReferences":[{"kind":"X"}]},"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})"},
      {"SystemCritical", "{",
       R"({"metadata":{"ownerReferences":[{"kind":"X"}]},"spec":{"priority":2000000000}})"},
      {"PVC", R"({"ignorePvcPods":true,)",
       R"({"metadata":{"ownerReferences":[{"kind":"X"}]},"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}})"},
      {"PriorityThreshold", R"({"priorityThreshold":{"value":5},)",
       R"({"metadata":{"ownerReferences":[{"kind":"X"}]},"spec":{"priority":5}})"},
      {"LabelSelector", R"({"labelSelector":{"matchLabels":{"a":"b"}},)",
       R"({"metadata":{"ownerReferences":[{"kind":"X"}]}})"},
  };
  for (const Row& row : rows) {
    INFO(row.gate);
    const api::Pod pod = api::decode<api::Pod>(row.pod).value();
    for (const bool skipped : {false, true}) {
      std::string errors;
      const MigrationControllerArgs args =
          read(std::string(row.rule) + "\"skipEvictionGates\":[" +
                   (skipped ? "\"" + std::string(row.gate) + "\"" : std::string()) + "]}",
               errors);
      REQUIRE(errors.empty());
      CHECK(why_not_evictable(pod, args.evictable_rules()).empty() == skipped);
    }
  }
}

}  // namespace
}  // namespace koord::descheduler::migration::test
