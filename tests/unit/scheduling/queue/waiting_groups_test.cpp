// Which waiting pods an event asks: by class, by rejectors, by what of the rejector's it was.
#include "koord/scheduling/queue/waiting_groups.hpp"

#include <catch2/catch.hpp>

#include "koord/scheduling/config/profile.hpp"

namespace koord::scheduling::test {
namespace {

class Wants final : public EventPlugin {
 public:
  EventMask events() const override { return events_of(EventKind::plugin_told, EventKind::node_add); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return true; }
};

struct Groups : WaitingGroups {
  Groups() {
    for (PluginIndex i = 0; i < 2; ++i) {
      profile.plugins.push_back({i == 0 ? "Quota" : "Other", nullptr});
      profile.events.push_back({{i, 0}, &wants});
    }
  }
  QueuedPod& wait(PluginIndex rejector, Symbol key) {
    QueuedPod& pod = pods.emplace_back();
    pod.profile = &profile;
    pod.order = pods.size();
    pod.rejectors = mask_of(rejector);
    pod.rejector_key = std::move(key);
    add(pod);
    return pod;
  }
  /// How many pods are worth it when everybody who is asked is.
  std::size_t woken(const ClusterEvent& event) {
    asked = 0;
    return worth(event,
                 [&](const QueuedPod&) {
                   ++asked;
                   return Hint::queue;
                 })
        .size();
  }
  static ClusterEvent told(Symbol key) {
    return {.kind = EventKind::plugin_told, .about = {"Quota", std::move(key)}};
  }

  Wants wants;
  Profile profile;
  std::deque<QueuedPod> pods;
  std::size_t asked = 0;
};

TEST_CASE("an event of one of 1,000 quotas asks one of its 100 pods, and no other's") {
  Groups g;
  for (int i = 0; i < 100'000; ++i) g.wait(0, fmt::format("quota-{}", i % 1000));
  CHECK(g.woken(Groups::told("quota-7")) == 100);
  CHECK(g.asked == 1);
  CHECK(g.woken(Groups::told("another")) == 0);
  CHECK(g.asked == 0);
}

TEST_CASE("an event of a key asks who was rejected by that plugin, with the key or without one") {
  Groups g;
  QueuedPod& a = g.wait(0, "a");
  g.wait(0, "b");
  g.wait(0, {});
  g.wait(1, "a");  // another plugin's
  CHECK(g.woken(Groups::told("a")) == 2);
  CHECK(g.woken(Groups::told({})) == 3);
  CHECK(g.woken({.kind = EventKind::node_add}) == 4);
  CHECK(g.woken({.kind = EventKind::node_delete}) == 0);
  g.remove(a);
  CHECK(g.woken(Groups::told("a")) == 1);
}

}  // namespace
}  // namespace koord::scheduling::test
