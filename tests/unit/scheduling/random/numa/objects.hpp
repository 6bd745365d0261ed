// Random machines with memory nodes, their topologies, and pods that want CPUs; the same ones for the same
// seed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "random/story_objects.hpp"

namespace koord::scheduling::test {

class NumaObjects : public StoryObjects {
 public:
  explicit NumaObjects(unsigned seed) : StoryObjects(seed, 3 + seed % 3) {}

  /// A machine of that name stays what it is, unless it is `rebuilt`; what is said of it differs.
  std::shared_ptr<const api::Node> node(const std::string& name, bool rebuilt);
  std::shared_ptr<const api::NodeResourceTopology> topology(const std::string& name);
  std::shared_ptr<const api::Pod> pod(const std::string& name);
  /// What anybody might have written into a pod on that node.
  std::string status(const std::string& node);
  std::string spec();

 private:
  struct Cpu {
    int id, core, socket, zone;
  };
  struct Machine {
    std::vector<Cpu> cpus;
    std::vector<int> zones;
    bool huge = false, batch = false;
  };
  Machine build();
  const Machine& machine(const std::string& name);
  /// Some of the machine's CPUs, as a list.
  std::string some_cpus(const Machine& machine, int percent);
  std::string ratios();

  std::map<std::string, Machine> machines_;
};

}  // namespace koord::scheduling::test
