// ReservationArgs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "koord/api/values/box.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::reservation {

struct PreAllocationConfig {
  bool enable_cluster_mode = false;
  std::string cluster_label_key;
  std::string cluster_priority_annotation_key;
  bool prefer_no_pre_allocated_pods = false;
  KOORD_STRUCT(PreAllocationConfig);
};

struct SelectorIndexArgs {
  bool enabled = false;
  std::vector<std::string> key_prefixes;
  std::vector<std::string> keys;
  KOORD_STRUCT(SelectorIndexArgs);
};

struct ReservationArgs {
  std::optional<bool> enable_preemption;
  std::optional<std::int32_t> min_candidate_nodes_percentage;
  std::optional<std::int32_t> min_candidate_nodes_absolute;
  std::optional<std::int32_t> controller_workers;
  std::int64_t gc_duration_seconds = 0;
  std::int64_t gc_interval_seconds = 0;
  bool disable_garbage_collection = false;
  std::int64_t resync_interval_seconds = 0;
  api::Box<PreAllocationConfig> pre_allocation_config;
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  api::Box<SelectorIndexArgs> reservation_selector_index;

  void validate(const std::string&, FieldErrors& errors) const;
  KOORD_STRUCT(ReservationArgs);
};

}  // namespace koord::scheduling::reservation
