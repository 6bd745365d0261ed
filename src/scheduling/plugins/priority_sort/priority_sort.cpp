// PrioritySort: the pod of higher priority first, then the one that waits longer.
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/queue/queued_pod.hpp"

namespace koord::scheduling {

namespace priority_sort {
namespace {

class PrioritySort final : public Plugin, public QueueSortPlugin {
 public:
  explicit PrioritySort(const PluginContext&) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool less(const QueuedPod& a, const QueuedPod& b) const override {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
    return a.order < b.order;
  }
};

}  // namespace
}  // namespace priority_sort

extern const PluginEntry kPrioritySort{.name = "PrioritySort", .make = &make<priority_sort::PrioritySort>};

}  // namespace koord::scheduling
