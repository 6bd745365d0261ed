// What the engine says of pods on a cluster that a file describes: a line of JSON for each, node -> final
// score.
//   scheduler_scores FILE [CONFIGURATION]    its lines: nodes, pods and what else there is, in any order;
//   then "---"; then the pods. The configuration is JSON; of its first profile.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/core_v1/service.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "unit/scheduling/world.hpp"

namespace {

using namespace koord;
using namespace koord::scheduling;

template <class T>
std::shared_ptr<const T> read(const std::string& line) {
  Result<T> object = api::decode<T>(line);
  if (!object) throw std::runtime_error(object.error().message());
  return std::make_shared<const T>(std::move(*object));
}

void put(Engine& engine, const std::string& line) {
  // The kind comes first, as Kubernetes and the test write it.
  const auto is = [&](const char* kind) { return line.find(fmt::format("\"kind\": \"{}\"", kind)) < 60; };
  if (is("Node")) return engine.put_node(read<api::Node>(line));
  if (is("Pod")) return engine.put_pod(read<api::Pod>(line));
  if (is("Namespace")) return engine.put_object(read<api::Namespace>(line));
  if (is("Service")) return engine.put_object(read<api::Service>(line));
  if (is("NodeMetric")) return engine.put_object(read<api::NodeMetric>(line));
  if (is("NodeResourceTopology")) return engine.put_object(read<api::NodeResourceTopology>(line));
  if (is("ReplicaSet")) return engine.put_object(read<api::ReplicaSet>(line));
  if (is("StorageClass")) return engine.put_object(read<api::StorageClass>(line));
  if (is("CSINode")) return engine.put_object(read<api::CsiNode>(line));
  if (is("PersistentVolume")) return engine.put_object(read<api::PersistentVolume>(line));
  if (is("PersistentVolumeClaim")) return engine.put_object(read<api::PersistentVolumeClaim>(line));
  throw std::runtime_error("what is " + line.substr(0, 60));
}

KubeSchedulerConfiguration configuration(const char* path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto config = api::decode_strict<KubeSchedulerConfiguration>(text);
  if (!config) throw std::runtime_error(config.error().message());
  return std::move(*config);
}

std::string scores(Engine& engine, const std::string& line) {
  ClassState& state = engine.evaluate(engine.profiles()[0], read<api::Pod>(line));
  std::vector<std::string> parts;
  const NodeTable& nodes = engine.nodes();
  for (Row row = 0; row < nodes.rows(); ++row)
    if (nodes.node(row) && state.verdict(row) == kPass)
      parts.push_back(fmt::format("\"{}\": {}", nodes.name(row).view(), state.score(row)));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  std::ifstream file(argv[1]);
  std::string line;
  try {
    const KubeSchedulerConfiguration config =
        argc == 3 ? configuration(argv[2]) : KubeSchedulerConfiguration();
    test::World world(config);
    // Without a file it is asked beside kube-scheduler, with one beside Koordinator's.
    if (argc == 3) world.engine.set_transforms(Transforms());
    // Reports have an age.
    world.clock.jump_wall(std::chrono::system_clock::now() - world.clock.now());
    while (std::getline(file, line) && line != "---") put(world.engine, line);
    while (std::getline(file, line)) std::printf("%s\n", scores(world.engine, line).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "scheduler_scores: %s\n", error.what());
    return 1;
  }
  return 0;
}
