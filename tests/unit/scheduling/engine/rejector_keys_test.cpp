// Plugins that refuse, keep out and let wait by key (this quota, that gang), and one that sorts anew:
// throw-away ones, through the whole engine.
#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "support/sanitized.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using Kind = Decision::Kind;
using namespace std::chrono_literals;

Symbol label_of(const PodInfo& pod, std::string_view key) {
  const Symbol* value = pod.pod->metadata.labels.find(key);
  return value != nullptr ? *value : Symbol();
}

/// What a test says to the plugins below, and what they have been asked. One test at a time.
struct Rules {
  Rules() { current = this; }
  ~Rules() { current = nullptr; }
  static inline Rules* current = nullptr;

  CycleControl* cycle = nullptr;
  std::set<std::string, std::less<>> used_up, shut;  // quotas, gangs
  StatusCode veto = StatusCode::unschedulable;
  std::map<std::string, int, std::less<>> room;  // of a quota that counts: how many more
  std::size_t gang = 0;                          // how many are whole
  std::map<std::string, int, std::less<>> rank;  // by pod
  std::size_t admitted = 0, rows = 0, hints = 0;
};

/// Refuses pods of quotas that are used up.
class Quota final : public Plugin,
                    public AdmitPlugin,
                    public NodeFilterPlugin,
                    public ReservePlugin,
                    public EventPlugin {
 public:
  explicit Quota(const PluginContext& context) { Rules::current->cycle = &context.cycle; }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  Status admit(const PodInfo& pod) override {
    ++Rules::current->admitted;
    const Symbol quota = label_of(pod, "quota");
    const auto left = Rules::current->room.find(quota.view());
    if (left != Rules::current->room.end() && left->second <= 0)
      return {StatusCode::unschedulable, "no room", quota};
    if (!Rules::current->used_up.contains(quota.view())) return {};
    return {Rules::current->veto, fmt::format("quota {} is used up", quota.view()), quota};
  }
  Status reserve(PodAttempt& attempt) override {
    const auto left = Rules::current->room.find(label_of(attempt.pod, "quota").view());
    if (left != Rules::current->room.end()) --left->second;
    return {};
  }
  void unreserve(PodAttempt&) override {}
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo&) override { return {}; }
  VerdictId filter_node(PodState*, const NodeTable&, Row) const override {
    ++Rules::current->rows;
    return kPass;
  }
  EventMask events() const override { return events_of(EventKind::plugin_told, EventKind::own_pod_label); }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    ++Rules::current->hints;
    return event.kind == EventKind::own_pod_label || label_of(pod, "quota") == event.about.key;
  }
};

/// Keeps gangs out that are shut, and lets the others wait until so many are there.
class Gang final : public Plugin, public PreEnqueuePlugin, public PermitPlugin, public EventPlugin {
 public:
  explicit Gang(const PluginContext& context) : context_(context) { Rules::current->cycle = &context.cycle; }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool may_enqueue(const PodInfo& pod) const override {
    return !Rules::current->shut.contains(label_of(pod, "gang").view());
  }
  std::string why_kept_out(const PodInfo&) const override { return {}; }
  Symbol kept_out_by(const PodInfo& pod) const override { return label_of(pod, "gang"); }
  Answer permit(PodAttempt& attempt) override {
    const Symbol gang = label_of(attempt.pod, "gang");
    if (gang.empty()) return {};
    if (context_.cycle.waiting(context_.key(gang)) + 1 < Rules::current->gang)
      return {{StatusCode::wait, {}, gang}, 10min};
    context_.cycle.allow_all(context_.key(gang));
    return {};
  }
  EventMask events() const override { return events_of(EventKind::plugin_told); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override {
    ++Rules::current->hints;
    return true;
  }

 private:
  const PluginContext context_;
};

class Ranks final : public Plugin, public QueueSortPlugin {
 public:
  explicit Ranks(const PluginContext& context) { Rules::current->cycle = &context.cycle; }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool less(const QueuedPod& a, const QueuedPod& b) const override {
    const auto rank = [](const QueuedPod& pod) { return Rules::current->rank[pod.info.pod->metadata.name]; };
    return rank(a) < rank(b);
  }
};

constexpr PluginEntry kQuota{.name = "Quota", .make = &make<Quota>};
constexpr PluginEntry kGang{.name = "Gang", .make = &make<Gang>};
constexpr PluginEntry kRanks{.name = "Ranks", .make = &make<Ranks>};

KubeSchedulerConfiguration with(const char* plugin) {
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.emplace();
  plugins.multi_point.enabled = {{plugin, {}}};
  if (plugin == std::string_view("Ranks")) plugins.multi_point.disabled = {{"PrioritySort", {}}};
  return config;
}

struct Keyed : Rules, World {
  explicit Keyed(const char* plugin, EngineOptions options = {})
      : Rules(), World(with(plugin), options, table()) {
    engine.put_node(make_node("n", "100k", "100Ti", [](api::Node& node) {
      node.status.allocatable["pods"] = api::Quantity::must("100k");
    }));
  }
  static PluginTable table() {
    static const std::vector<const PluginEntry*> kTable = [] {
      std::vector<const PluginEntry*> all(plugin_table().begin(), plugin_table().end());
      all.insert(all.end(), {&kQuota, &kGang, &kRanks});
      return all;
    }();
    return kTable;
  }
  std::shared_ptr<const api::Pod> put(std::string name, const char* label, std::string value) {
    auto pod = make_pod(std::move(name), "1m", "1Ki", [&](api::Pod& p) { p.metadata.labels[label] = value; });
    engine.put_pod(pod);
    return pod;
  }
  /// How many decisions of the kind, all of them with the message if there is one.
  std::size_t count(Kind kind, std::string_view message = {}) {
    std::size_t n = 0;
    for (const Decision& d : run()) n += d.kind() == kind && (message.empty() || d.message() == message);
    return n;
  }
};

// Quotas

TEST_CASE("a quota refuses a pod before any node is looked at, and its event asks its pods alone") {
  Keyed k("Quota");
  for (int i = 0; i < 20; ++i) k.used_up.insert(fmt::format("q{}", i));
  for (int i = 0; i < 1000; ++i) k.put(fmt::format("p{}", i), "quota", fmt::format("q{}", i % 20));
  CHECK(k.run().size() == 1000);
  CHECK(k.admitted == 1000);
  CHECK(k.rows == 0);
  CHECK(k.engine.queue_sizes().unschedulable == 1000);

  k.clock.advance(5s);
  k.used_up.erase("q7");
  k.hints = 0;
  k.cycle->happened({"Quota", "q7"}, "QuotaUpdate");
  k.cycle->happened({"Quota", "q7"}, "QuotaUpdate");
  CHECK(k.count(Kind::bind) == 50);
  CHECK(k.hints == 1);
  CHECK(k.admitted == 1050);
  CHECK(k.engine.incoming().at({"active", "QuotaUpdate"}) == 50);
  CHECK(k.engine.queue_sizes().unschedulable == 950);
  // Nothing of it is about nodes.
  k.hints = 0;
  k.engine.put_node(make_node("m"));
  CHECK(k.hints == 0);
  CHECK(k.run().empty());
}

TEST_CASE("a refusal is told as kube-scheduler's PreFilter tells it") {
  Keyed k("Quota");
  k.used_up.insert("q");
  k.veto = GENERATE(StatusCode::unschedulable, StatusCode::unresolvable, StatusCode::error);
  const auto pod = k.put("p", "quota", "q");
  const Decision d = k.one();
  if (k.veto == StatusCode::error) {
    CHECK(d.kind() == Kind::error);
    CHECK(d.message() == "running PreFilter plugin \"Quota\": quota q is used up");
    CHECK(k.engine.queue_sizes().backoff == 1);
    return;
  }
  CHECK(d.kind() == Kind::unschedulable);
  CHECK(d.message() == "0/1 nodes are available: quota q is used up.");
  CHECK(k.engine.queue_sizes().unschedulable == 1);
  // Its label says another quota now.
  k.clock.advance(5s);
  k.engine.put_pod(changed(pod, [](api::Pod& p) { p.metadata.labels["quota"] = "free"; }));
  CHECK(k.one().kind() == Kind::bind);
}

TEST_CASE("of the pods that wait for a quota as many are tried as fit, and one more") {
  Keyed k("Quota");
  k.room["q"] = 0;
  for (int i = 0; i < 100; ++i) k.put(fmt::format("p{:02}", i), "quota", "q");
  CHECK(k.count(Kind::unschedulable) == 100);
  k.clock.advance(20s);
  k.room["q"] = 3;
  k.admitted = 0;
  k.cycle->happened({"Quota", "q"}, "QuotaUpdate");
  CHECK(names(k.run()) == "p00 p01 p02 p03");  // three bound, one told
  CHECK(k.admitted == 100);
  CHECK(k.engine.queue_sizes().unschedulable == 97);
  // Those that were told nothing go on to wait for the quota, and are tried as often as others.
  k.clock.advance(20s);
  k.room["q"] = 100;
  k.cycle->happened({"Quota", "q"}, "QuotaUpdate");
  CHECK(k.count(Kind::bind) == 97);
}

TEST_CASE("who is above those that were refused, or new, is tried and told") {
  Keyed k("Quota");
  k.room["q"] = 0;
  for (const char* name : {"a", "b"}) k.put(name, "quota", "q");
  CHECK(names(k.run()) == "a b");
  const auto above = make_pod("above", "1m", "1Ki", [](api::Pod& p) {
    p.metadata.labels["quota"] = "q";
    p.spec.priority = 10;
  });
  k.engine.put_pod(above);
  CHECK(names(k.run()) == "above");
  k.clock.advance(20s);
  k.cycle->happened({"Quota", "q"}, "QuotaUpdate");
  CHECK(names(k.run()) == "above");  // a and b have heard it
  // Another object of it, and it is asked as if it were new.
  k.clock.advance(20s);
  k.engine.put_pod(changed(above, [](api::Pod& p) { p.metadata.labels["quota"] = "r"; }));
  CHECK(k.one().kind() == Kind::bind);
}

TEST_CASE("who asks what would become of a pod hears of its quota") {
  Keyed k("Quota");
  k.used_up.insert("q");
  const auto pod = k.put("p", "quota", "q");
  const auto refused = k.engine.refusal(k.engine.profiles()[0], pod);
  REQUIRE(refused);
  CHECK(refused->prefilter_message == "quota q is used up");
  CHECK(k.engine.evaluate(k.engine.profiles()[0], pod).feasible() == 1);
  k.used_up.clear();
  CHECK_FALSE(k.engine.refusal(k.engine.profiles()[0], pod));
}

// Gangs

const std::size_t kGangSize = koord::test::hostile(9000);

TEST_CASE("a gang of 9,000 waits, is rejected and bound as one, without a look at the others for each") {
  Keyed k("Gang");
  k.gang = kGangSize;
  for (std::size_t i = 1; i < kGangSize; ++i) k.put(fmt::format("p{}", i), "gang", "g");
  k.put("other", "gang", "h");
  CHECK(k.count(Kind::wait) == kGangSize);
  CHECK(k.cycle->waiting({"Gang", "g"}) == kGangSize - 1);
  CHECK(k.cycle->reject_all({"Gang", "g"}, "gang g does not come together") == kGangSize - 1);
  CHECK(k.count(Kind::unschedulable, "0/1 nodes are available: 1 gang g does not come together.") ==
        kGangSize - 1);
  CHECK(k.engine.assumed() == 1);
  CHECK(k.engine.queue_sizes().unschedulable == kGangSize - 1);

  k.clock.advance(5s);
  k.cycle->happened({"Gang", "h"}, "GangUpdate");
  CHECK(k.run().empty());
  CHECK(k.hints == 0);
  k.put("last", "gang", "g");
  k.cycle->happened({"Gang", "g"}, "GangUpdate");
  CHECK(k.count(Kind::bind) == kGangSize);
  CHECK(k.hints == 1);
  CHECK(k.engine.waiting() == 1);
  CHECK(k.engine.assumed() == kGangSize + 1);
}

TEST_CASE("one member's time runs out: it waits for its gang's event") {
  Keyed k("Gang");
  k.gang = 2;
  k.put("p", "gang", "g");
  CHECK(k.count(Kind::wait) == 1);
  std::size_t seen = 0;
  k.cycle->each_waiting({"Gang", "g"}, [&](const PodAttempt& attempt) { seen += attempt.node == "n"; });
  CHECK(seen == 1);
  k.clock.advance(10min);
  CHECK(k.count(Kind::unschedulable) == 1);
  k.clock.advance(5s);
  k.cycle->happened({"Gang", "other"}, "GangUpdate");
  CHECK(k.run().empty());
  k.cycle->happened({"Gang", {}}, "GangUpdate");
  CHECK(k.count(Kind::wait) == 1);
}

TEST_CASE("what keeps pods out of the queue has a key, too") {
  Keyed k("Gang");
  k.gang = 1;
  k.shut = {"g", "h"};
  const auto moves = k.put("moves", "gang", "h");
  for (const char* name : {"a", "b"}) k.put(name, "gang", "g");
  k.put("c", "gang", "h");
  CHECK(k.run().empty());
  CHECK(k.engine.queue_sizes().gated == 4);
  k.engine.put_pod(changed(moves, [](api::Pod& p) { p.metadata.labels["gang"] = "g"; }));
  CHECK(k.engine.queue_sizes().gated == 4);
  k.shut.clear();
  k.hints = 0;
  k.cycle->happened({"Gang", "g"}, "GangUpdate");
  CHECK(names(k.run()) == "moves a b");
  CHECK(k.hints == 1);
  CHECK(k.engine.queue_sizes().gated == 1);
}

// The order of the queue

TEST_CASE("pods are sorted anew when what they are sorted by has changed") {
  Keyed k("Ranks");
  std::vector<std::shared_ptr<const api::Pod>> pods;
  for (int i = 0; i < 50; ++i) {
    k.rank[fmt::format("p{}", i)] = i;
    pods.push_back(k.put(fmt::format("p{}", i), "a", "b"));
  }
  pods.push_back(make_pod("nobody"));
  pods.push_back(pods.front());
  k.cycle->resort(pods, [&] {
    for (auto& [name, rank] : k.rank) rank = rank * 37 % 50;
  });
  const auto decisions = k.run();
  REQUIRE(decisions.size() == 50);
  for (int i = 0; i < 50; ++i) CHECK(k.rank[decisions[static_cast<std::size_t>(i)].pod->metadata.name] == i);
}

TEST_CASE("pods in backoff are sorted anew, too") {
  Keyed k("Ranks", {.queue = {.initial_backoff = 1s}});
  std::vector<std::shared_ptr<const api::Pod>> pods;
  for (const char* name : {"a", "b", "c"}) pods.push_back(k.put(name, "a", "b"));
  CHECK(k.run().size() == 3);
  for (const auto& pod : pods) CHECK(k.engine.binding_failed(*pod));
  k.cycle->resort(pods, [&] { k.rank = {{"a", 3}, {"b", 1}, {"c", 2}}; });
  k.clock.advance(10s);
  CHECK(names(k.run()) == "b c a");
}

}  // namespace
}  // namespace koord::scheduling::test
