// PrioritySort: see priority_sort.hpp.
#include "plugins/priority_sort/priority_sort.hpp"

#include "framework/queued_pod.hpp"

namespace koord::scheduler::priority_sort {

namespace {

class PrioritySort final : public Plugin, public QueueSortPlugin {
 public:
  explicit PrioritySort(const PluginContext&) {}
  std::string_view name() const override { return "PrioritySort"; }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool less(const QueuedPod& a, const QueuedPod& b) const override {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
    return a.order < b.order;
  }
};

}  // namespace

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context) {
  return make_plain<PrioritySort>(args, context);
}

}  // namespace koord::scheduler::priority_sort
