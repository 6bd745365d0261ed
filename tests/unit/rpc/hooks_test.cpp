// Runtime hooks: golden bytes, round trips, names.
#include "koord/rpc/hooks.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace koord::rpc::hooks {
namespace {

TEST_CASE("Stages have their names and calls, both ways") {
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    CHECK(stage_named(to_string(stage)) == stage);
    CHECK(method_of(stage).empty() == (i >= kCalledStages));
    if (i < kCalledStages) CHECK(method_of(stage).ends_with(fmt::format("/{}Hook", to_string(stage))));
  }
  CHECK_FALSE(stage_named("PreRunPodsandbox"));
  CHECK_FALSE(stage_named(""));
}

TEST_CASE("Field numbers are the wire's") {
  PodRequest pod;
  pod.meta = {.name = "p", .uid = "u", .ns = "n", .attempt = 3};
  pod.runtime_handler = "r";
  pod.labels = {{"k", "v"}};
  pod.cgroup_parent = "c";
  CHECK(encode(pod) == ("\x0a\x0b\x0a\x01p\x12\x01u\x1a\x01n\x20\x03"
                        "\x12\x01r\x1a\x06\x0a\x01k\x12\x01v\x2a\x01"
                        "c"));
  ContainerResponse container;
  container.resources = Resources{.cpu_period = 1,
                                  .cpu_quota = 2,
                                  .cpu_shares = 3,
                                  .memory_limit = 4,
                                  .oom_score_adj = 5,
                                  .cpuset_cpus = "6",
                                  .cpuset_mems = "7",
                                  .hugepages = {{"8", 9}},
                                  .unified = {{"a", "b"}},
                                  .memory_swap_limit = 10};
  container.pod_cgroup_parent = "g";
  container.env = {{"E", "1"}};
  CHECK(encode(container) == ("\x12\x21\x08\x01\x10\x02\x18\x03\x20\x04\x28\x05\x32\x01"
                              "6\x3a\x01"
                              "7\x42\x05\x0a\x01"
                              "8\x10\x09"
                              "\x4a\x06\x0a\x01"
                              "a\x12\x01"
                              "b\x50\x0a\x1a\x01g\x22\x06\x0a\x01"
                              "E\x12\x01"
                              "1"));
}

TEST_CASE("What is written is read; an absent part stays absent") {
  ContainerRequest request;
  request.pod = {.name = "p", .uid = "u", .ns = "n", .attempt = 1};
  request.meta = {.name = "c", .attempt = 2, .id = "i"};
  request.annotations = {{"a", "1"}, {"b", ""}};
  request.resources = Resources{.cpu_quota = -1, .cpuset_cpus = "0-3"};
  request.pod_annotations = {{"x", "y"}};
  request.pod_labels = {{"l", "m"}};
  request.pod_cgroup_parent = "/kubepods";
  request.env = {{"A", "B"}};
  const auto read = decode_container_request(encode(request));
  REQUIRE(read.has_value());
  CHECK(*read == request);
  CHECK_FALSE(read->pod_resources);
  CHECK(decode_pod_response(encode(PodResponse{})).value() == PodResponse{});
  CHECK(encode(PodResponse{}).empty());
}

TEST_CASE("What is no message is an error") {
  for (const std::string_view bytes : {"\x0a", "\x0a\xff\xff\xff\xff\x0f", "\xff\xff\xff", "\x0a\x02\xff"}) {
    CHECK(decode_pod_request(bytes).error().code() == Code::parse);
    CHECK(decode_container_response(bytes).error().code() == Code::parse);
  }
}

}  // namespace
}  // namespace koord::rpc::hooks
