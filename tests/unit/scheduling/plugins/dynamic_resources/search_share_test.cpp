// What hard searches for devices may take of the engine's time, whoever asks for them.
#include "scheduling/plugins/dynamic_resources/nodes/search_share.hpp"

#include <catch2/catch.hpp>

#include "koord/scheduling/config/kube_gates.hpp"
#include "plugins/dynamic_resources/plugin_rows.hpp"
#include "plugins/numa_rig.hpp"

namespace koord::scheduling::test {
namespace {

using dynamic_resources::SearchShare;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("who has searched for long lets the others work nine times as long") {
  SearchShare share;
  MonoTime now{seconds(100)};
  CHECK(share.of(seconds(10), now) == seconds(10));
  share.spent({}, milliseconds(4), now);  // that is free
  CHECK(share.of(seconds(10), now) == seconds(10));
  share.spent(milliseconds(4), milliseconds(2), now);  // of one attempt
  CHECK(share.of(seconds(10), now) == SearchShare::kFree);
  now += milliseconds(18);
  CHECK(share.of(seconds(10), now) == seconds(10));
  share.spent({}, seconds(10), now);
  share.spent(seconds(10), seconds(1), now);
  now += seconds(98);
  CHECK(share.of(seconds(10), now) == SearchShare::kFree);
  CHECK(share.of(milliseconds(1), now) == milliseconds(1));
  now += seconds(1);
  CHECK(share.of(seconds(10), now) == seconds(10));
}

/// Each look at it takes a millisecond: a search is as long as it has steps.
class Ticking final : public Clock {
 public:
  WallTime now() const override { return WallTime{seconds(1'700'000'000)} + mono().time_since_epoch(); }
  MonoTime mono() const override { return MonoTime{at_ += milliseconds(1)}; }
  TimerId call_at(MonoTime, std::function<void()>) override { return 0; }
  void cancel(TimerId) override {}
  void advance(nanoseconds by) { at_ += by; }

 private:
  mutable nanoseconds at_ = seconds(100);
};

/// Of the last of twelve requests the first may take what it wants, too, and there is not enough of that
/// where all have to be: all ways are tried.
std::string hard_requests() {
  std::string requests;
  for (int i = 0; i < 12; ++i)
    requests +=
        std::string(i == 0 ? "" : ",") + R"({"name":"r)" + std::to_string(i) +
        R"(","exactly":{"deviceClassName":"my-resource-class","allocationMode":"ExactCount","count":1)" +
        (i < 11 ? "" : R"(,"selectors":[{"cel":{"expression":"device.attributes['some-driver'].last"}}])") +
        "}}";
  return requests;
}
std::string hard_devices() {
  std::string devices;
  for (int i = 0; i < 24; ++i)
    devices += std::string(i == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(i) +
               R"(","attributes":{"last":{"bool":false},"numa":{"int":0}}})";
  return devices;
}

struct Hard {
  explicit Hard(KubeSchedulerConfiguration config = {}) {
    filters_alone(config);
    REQUIRE(!!complete(config, plugin_table()));
    auto profiles = build_profiles(config, plugin_table(), engine.context());
    REQUIRE(!!profiles);
    engine.set_profiles(std::move(*profiles));
    put<api::DeviceClass>(class_json());
  }
  template <class T>
  void put(const std::string& json) {
    auto object = api::decode<T>(json);
    REQUIRE(!!object);
    engine.put_object(std::make_shared<const T>(std::move(*object)));
  }
  void put_slice(const std::string& node, const std::string& devices) {
    put<api::ResourceSlice>(R"({"metadata":{"name":")" + node +
                            R"("},"spec":{"driver":"some-driver","nodeName":")" + node +
                            R"(","pool":{"name":")" + node +
                            R"(","generation":1,"resourceSliceCount":1},"devices":[)" + devices + "]}}");
  }
  /// How long it takes to refuse a pod with such a claim.
  nanoseconds attempt(const std::string& name, const std::string& requests) {
    put<api::ResourceClaim>(claim_json(requests, "{}", "claim-" + name));
    engine.put_pod(claim_pod({"claim-" + name}, false, name, "uid-" + name));
    const MonoTime began = clock.mono();
    std::vector<Decision> decisions;
    engine.schedule(1, decisions);
    REQUIRE(decisions.size() == 1);
    CHECK(decisions[0].kind() == Decision::Kind::unschedulable);
    said = decisions[0].message();
    return clock.mono() - began;
  }
  /// The same of several, of which nothing that is kept for one would help the next.
  void check_shares() {
    std::string requests = hard_requests();
    const nanoseconds first = attempt("a", requests);
    CHECK(first >= seconds(10));
    CHECK(first < seconds(11));
    requests +=
        R"(,{"name":"more","exactly":{"deviceClassName":"my-resource-class","allocationMode":"ExactCount","count":1}})";
    CHECK(attempt("b", requests) < milliseconds(100));
    CHECK(attempt("c", requests) < milliseconds(100));
    clock.advance(seconds(95));
    CHECK(attempt("d", requests) >= seconds(9));
  }

  Ticking clock;
  Engine engine{clock, {}};
  std::string said;
};

TEST_CASE("claims that cannot be had and are hard to search do not take the scheduler away from the others") {
  Hard hard;
  for (const char* node : {"n0", "n1", "n2"}) {
    hard.engine.put_node(make_node(node, "64", "64Gi"));
    hard.put_slice(node, hard_devices());
  }
  hard.check_shares();
}

/// What is wanted last is on the other memory node: anywhere it is found at once, on one memory node never.
TEST_CASE(
    "nor do those of which it is hard to say on which memory nodes they can be had, and none of them is "
    "placed") {
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
  for (PluginSet* set : {&plugins.pre_filter, &plugins.filter, &plugins.reserve})
    set->enabled = {{"NodeNUMAResource", {}}};
  Hard hard(config);
  for (const char* node : {"n0", "n1", "n2"}) {
    const NumaMachine machine{.cpus = {2, 1, 4, 2},
                              .labels = {{api::kNumaTopologyPolicyLabel, "SingleNUMANode"}}};
    hard.engine.put_node(machine.node(node));
    hard.engine.put_object<api::NodeResourceTopology>(machine.topology(node));
    hard.put_slice(node,
                   hard_devices() + R"(,{"name":"z","attributes":{"last":{"bool":true},"numa":{"int":1}}})");
  }
  hard.check_shares();
  CHECK_THAT(hard.said, Catch::Matchers::Contains("timed out trying to allocate devices"));
}

}  // namespace
}  // namespace koord::scheduling::test
