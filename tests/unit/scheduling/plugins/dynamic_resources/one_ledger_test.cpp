// DeviceShare and DynamicResources give out the same GPUs, and never one of them twice.
#include <catch2/catch.hpp>

#include <random>
#include <set>

#include "koord/scheduling/plugin/complaints.hpp"
#include "plugins/device_rig.hpp"
#include "plugins/dynamic_resources/plugin_rows.hpp"

namespace koord::scheduling::test {
namespace {

/// "worker" has GPUs gpu-0, gpu-1, ... in its Device; a slice lists them as instance-1, instance-2, ...
struct OneLedger : ClaimRig {
  explicit OneLedger(int gpus = 2, Options options = {})
      : ClaimRig(with_shares(std::move(options))), count(gpus) {
    world.engine.context().shared.get<Complaints>().tell(
        [this](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
          told.push_back(fmt::format("{} {}: {}", kind, object.name, what));
        });
    world.engine.put_node(DeviceMachine{.gpus = gpus}.node(kNode));
    put_class(class_json());
    put_slice(named_slice());
    put_device();
  }
  static Options with_shares(Options options) {
    options.shares = true;
    return options;
  }
  void put_device() { world.engine.put_object<api::Device>(DeviceMachine{.gpus = count}.device(kNode)); }
  std::string named_slice(const std::string& attribute = "uuid", int parts = 1) const {
    std::string devices;
    for (int i = 0; i < count * parts; ++i)
      devices += fmt::format(R"({}{{"name":"instance-{}","attributes":{{"{}":{{"string":"gpu-{}"}}}}}})",
                             i == 0 ? "" : ",", i + 1, attribute, i / parts);
    return fmt::format(
        R"({{"metadata":{{"name":"worker-some-driver"}},"spec":{{"driver":"some-driver","nodeName":"worker",)"
        R"("pool":{{"name":"worker","generation":1,"resourceSliceCount":1}},"devices":[{}]}}}})",
        devices);
  }
  void pending(const std::string& name) { put_claim(claim_json(one_request(), "{}", name)); }
  std::shared_ptr<const api::Pod> claimant(const std::string& name) {
    pending("claim-" + name);
    return claim_pod({"claim-" + name}, false, name, "uid-" + name);
  }
  /// As the API server has it when it is bound.
  std::string place(const std::shared_ptr<const api::Pod>& pod) {
    world.engine.put_pod(pod);
    const Decision d = world.one();
    const auto* const bind = d.as<Decision::Bind>();
    if (bind == nullptr) return d.message();
    const std::string given = DeviceWorld::given(d);
    carry_out(d);
    world.engine.put_pod(bound[pod->metadata.name] = DeviceWorld::bound(d));
    return given == "nothing" ? has("claim-" + pod->metadata.name) : given;
  }
  void remove(const std::string& name) {
    world.engine.remove_pod(*bound.at(name));
    bound.erase(name);
  }
  /// As the controller does when the claim's pod has gone.
  void deallocate(const std::string& name) {
    claims.at("claim-" + name).status = {};
    claims.at("claim-" + name).metadata.resource_version = std::to_string(++version);
    tell();
  }

  int count;
  std::uint64_t version = 10'000;
  std::map<std::string, std::shared_ptr<const api::Pod>> bound;
  std::vector<std::string> told;
};

const std::string kNoClaim = none_fits("cannot allocate all claims"),
                  kNoGpu = none_fits("Insufficient GPU Devices", "no new claims to deallocate");

TEST_CASE("a claim gets no GPU of which DeviceShare has given something, and the other way round") {
  OneLedger w(2);
  CHECK(w.place(part_of_gpu("share", "10")) == "gpu 0");
  CHECK(w.place(w.claimant("a")) == "req-1=instance-2@worker; a");
  CHECK(w.place(w.claimant("b")) == kNoClaim);
  CHECK(w.place(whole_gpus("whole", "100")) == kNoGpu);
  CHECK(w.place(part_of_gpu("share-2", "10")) == "gpu 0");  // a GPU is shared as before
  CHECK(w.told.empty());
}

TEST_CASE("who waits for a GPU is asked again when the other side gives one back") {
  OneLedger w(1);
  w.place(whole_gpus("whole", "100"));
  CHECK(w.place(w.claimant("a")) == kNoClaim);
  w.remove("whole");
  w.world.clock.advance(std::chrono::seconds(20));
  CHECK(w.next() == "bound to worker");
  CHECK(w.has("claim-a") == "req-1=instance-1@worker; a");

  CHECK(w.place(whole_gpus("whole", "100")) == kNoGpu);
  w.world.engine.remove_pod(*w.claimant("a"));
  w.deallocate("a");
  w.world.clock.advance(std::chrono::seconds(20));
  CHECK(w.next() == "bound to worker");
}

TEST_CASE("a share that is reserved and not bound yet counts, and so does a claim") {
  OneLedger w(1);
  w.world.engine.put_pod(whole_gpus("whole", "100"));
  const Decision share = w.world.one();
  REQUIRE(share.kind() == Decision::Kind::bind);
  CHECK(w.attempt(w.claimant("a")) == kNoClaim);

  OneLedger other(1);
  other.world.engine.put_pod(other.claimant("a"));
  const Decision claim = other.world.one();
  REQUIRE(claim.kind() == Decision::Kind::bind);
  CHECK(other.attempt(whole_gpus("whole", "100")) == kNoGpu);
}

TEST_CASE("all devices that are parts of a GPU are taken with it, by whatever name the driver knows it") {
  for (const char* attribute : {"uuid", "parentUUID", "some-driver/uuid"}) {
    INFO(attribute);
    OneLedger w(2);
    w.put_slice(w.named_slice(attribute, 3));
    CHECK(w.place(part_of_gpu("share", "10")) == "gpu 0");
    CHECK(w.place(w.claimant("a")) == "req-1=instance-4@worker; a");
    CHECK(w.place(whole_gpus("whole", "100")) == kNoGpu);
    CHECK(w.place(w.claimant("b")) == "req-1=instance-5@worker; b");
    CHECK(w.place(w.claimant("c")) == "req-1=instance-6@worker; c");
    CHECK(w.place(w.claimant("d")) == kNoClaim);
  }
}

TEST_CASE("the attributes are arguments, and of another name nothing is known") {
  OneLedger w(1, {.args = R"({"gpuNames":{"ids":["example.test/serial"]}})"});
  w.put_slice(w.named_slice("example.test/serial"));
  w.place(whole_gpus("whole", "100"));
  CHECK(w.place(w.claimant("a")) == kNoClaim);

  OneLedger unnamed(1, {.args = R"({"gpuNames":{"ids":["example.test/serial"]}})"});
  unnamed.place(whole_gpus("whole", "100"));
  CHECK(unnamed.place(unnamed.claimant("a")) == "req-1=instance-1@worker; a");
}

TEST_CASE("admin access takes nothing from DeviceShare") {
  OneLedger w(1);
  w.put_claim(claim_json(one_request(R"(,"adminAccess":true)"), "{}", "claim-a"));
  CHECK(w.place(claim_pod({"claim-a"}, false, "a", "uid-a")) == "req-1=instance-1@worker; a");
  CHECK(w.place(whole_gpus("whole", "100")) == "gpu 0");
}

TEST_CASE("after a restart it is as before, in whatever order the objects come") {
  OneLedger before(3);
  before.place(whole_gpus("whole", "100"));
  before.place(before.claimant("a"));
  REQUIRE(before.has("claim-a") == "req-1=instance-2@worker; a");
  const auto claim = before.claims.at("claim-a");
  for (const std::string order : {"dspc", "cpsd", "pdcs", "scdp", "spcd"}) {
    INFO(order);
    ClaimRig after({.shares = true});
    after.put_class(class_json());
    after.world.engine.put_node(DeviceMachine{.gpus = 3}.node(kNode));
    for (const char what : order) {
      if (what == 'd') after.world.engine.put_object<api::Device>(DeviceMachine{.gpus = 3}.device(kNode));
      if (what == 's') after.put_slice(before.named_slice());
      if (what == 'p')
        for (const auto& [name, pod] : before.bound) after.world.engine.put_pod(pod);
      if (what == 'c') {
        after.claims["claim-a"] = claim;
        after.tell();
      }
    }
    after.put_claim(claim_json(one_request(), "{}", "claim-b"));
    CHECK(after.attempt(whole_gpus("two", "200")) == kNoGpu);
    CHECK(after.attempt(claim_pod({"claim-b"}, false, "b", "uid-b")) == "bound to worker");
    CHECK(after.has("claim-b") == "req-1=instance-3@worker; b");
    CHECK(after.attempt(whole_gpus("one", "100")) == kNoGpu);
  }
}

TEST_CASE("whatever comes and goes, no GPU is given by both") {
  std::mt19937 random(2855);  // NOLINT(cert-msc32-c,cert-msc51-cpp): each run the same
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  std::size_t of_claims = 0, of_shares = 0, refused = 0;
  OneLedger w(4);
  std::set<std::string> claimants, sharers;
  for (int step = 0; step < 600; ++step) {
    const std::string name = fmt::format("p{}", step);
    switch (below(6)) {
      case 0:
      case 1: {
        const std::string has = w.place(w.claimant(name));
        if (has.starts_with("req-1")) {
          claimants.insert(name);
        } else {
          ++refused;
          w.world.engine.remove_pod(*claim_pod({"claim-" + name}, false, name, "uid-" + name));
          w.remove_claim("claim-" + name);
        }
        break;
      }
      case 2:
      case 3: {
        const auto pod = below(2) == 0 ? whole_gpus(name, "100") : part_of_gpu(name, "40");
        if (w.place(pod).starts_with("gpu")) {
          sharers.insert(name);
        } else {
          ++refused;
          w.world.engine.remove_pod(*pod);
        }
        break;
      }
      case 4:
        if (!claimants.empty() && below(2) == 0) {
          const std::string gone = *claimants.begin();
          claimants.erase(gone);
          w.remove(gone);
          w.remove_claim("claim-" + gone);
        } else if (!sharers.empty()) {
          const std::string gone = *sharers.begin();
          sharers.erase(gone);
          w.remove(gone);
        }
        break;
      default:
        // Drivers and agents write the same again, or go and come back.
        if (below(2) == 0) {
          w.put_slice(w.named_slice());
        } else {
          if (below(2) == 0)
            w.world.engine.remove_object<api::Device>(DeviceMachine{.gpus = 4}.device(kNode));
          w.put_device();
        }
    }
    std::set<int> claimed, shared;
    for (const std::string& each : claimants) {
      const auto& results = w.claims.at("claim-" + each).status.allocation->devices.results;
      REQUIRE(results.size() == 1);
      REQUIRE(claimed.insert(std::stoi(results[0].device.str().substr(9)) - 1).second);
    }
    for (const std::string& each : sharers) {
      api::DeviceAllocations said;
      REQUIRE(!!api::decode_annotation(
          *w.bound.at(each)->metadata.annotations.find(api::DeviceAllocations::kAnnotation), said));
      for (const auto& [type, devices] : said.devices)
        for (const api::AllocatedDevice& device : devices) shared.insert(device.minor);
    }
    for (const int gpu : claimed) REQUIRE_FALSE(shared.contains(gpu));
    of_claims += claimed.size();
    of_shares += shared.size();
  }
  CHECK(of_claims > 300);
  CHECK(of_shares > 300);
  CHECK(refused > 50);
  CHECK(w.told.empty());
}

}  // namespace
}  // namespace koord::scheduling::test
