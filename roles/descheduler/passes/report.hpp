// What a pass of the descheduler did and why: /passes serves it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/values/time.hpp"

namespace koord::descheduler {

/// A pod that a plugin wanted to go.
struct ReportedPod {
  std::string namespace_, name, uid, node, profile, plugin;
  std::string reason;   // why it is to go
  std::string refused;  // why it stays; empty: it goes
  KOORD_STRUCT(ReportedPod);
};

/// A plugin that failed.
struct ReportedError {
  std::string profile, plugin, point, error;
  KOORD_STRUCT(ReportedError);
};

struct PassReport {
  std::int64_t number = 0;  // of this process, from 1
  api::Time began;
  api::Duration took;
  bool dry_run = false;
  std::string skipped;  // why nothing was looked at; empty: it was
  std::int64_t nodes = 0, ready_nodes = 0, pods = 0, node_metrics = 0;
  std::int64_t gone = 0, stay = 0;            // of those that plugins wanted to go
  std::vector<ReportedPod> evicted, refused;  // the first kListed of each
  std::vector<ReportedError> errors;
  KOORD_STRUCT(PassReport);

  static constexpr std::size_t kListed = 500;
};

/// The newest first.
struct PassReports {
  std::vector<PassReport> passes;
  KOORD_STRUCT(PassReports);

  static constexpr std::size_t kKept = 10;
};

}  // namespace koord::descheduler
