// Process and World: the controller of migrations on an API server that the test plays.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "migration/controller.hpp"
#include "migration/fake_cluster.hpp"
#include "migration/migration_objects.hpp"

namespace koord::descheduler::migration::test {

using namespace std::chrono_literals;

inline constexpr std::string_view kMove = "podmigrationjobs//move";

/// A process: it may end at any time, and another takes its place.
struct Process {
  explicit Process(FakeCluster& cluster, std::shared_ptr<MigrationControllerArgs> args)
      : cluster(cluster),
        controller({.clock = cluster.loop.clock,
                    .log = log,
                    .client = api,
                    .jobs = informers.informer<api::PodMigrationJob>(api),
                    .reservations = informers.informer<api::Reservation>(api),
                    .pods = informers.informer<api::Pod>(api),
                    .workloads = workloads,
                    .ask = [this](PodPtr pod, EvictionPolicy policy,
                                  EvictOptions options) { return evictions.ask(pod, policy, options); },
                    .may_write = [this] { return leads; },
                    .tell = [this](const api::PodMigrationJob&,
                                   const JobEvent& event) { events.push_back(event.reason); },
                    .tell_pod =
                        [this](const api::Pod&, const JobEvent& event) {
                          events.push_back(event.reason + ": " + event.note);
                        }}) {
    cluster.watch.watch(api);
    workloads.of_cluster = [pods = informers.informer<api::Pod>(api)](std::string_view owner) {
      std::vector<PodPtr> found;
      for (const PodPtr& pod : pods.list())
        if (const api::OwnerReference* of = api::controller_of(pod->metadata); of && of->uid == owner)
          found.push_back(pod);
      return found;
    };
    controller.add_profile("koord-descheduler", std::move(args),
                           [](std::string_view) { return std::nullopt; });
    informers.start();
    controller.start(tasks);
    cluster.loop.settle();
  }
  ~Process() {
    controller.stop();
    koord::test::run_task(cluster.loop, tasks.stop(cluster.loop.clock, 20s));
    koord::test::run_task(cluster.loop, informers.stop());
  }

  FakeCluster& cluster;
  kube::Client api{cluster.server, cluster.loop.clock, {.max_retries = 0}};
  CapturedLog captured;
  Logger log{captured, cluster.loop.clock};
  kube::InformerSet informers{cluster.loop.executor(), cluster.loop.clock};
  std::optional<Error> failure;
  TaskGroup tasks{cluster.loop.executor(), [this](std::string_view, const Error& error) { failure = error; }};
  FakeWorkloads workloads;
  bool leads = true;
  PodEvictions evictions{
      {.clock = cluster.loop.clock, .log = log, .client = api, .may_write = [this] { return leads; }}};
  std::vector<std::string> events;
  Controller controller;
};

struct World {
  World() {
    args->evict_all_bare_pods = true;
    scheduling::args_type<MigrationControllerArgs>.set_defaults(args.get());
    args->evict_qps.text = "1000";
    args->evict_burst = 1000;
    args->max_migrating_per_node = 0;
  }
  void pod(const std::string& name, std::string_view node = "node-0", std::string_view owner = "set") {
    cluster.put(
        "pods/default/" + name,
        fmt::format(
            R"({{"metadata":{{"namespace":"default","name":"{}","uid":"uid-{}","ownerReferences":[)"
            R"({{"apiVersion":"apps/v1","kind":"StatefulSet","name":"{}","uid":"{}","controller":true}}]}},)"
            R"("spec":{{"nodeName":"{}","containers":[{{"name":"c","command":["unknown"]}}]}},)"
            R"("status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True"}}]}}}})",
            name, name, owner, owner, node));
  }
  void job(const std::string& name, const std::string& pod, std::string_view spec = "",
           std::string_view metadata = "") {
    cluster.put("podmigrationjobs//" + name,
                fmt::format(R"({{"metadata":{{"name":"{}"{}}},"spec":{{"ttl":"5m0s","podRef":{{)"
                            R"("namespace":"default","name":"{}"}}{}}}}})",
                            name, metadata, pod, spec));
  }
  Process& begin() {
    process = std::make_unique<Process>(cluster, args);
    return *process;
  }
  std::string says(std::string_view key = kMove) const {
    const json::Document job = cluster.read(std::string(key));
    return fmt::format("{}|{}|{}|{}", json::text_at(job, "status", "phase"),
                       json::text_at(job, "status", "status"), json::text_at(job, "status", "reason"),
                       json::text_at(job, "status", "message"));
  }
  std::string phase(const std::string& name) const {
    return cluster.text_at("podmigrationjobs//" + name, "status", "phase");
  }
  std::string reservation_of(std::string_view key = kMove) const {
    return cluster.text_at(std::string(key), "metadata", "uid");
  }

  koord::test::Loop loop;
  FakeCluster cluster{loop};
  std::shared_ptr<MigrationControllerArgs> args = std::make_shared<MigrationControllerArgs>();
  std::unique_ptr<Process> process;
};

}  // namespace koord::descheduler::migration::test
