// TemplateWatch: the fixed parts in which some GPUs are shared, as a ConfigMap has them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "koord/scheduling/cluster/object_store.hpp"
#include "koord/scheduling/plugin/complaints.hpp"

namespace koord::api {
struct ConfigMap;
}

namespace koord::scheduling::device_share {

/// Of what cannot be read somebody is told once, and the last that could be read counts on; without the
/// ConfigMap there are none. Belongs to the engine's thread.
class TemplateWatch {
 public:
  /// Both outlive it.
  TemplateWatch(ObjectStore<api::ConfigMap>& maps, Complaints& complaints, std::string ns, std::string name);

  /// Never null.
  const std::shared_ptr<const api::GpuShareTemplates>& now() const { return now_; }
  /// Another number whenever others are said.
  std::uint64_t version() const { return version_; }

 private:
  void read(const api::ConfigMap* map);

  Complaints& complaints_;
  std::string ns_, name_;
  std::shared_ptr<const api::GpuShareTemplates> now_;
  std::uint64_t version_ = 0;
};

}  // namespace koord::scheduling::device_share
