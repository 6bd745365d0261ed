// Devices that reservations keep: who gets them, in which way, and that nobody else does.
#include <catch2/catch.hpp>

#include "reserved_devices.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("whose devices a reservation keeps") {
  struct Row {
    const char* name;
    std::string_view policy, percent;  // what the pod asks for
    bool is_owner = true, wants = false;
    std::string given;
  };
  const auto refused = [](std::string_view why) { return fmt::format("0/1 nodes are available: 1 {}", why); };
  // Of four GPUs two are kept.
  const Row rows[] = {
      {"an owner", "", "200", true, false, "gpu 0 1"},
      {"an owner who wants it", "", "100", true, true, "gpu 0"},
      {"more than is kept", "", "300", true, false, "gpu 0 1 2"},
      {"more than is kept, of a restricted one", "Restricted", "300", true, true,
       refused("Reservation(s) Insufficient koordinator.sh/gpu")},
      {"another", "", "200", false, false, "gpu 2 3"},
      {"another, who asks for more than is left", "", "300", false, false,
       refused("Insufficient GPU Devices")},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ReservedDevices world;
    world.machine("n", {.gpus = 4});
    const auto kept = world.keep(ReservedDevices::reservation("r", "200", row.policy));
    CHECK(
        api::value_or(kept->metadata.annotations, api::DeviceAllocations::kAnnotation).find("\"minor\":1") !=
        std::string_view::npos);
    const auto pod = ReservedDevices::owner("p", row.percent, row.is_owner ? "r" : "x", row.wants);
    const std::string given = world.place_text(pod);
    INFO(given);
    CHECK(given.starts_with(row.given));
  }
}

TEST_CASE("what owners have of a reservation's devices counts once, over a restart, too") {
  ReservedDevices world;
  const DeviceMachine machine{.gpus = 4};
  world.machine("n", machine);
  const auto kept = world.keep(ReservedDevices::reservation("r", "200"));
  const auto first = world.place(ReservedDevices::owner("first", "100", "r"));
  CHECK(world.place_text(ReservedDevices::owner("other", "200", "x")) == "gpu 2 3");
  CHECK(world.place_text(ReservedDevices::owner("second", "100", "r")) == "gpu 1");
  CHECK(world.refused(ReservedDevices::owner("third", "100", "r")).find("Insufficient GPU Devices") !=
        std::string::npos);

  ReservedDevices again;
  again.engine.put_pod(first);
  again.machine("n", machine);
  again.engine.put_object(kept);
  CHECK(again.place_text(ReservedDevices::owner("second", "100", "r")) == "gpu 1");
  CHECK(again.place_text(ReservedDevices::owner("other", "300", "x")).find("Insufficient GPU Devices") !=
        std::string::npos);
}

TEST_CASE("with ResizePod a reservation keeps what its devices come to") {
  static constexpr FeatureGate kGates[] = {
      {.name = "ResizePod", .enabled = true, .stage = Stage::alpha, .help = ""}};
  const FeatureGates gates{kGates};
  ReservedDevices world(gates);
  world.machine("n", {.gpus = 4});
  const auto kept = world.keep(ReservedDevices::reservation("r", "200"));
  CHECK(
      api::value_or(kept->metadata.annotations, api::ReservationResize::kAnnotation) ==
      R"({"resources":{"koordinator.sh/gpu-core":"200","koordinator.sh/gpu-memory":"32Gi","koordinator.sh/gpu-memory-ratio":"200"}})");
  ReservedDevices without;
  without.machine("n", {.gpus = 4});
  CHECK_FALSE(without.keep(ReservedDevices::reservation("r", "200"))
                  ->metadata.annotations.contains(api::ReservationResize::kAnnotation));
}

TEST_CASE("of several reservations that serve, devices have a say in which is chosen") {
  // "two" keeps GPUs 0 and 1, "one" GPU 2, and the fourth is free. One GPU of "two" uses half of what it
  // keeps of GPUs, and leaves half the node's that the pod sees in use; of "one" all, and three of four.
  struct Row {
    const char* args;
    const char* given;
  };
  const Row rows[] = {
      {"", "gpu 0"},
      {R"({"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"koordinator.sh/gpu-memory-ratio","weight":1}]}})",
       "gpu 2"},
      // Of devices nothing counts: how full the reservations would be does.
      {R"({"scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"koordinator.sh/fpga","weight":1}]}})",
       "gpu 2"},
  };
  for (const Row& row : rows) {
    INFO(row.args);
    ReservedDevices world({}, row.args);
    world.machine("n", {.gpus = 4, .topology = false});
    for (const auto& [name, percent] : {std::pair("two", "200"), std::pair("one", "100")})
      world.keep(changed(ReservedDevices::reservation(name, percent), [](api::Reservation& r) {
        for (api::ReservationOwner& owner : r.spec.owners)
          if (owner.label_selector) owner.label_selector->match_labels["app"] = "both";
      }));
    CHECK(world.place_text(ReservedDevices::owner("p", "100", "both")) == row.given);
  }
}

TEST_CASE("preempted pods give a reservation's devices back to its owners alone") {
  struct Row {
    const char *name, *app;
    const char* victim;  // "": nobody
  };
  // "r" keeps GPU 0, which "less" has; GPU 1 is "more"'s. Whoever asks stands between both.
  const Row rows[] = {{"an owner", "r", "less"}, {"another", "x", ""}};
  for (const Row& row : rows) {
    INFO(row.name);
    KubeSchedulerConfiguration config = ReservedDevices::config({});
    config.profiles[0].plugins->post_filter.enabled.push_back({"DefaultPreemption", {}});
    ReservedDevices world(std::move(config));
    world.machine("n", {.gpus = 2});
    world.keep(ReservedDevices::reservation("r", "100"));
    const auto of_priority = [](const std::shared_ptr<const api::Pod>& pod, int priority) {
      return test::changed(pod, [=](api::Pod& p) { p.spec.priority = priority; });
    };
    const auto less = world.place(of_priority(ReservedDevices::owner("less", "100", "r"), 0));
    world.place(of_priority(ReservedDevices::owner("more", "100", "x"), 100));
    const Decision d = world.put(of_priority(ReservedDevices::owner("p", "100", row.app), 50));
    if (*row.victim == '\0') {
      CHECK(d.preemption().victims.empty());
      continue;
    }
    REQUIRE(d.preemption().victims.size() == 1);
    CHECK(d.preemption().victims[0].pod->metadata.name == row.victim);
    world.engine.preempted(*d.pod, true);
    world.engine.remove_pod(*less);
    world.clock.advance(std::chrono::seconds(20));
    CHECK(DeviceWorld::given(world.one()) == "gpu 0");
  }
}

TEST_CASE("a reservation of which others have the devices serves nobody") {
  ReservedDevices world;
  world.machine("n", {.gpus = 2, .topology = false});
  world.keep(ReservedDevices::reservation("r", "100"));
  const auto pod = ReservedDevices::owner("p", "100", "r", true);
  CHECK(world.refused(pod).empty());
  // Somebody in it, with more than it keeps.
  const char* const both =
      R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}},{"minor":1,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}}]})";
  world.engine.put_pod(test::changed(ReservedDevices::owner("there", "200", "r"), [&](api::Pod& p) {
    p.spec.node_name = "n";
    p.metadata.annotations[api::DeviceAllocations::kAnnotation] = both;
    p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"name":"r","uid":"uid-of-r"})";
  }));
  CHECK(world.refused(pod).find("Insufficient gpu devices") != std::string::npos);
}

TEST_CASE("a reservation that takes over running pods has their devices") {
  struct Row {
    const char* name;
    std::string_view percent;
    std::string given;
    bool taken_over = true;
    bool topology = false;
  };
  // "there" has GPUs 2 and 3 of four, and is of the reservation's owners.
  const Row rows[] = {
      {"as many as the pod has", "200", "2 3"},
      {"where the machine's topology would have others first", "200", "2 3", true, true},
      {"fewer, so that the pod is not taken over", "100", "0", false},
      {"more", "300", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ReservedDevices world;
    const DeviceMachine machine{.gpus = 4, .topology = row.topology};
    world.machine("n", machine);
    const auto there = test::changed(ReservedDevices::owner("there", "200", "r"), [](api::Pod& p) {
      p.spec.node_name = "n";
      p.metadata.resource_version = "1";
      p.metadata.annotations[api::DeviceAllocations::kAnnotation] =
          R"({"gpu":[{"minor":2,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}},{"minor":3,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}}]})";
    });
    world.engine.put_pod(there);
    const auto wanted = changed(ReservedDevices::reservation("r", row.percent, "Restricted"),
                                [](api::Reservation& r) { r.spec.pre_allocation = true; });
    world.engine.put_object(wanted);
    const Decision d = world.one();
    INFO(d.message());
    const auto* const bind = d.as<Decision::Bind>();
    CHECK((bind != nullptr) == !row.given.empty());
    if (bind == nullptr) continue;
    const std::string given = DeviceWorld::given(d);
    REQUIRE(given.starts_with("gpu "));
    std::vector<char> minors;
    for (const char each : given.substr(4))
      if (each != ' ') minors.push_back(each);
    std::ranges::sort(minors);
    CHECK(fmt::format("{}", fmt::join(minors, " ")) == row.given);
    if (!row.taken_over) continue;
    // As the API server has both then: the pod has room of it, which counts once.
    world.engine.put_pod(test::changed(there, [](api::Pod& p) {
      p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"name":"r","uid":"uid-of-r"})";
    }));
    world.engine.put_object(changed(wanted, [&](api::Reservation& r) {
      for (const auto& [key, value] : bind->changes->annotations) r.metadata.annotations[key] = Symbol(value);
      reservation::set_available(r, d.node(), world.clock.now());
    }));
    const std::size_t left = 4 - minors.size();
    CHECK(world.refused(ReservedDevices::owner("other", fmt::format("{}", 100 * left), "x")).empty());
    CHECK_FALSE(
        world.refused(ReservedDevices::owner("other", fmt::format("{}", 100 * (left + 1)), "x")).empty());
    // When the pod goes its owners find them.
    world.engine.remove_pod(*there);
    CHECK(world.place_text(ReservedDevices::owner("next", "200", "r")).find('2') != std::string::npos);
    CHECK_FALSE(
        world.refused(ReservedDevices::owner("other", fmt::format("{}", 100 * (left + 1)), "x")).empty());
  }
}

}  // namespace
}  // namespace koord::scheduling::test
