// Random machines with devices, and pods that want some; the same ones for the same seed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "random/story_objects.hpp"

namespace koord::scheduling::test {

class DeviceObjects : public StoryObjects {
 public:
  explicit DeviceObjects(unsigned seed) : StoryObjects(seed, 3 + seed % 3) {}

  /// A machine of that name stays what it is, unless it is `rebuilt`; what is said of it differs.
  std::shared_ptr<const api::Node> node(const std::string& name, bool rebuilt);
  /// Some of its devices are sick, and some are not listed.
  std::shared_ptr<const api::Device> device(const std::string& name);
  std::shared_ptr<const api::Pod> pod(const std::string& name);
  /// What anybody might have written into a pod on that node: what others have, what is not there, or
  /// nothing that can be read.
  std::string allocated(const std::string& node);
  /// A ConfigMap's data: what parts of NPUs there are.
  std::string templates();

 private:
  struct Machine {
    std::vector<api::DeviceInfo> devices;
    std::string vendor, model, partitions;
    bool isolated = false, well_planned = false;
  };
  Machine build();
  const Machine& machine(const std::string& name);
  void add_nics(Machine& to, int zones, int switches, bool placed);
  std::string random_partitions(int gpus);
  void ask_gpus(api::ResourceList& requests);
  void annotate(api::Pod& pod, bool gpus, bool nics, bool fpgas);

  std::map<std::string, Machine> machines_;
};

}  // namespace koord::scheduling::test
