// Pods that wait for permits, alone and by key.
#include "koord/scheduling/engine/permit_waits.hpp"

#include <catch2/catch.hpp>

#include "koord/scheduling/config/profile.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kNow{100s};
constexpr PluginIndex kGang = 0, kOther = 1;

struct Waits : PermitWaits {
  explicit Waits(std::size_t pods) : pods(pods) {
    profile.plugins.push_back({"Gang", nullptr});
    profile.plugins.push_back({"Other", nullptr});
    for (std::size_t i = 0; i < pods; ++i) {
      this->pods[i].info.pod = make_pod(fmt::format("p{}", i));
      this->pods[i].profile = &profile;
    }
  }
  void wait(std::size_t i, std::vector<On> on) { add(pods[i], on, kNow, {}, 0); }
  std::string uid(std::size_t i) const { return pods[i].info.pod->metadata.uid; }
  /// The pods whose waits are over, and how.
  std::string over(MonoTime now = kNow) {
    std::string text;
    while (auto outcome = next(now))
      text += fmt::format("{}:{}:{} ", outcome->pod->info.pod->metadata.name, label(outcome->status.code),
                          outcome->status.key.view());
    return text;
  }

  Profile profile;
  std::vector<QueuedPod> pods;
};

TEST_CASE("who waits with a key is told with all others of that key, and with nobody else") {
  Waits w(5);
  w.wait(0, {{kGang, 60s, "a"}});
  w.wait(1, {{kGang, 60s, "b"}});
  w.wait(2, {{kGang, 60s, "a"}, {kOther, 60s}});
  w.wait(3, {{kOther, 60s, "a"}});  // another plugin's
  w.wait(4, {{kGang, 60s}});
  CHECK(w.PermitWaits::size({"Gang", "a"}) == 2);
  CHECK(w.PermitWaits::size({"Other", "a"}) == 1);
  CHECK(w.PermitWaits::size({"Gang", "c"}) == 0);
  REQUIRE(w.PermitWaits::pods({"Gang", "a"}).size() == 2);
  CHECK(w.PermitWaits::pods({"Gang", "a"})[1] == &w.pods[2]);

  CHECK(w.allow_all({"Gang", "a"}) == 2);
  CHECK(w.PermitWaits::size({"Gang", "a"}) == 0);
  CHECK(w.over() == "p0:Success: ");
  w.allow(w.uid(2), kOther);
  CHECK(w.over() == "p2:Success: ");
  CHECK(w.allow_all({"Gang", "a"}) == 0);

  CHECK(w.reject_all({"Gang", "b"}, "no") == 1);
  CHECK(w.over() == "p1:Unschedulable:b ");
  CHECK(w.size() == 2);
}

TEST_CASE("a wait that ends otherwise leaves its key") {
  Waits w(5);
  for (std::size_t i = 0; i < 5; ++i) w.wait(i, {{kGang, i == 4 ? 30s : 60s, "a"}});
  w.allow(w.uid(0), kGang);
  CHECK(w.reject(w.uid(1), kGang, "no"));
  CHECK(w.reject(w.uid(2), kOther, "preempted"));
  w.remove(w.pods[3]);
  CHECK(w.PermitWaits::size({"Gang", "a"}) == 1);
  CHECK(w.over() == "p0:Success: p1:Unschedulable:a p2:Unschedulable: ");
  CHECK(w.over(kNow + 30s) == "p4:Unschedulable:a ");
  CHECK(w.PermitWaits::size({"Gang", "a"}) == 0);
  CHECK_FALSE(w.next_wakeup());
}

TEST_CASE("one that is removed after its wait was over is passed over") {
  Waits w(3);
  for (std::size_t i = 0; i < 3; ++i) w.wait(i, {{kGang, 60s, "a"}});
  CHECK(w.allow_all({"Gang", "a"}) == 3);
  w.remove(w.pods[0]);
  w.remove(w.pods[2]);
  CHECK(w.over() == "p1:Success: ");
}

// Were any of it quadratic, these would be hundreds of millions of steps.
TEST_CASE("a key of 20,000 pods is allowed and rejected at once") {
  constexpr std::size_t kPods = 20'000;
  Waits w(kPods);
  for (std::size_t i = 0; i < kPods; ++i) w.wait(i, {{kGang, 60s, "a"}});
  const bool allowed = GENERATE(true, false);
  CHECK((allowed ? w.allow_all({"Gang", "a"}) : w.reject_all({"Gang", "a"}, "no")) == kPods);
  std::size_t over = 0;
  while (auto outcome = w.next(kNow)) over += outcome->status.ok() == allowed;
  CHECK(over == kPods);
  CHECK(w.size() == 0);
}

TEST_CASE("what happened meanwhile is known by kind") {
  EventLog log;
  log.add({{.kind = EventKind::node_add}, nullptr, nullptr});
  log.add({{.kind = EventKind::node_label}, nullptr, nullptr});
  CHECK(log.any(events_of(EventKind::node_add), 0));
  CHECK_FALSE(log.any(events_of(EventKind::node_add), 1));
  CHECK(log.any(events_of(EventKind::node_add, EventKind::node_label), 1));
  CHECK_FALSE(log.any(EventMask::all(), 2));
}

}  // namespace
}  // namespace koord::scheduling::test
