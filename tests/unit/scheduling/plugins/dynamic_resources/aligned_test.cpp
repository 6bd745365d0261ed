// Where a policy of memory nodes is, a pod's CPUs and the devices of its claims are on the same.
#include <catch2/catch.hpp>

#include "plugins/dynamic_resources/claim_rig.hpp"
#include "plugins/dynamic_resources/plugin_rows.hpp"
#include "plugins/numa_rig.hpp"

namespace koord::scheduling::test {
namespace {

KubeSchedulerConfiguration with_memory_nodes() {
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
  for (PluginSet* set : {&plugins.pre_filter, &plugins.filter, &plugins.reserve, &plugins.pre_bind})
    set->enabled = {{"NodeNUMAResource", {}}};
  plugins.pre_bind.enabled.push_back({"DefaultPreBind", {}});
  return config;
}

/// A machine "worker" of two memory nodes with eight CPUs each, and devices on them: "01" is instance-1 on
/// memory node 0 and instance-2 on memory node 1; "-": on none that is known.
struct Aligned : ClaimRig {
  explicit Aligned(const std::string& policy, const std::string& devices,
                   const std::string& attribute = "resource.kubernetes.io/numaNode",
                   const std::string& args = "")
      : Aligned(with_memory_nodes(), policy, devices, attribute, args) {}

  static std::string slice(const std::string& devices, const std::string& attribute) {
    std::string all;
    for (std::size_t i = 0; i < devices.size(); ++i)
      all += fmt::format(R"({}{{"name":"instance-{}"{}}})", i == 0 ? "" : ",", i + 1,
                         devices[i] == '-'
                             ? ""
                             : fmt::format(R"(,"attributes":{{"{}":{{"int":{}}}}})", attribute, devices[i]));
    return fmt::format(
        R"({{"metadata":{{"name":"worker-some-driver"}},"spec":{{"driver":"some-driver","nodeName":"worker",)"
        R"("pool":{{"name":"worker","generation":1,"resourceSliceCount":1}},"devices":[{}]}}}})",
        all);
  }
  /// The claim NAME, for so many, and a pod of that name with so many CPUs of its own.
  std::string place(const std::string& name, const std::string& cpus,
                    const std::string& request = one_request()) {
    if (!claims.contains(name)) put_claim(claim_json(request, "{}", name));
    return place_user(name, name, cpus);
  }
  std::string place_user(const std::string& name, const std::string& claim, const std::string& cpus) {
    auto pod = std::make_shared<api::Pod>(*claim_pod({claim}, false, name, "uid-" + name));
    pod->spec.containers[0].resources.requests["cpu"] = api::Quantity::must(cpus);
    pod->metadata.labels[api::kQosLabel] = "LSR";
    world.engine.put_pod(pod);
    const Decision d = world.one();
    const auto* const bind = d.as<Decision::Bind>();
    if (bind == nullptr) return d.message();
    carry_out(d);
    world.engine.put_pod(NumaWorld::bound(d));
    return fmt::format("{}, {}", NumaWorld::given(d), has(claim));
  }

 private:
  Aligned(const KubeSchedulerConfiguration& config, const std::string& policy, const std::string& devices,
          const std::string& attribute, const std::string& args)
      : ClaimRig({.args = args, .config = &config}) {
    NumaMachine machine{.cpus = {2, 1, 4, 2}};
    if (!policy.empty()) machine.labels = {{api::kNumaTopologyPolicyLabel, policy}};
    world.engine.put_node(machine.node(kNode));
    world.engine.put_object<api::NodeResourceTopology>(machine.topology(kNode));
    put_class(class_json());
    put_slice(slice(devices, attribute));
  }
};

std::string request_for(int count) {
  return fmt::format(
      R"({{"name":"req-1","exactly":{{"deviceClassName":"{}","allocationMode":"ExactCount","count":{}}}}})",
      kClass, count);
}

struct AlignedCase {
  const char* name;
  const char* policy;
  const char* devices;
  int count;
  const char* first;  // CPUs of a pod that is there before, on memory node 0
  const char* cpus;
  const char* says;  // a part of it
};

TEST_CASE("CPUs and devices of claims come from one memory node") {
  constexpr const char *kSingle = "SingleNUMANode", *kRestricted = "Restricted", *kBest = "BestEffort";
  for (const AlignedCase& c : {
           AlignedCase{"a device on the second memory node alone takes the CPUs there", kSingle, "1", 1, "",
                       "4", R"("cpuset":"8-11")"},
           AlignedCase{"so does what is restricted", kRestricted, "1", 1, "", "4", R"("cpuset":"8-11")"},
           AlignedCase{"and best effort", kBest, "1", 1, "", "4", "req-1=instance-1@worker"},
           AlignedCase{"without a policy nobody asks", "", "1", 1, "", "4", R"("cpuset":"0-3")"},
           AlignedCase{"the first device is not near enough to the CPUs that are left", kSingle, "01", 1, "6",
                       "4", "req-1=instance-2@worker"},
           AlignedCase{"no memory node has both", kSingle, "0", 1, "6", "4",
                       "resourceclaims prefer [01] among [01 11]"},
           AlignedCase{"nor where it is restricted", kRestricted, "0", 1, "6", "4",
                       "resourceclaims prefer [01] among [01 11]"},
           AlignedCase{"best effort goes all the same", kBest, "0", 1, "6", "4", "req-1=instance-1@worker"},
           AlignedCase{"two devices of one memory node", kSingle, "0110", 2, "", "4",
                       "req-1=instance-1@worker req-1=instance-4@worker"},
           AlignedCase{"two that are apart", kSingle, "01", 2, "", "4",
                       "resourceclaims prefer [11] among [11]"},
           AlignedCase{"a device of which nobody says where it is goes anywhere", kSingle, "-", 1, "6", "4",
                       "req-1=instance-1@worker"},
           AlignedCase{"a memory node that the machine has not", kSingle, "7", 1, "", "4",
                       "Unsatisfied NUMA resourceclaims"},
       }) {
    INFO(c.name);
    Aligned w(c.policy, c.devices);
    if (*c.first != '\0') {
      w.world.engine.put_pod(lsr_pod("first", c.first));
      const Decision d = w.world.one();
      REQUIRE(d.kind() == Decision::Kind::bind);
      w.world.engine.put_pod(NumaWorld::bound(d));
    }
    CHECK_THAT(w.place("claim", c.cpus, request_for(c.count)), Catch::Matchers::Contains(c.says));
  }
}

TEST_CASE("a claim that others share has its CPUs where its devices are") {
  Aligned w("SingleNUMANode", "1");
  CHECK_THAT(w.place("claim", "2"), Catch::Matchers::Contains(R"("cpuset":"8-9")"));
  CHECK_THAT(w.place_user("other", "claim", "4"), Catch::Matchers::Contains(R"("cpuset":"10-13")"));
  // There are two left on that memory node, and eight on the other.
  CHECK_THAT(w.place_user("last", "claim", "4"), Catch::Matchers::Contains("resourceclaims prefer [10]"));
}

TEST_CASE("who was refused for where its devices are is tried again when CPUs there are free") {
  Aligned w("SingleNUMANode", "0");
  w.world.engine.put_pod(lsr_pod("first", "6"));
  const auto first = NumaWorld::bound(w.world.one());
  w.world.engine.put_pod(first);
  CHECK_THAT(w.place("claim", "4"), Catch::Matchers::Contains("resourceclaims prefer"));
  w.world.clock.advance(std::chrono::seconds(20));
  CHECK(w.next().empty());
  w.world.engine.remove_pod(*first);
  CHECK(w.next() == "bound to worker");
}

TEST_CASE("where a pod was to be in an attempt that failed is forgotten") {
  Aligned w("SingleNUMANode", "1");
  w.put_claim(claim_json(one_request(), "{}", "claim"));
  auto pod = std::make_shared<api::Pod>(*claim_pod({"claim"}, false, "claim", "uid-claim"));
  pod->spec.containers[0].resources.requests["cpu"] = api::Quantity::must("4");
  pod->metadata.labels[api::kQosLabel] = "LSR";
  w.world.engine.put_pod(pod);
  const Decision failed = w.world.one();  // on memory node 1
  REQUIRE(failed.kind() == Decision::Kind::bind);
  w.refuse = [](const std::string&) { return koord::test::status_response(500, "InternalError"); };
  REQUIRE(w.carry_out(failed).starts_with("failed"));
  w.refuse = nullptr;
  // Now there are CPUs on memory node 0 alone, and a device on each.
  w.put_slice(Aligned::slice("10", "resource.kubernetes.io/numaNode"));
  const auto put = [&](const char* name, const char* cpus) {
    w.world.engine.put_pod(lsr_pod(name, cpus));
    const Decision d = w.world.one();
    REQUIRE(d.kind() == Decision::Kind::bind);
    const auto bound = NumaWorld::bound(d);
    w.world.engine.put_pod(bound);
    return bound;
  };
  const auto first = put("first", "8");
  put("second", "6");
  w.world.engine.remove_pod(*first);
  w.world.clock.advance(std::chrono::seconds(20));
  CHECK(w.next() == "bound to worker");
  CHECK(w.has("claim") == "req-1=instance-2@worker; claim");
}

struct NameCase {
  const char* attribute;
  const char* args;
  bool known;
};

TEST_CASE("attributes that say on which memory node a device is") {
  for (const NameCase& c : {
           NameCase{"resource.kubernetes.io/numaNode", "", true},
           NameCase{"numaNode", "", true},
           NameCase{"some-driver/numaNode", "", true},
           NameCase{"numaNodeID", "", true},
           NameCase{"numa", "", true},
           NameCase{"other-driver/numaNode", "", false},
           NameCase{"socket", "", false},
           NameCase{"socket", R"({"numaNodes":{"attributes":["socket"]}})", true},
           NameCase{"numaNode", R"({"numaNodes":{"attributes":[]}})", false},
       }) {
    INFO(c.attribute << c.args);
    Aligned w("SingleNUMANode", "1", c.attribute, c.args);
    CHECK_THAT(w.place("claim", "4"),
               Catch::Matchers::Contains(c.known ? R"("cpuset":"8-11")" : R"("cpuset":"0-3")"));
  }
}

}  // namespace
}  // namespace koord::scheduling::test
