// Workloads: what stands behind a pod, how many replicas it is to have, and which pods it has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler::migration {

struct Workload {
  bool known = false;         // false: it is being asked for; nothing else counts then
  std::int64_t replicas = 0;  // 0 also where there is none of that UID, and of what has no replicas (a Job)
  std::vector<std::string> owners;  // UIDs of the controllers of its pods; empty: there are no pods
};

/// Belongs to the role's strand.
class Workloads {
 public:
  Workloads() = default;
  Workloads(const Workloads&) = delete;
  Workloads& operator=(const Workloads&) = delete;
  virtual ~Workloads() = default;

  /// Of a pod's controller. Never waits.
  virtual Workload find(const api::OwnerReference& controller, std::string_view ns) = 0;
  /// The pods of a controller, of every phase.
  virtual std::vector<std::shared_ptr<const api::Pod>> pods_of(std::string_view owner) = 0;
};

/// Running or waiting, not asked to go, and ready.
bool is_available(const api::Pod& pod);

}  // namespace koord::descheduler::migration
