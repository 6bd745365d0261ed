// What a pass of the descheduler did and why: /passes serves it.
#pragma once

#include <cstdint>
#include <optional>
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
  std::string to;       // of a dry run: the node that it would go to; empty: none has room
  KOORD_STRUCT(ReportedPod);
};

/// A plugin that failed.
struct ReportedError {
  std::string profile, plugin, point, error;
  KOORD_STRUCT(ReportedError);
};

/// Of a resource, in percent of what the node may give; absent: not known.
struct ReportedLoad {
  std::optional<double> requested, requested_after, used, used_after;
  KOORD_STRUCT(ReportedLoad);
};

/// A node as it is, and as it would be if a dry run were none.
struct ReportedNode {
  std::string name;
  std::int64_t pods = 0, pods_after = 0;  // that have not ended
  ReportedLoad cpu, memory;
  KOORD_STRUCT(ReportedNode);
};

/// How evenly a resource is used, in percent of what a node may give, over the nodes that say what they use.
struct ReportedSpread {
  std::string resource;
  std::int64_t nodes = 0;
  double mean = 0, highest = 0, highest_after = 0;
  double deviation = 0, deviation_after = 0;  // the standard one
  KOORD_STRUCT(ReportedSpread);
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
  std::vector<std::string> notes;  // what does not count where pods fit
  // Of a dry run: what the cluster would look like.
  std::vector<ReportedNode> changed;   // by name, the first kListed
  std::vector<ReportedSpread> spread;  // of cpu and memory
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
