// Verdicts: why a node was rejected, interned, and the text that a failed attempt is reported with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/plugin/status_code.hpp"

namespace koord::scheduling {

/// An index into a VerdictTable. Equal verdicts have equal ids.
using VerdictId = std::uint32_t;
constexpr VerdictId kPass = 0;
constexpr VerdictId kAbsent = 1;  // the row holds no node: neither feasible nor counted

/// A plugin's place in its profile; one bit each in a PluginMask. A profile makes a row of the plugin table
/// at most once, so that the table, with kube-scheduler's and Koordinator's about 30, is what 63 have to
/// suffice for.
using PluginIndex = std::uint8_t;
using PluginMask = std::uint64_t;
constexpr PluginIndex kNoPlugin = 63;
constexpr PluginMask mask_of(PluginIndex p) { return p == kNoPlugin ? 0 : PluginMask{1} << p; }

struct Verdict {
  PluginIndex plugin = kNoPlugin;
  /// Evicting pods from the node cannot change it.
  bool unresolvable = false;
  std::vector<std::string> reasons;
  /// Something went wrong that is not the pod's fault: the whole attempt fails, whatever other nodes say.
  bool error = false;
};

/// What plugins reject with, whose number is small, and what names something of a pod, for as long as a class
/// needs it.
class VerdictTable {
 public:
  VerdictTable();
  /// For ever.
  VerdictId intern(Verdict verdict);
  /// Until it is released as often as it was held; then another verdict may get its id.
  VerdictId hold(Verdict verdict);
  void release(VerdictId id);
  const Verdict& operator[](VerdictId id) const { return entries_[id].verdict; }
  /// Every id is below it.
  std::size_t size() const { return entries_.size(); }
  /// Any of them is an error.
  bool errors() const { return errors_; }

 private:
  struct Entry {
    Verdict verdict;
    const std::string* key = nullptr;
    std::uint32_t holders = 0;
    bool kept = false;
  };
  Entry& entry(Verdict verdict, VerdictId& id);

  bool errors_ = false;
  std::vector<Entry> entries_;
  std::vector<VerdictId> free_;
  std::unordered_map<std::string, VerdictId> index_;
};

/// Why no node would do.
struct Diagnosis {
  std::uint32_t nodes = 0;        // in the cluster
  std::string prefilter_message;  // set: the nodes were not even looked at
  std::map<std::string, std::uint32_t> reasons;
  /// The plugins whose rejection could be undone by an event.
  PluginMask rejectors = 0;
  std::string postfilter_message;  // of those that were asked because no node would do
  /// Set: there is no verdict, the attempt failed with this error.
  std::string error;
  /// What the preparation that gave prefilter_message says: victims may help, or not.
  StatusCode code = StatusCode::unschedulable;

  /// So many nodes have this verdict.
  void count(const Verdict& verdict, std::uint32_t nodes);
};

/// kube-scheduler's FitError: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable."
/// The parts are sorted as strings, count first, as there.
std::string fit_error(const Diagnosis& diagnosis);

/// What kube-scheduler says while it knows no node at all.
constexpr std::string_view kNoNodesAvailable = "no nodes available to schedule pods";

}  // namespace koord::scheduling
