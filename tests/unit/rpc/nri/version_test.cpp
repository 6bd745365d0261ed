// Which NRI a runtime has, and the events' names.
#include <catch2/catch.hpp>

#include "koord/rpc/nri.hpp"

namespace koord::rpc::nri {
namespace {

TEST_CASE("A runtime's NRI, from what it says or from its release") {
  struct Row {
    std::string_view nri, runtime, version;
    std::optional<Version> expected;
  };
  for (const Row& row : std::vector<Row>{
           {"v0.12.0", "containerd", "v2.3.0", Version{0, 12}},
           {"0.10.1-rc.1", "", "", Version{0, 10}},
           {"v0.9.1-0.20250219030224-e597e7849f24", "cri-o", "1.33.0", Version{0, 9}},
           {"", "containerd", "v1.7.0", Version{0, 3}},
           {"", "containerd", "1.7.13", Version{0, 4}},
           {"", "containerd", "v1.7.14", Version{0, 6}},
           {"", "containerd", "1.7.25~ds1", Version{0, 6}},
           {"", "containerd", "v1.7.26", Version{0, 8}},
           {"(devel)", "containerd", "v2.0.0-rc.1", Version{0, 8}},
           {"unknown", "containerd", "2.1.4+unknown", Version{0, 8}},
           {"", "containerd", "v2.2.0", Version{0, 10}},
           {"", "containerd", "v2.2.1", Version{0, 11}},
           {"", "containerd", "v2.9.0", Version{0, 11}},  // at least
           {"", "cri-o", "1.29.1", Version{0, 5}},
           {"", "cri-o", "1.31.13", Version{0, 6}},
           {"", "cri-o", "1.32.4", Version{0, 9}},
           {"", "cri-o", "1.34.0", Version{0, 10}},
           {"", "containerd", "v1.6.33", std::nullopt},
           {"", "containerd", "", std::nullopt},
           {"", "containerd", "v2", std::nullopt},
           {"", "containerd", "v2.x", std::nullopt},
           {"", "a fork", "v2.1.4", std::nullopt},
           {"-1.2.3", "", "", std::nullopt},
           {"99999999999.1.1", "", "", std::nullopt},
       }) {
    INFO(row.nri << " " << row.runtime << " " << row.version);
    CHECK(version_of(row.nri, row.runtime, row.version) == row.expected);
  }
}

TEST_CASE("Events have their bits and their calls' names") {
  CHECK(bit(Event::run_pod_sandbox) == 1);
  CHECK(bit(Event::create_container) == 8);
  CHECK(bit(Event::validate_container_adjustment) == 0x2000);
  for (int number = 1; number <= 14; ++number) {
    const auto event = static_cast<Event>(number);
    CHECK(event_named(to_string(event)) == event);
  }
  CHECK(to_string(Event::post_update_pod_sandbox) == "PostUpdatePodSandbox");
  CHECK(event_named("StateChange") == Event::unknown);
  CHECK(event_named("") == Event::unknown);
  CHECK(to_string(static_cast<Event>(15)).empty());
}

}  // namespace
}  // namespace koord::rpc::nri
