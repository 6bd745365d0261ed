// A report as text; and clients that only read.
#include "rehearsal/report_text.hpp"

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/kube/client.hpp"
#include "rehearsal/read_only.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::descheduler::rehearsal {
namespace {

ReportedPod pod(std::string name, std::string to, std::string refused = {}) {
  return {.namespace_ = "default",
          .name = std::move(name),
          .uid = {},
          .node = "a",
          .profile = "main",
          .plugin = "LowNodeLoad",
          .reason = "node is overutilized",
          .refused = std::move(refused),
          .to = std::move(to)};
}

TEST_CASE("a report says who goes, who stays and why, and what changes") {
  PassReport report;
  report.nodes = 3, report.ready_nodes = 2, report.pods = 9, report.node_metrics = 1;
  report.gone = 3, report.stay = 1;
  report.evicted = {pod("p", "b"), pod("longer", "")};
  report.refused = {pod("q", "", "maxMigratingPerNode of a reached")};
  report.changed = {{.name = "a",
                     .pods = 5,
                     .pods_after = 3,
                     .cpu = {.requested = 50, .requested_after = 40, .used = 90.5, .used_after = 70},
                     .memory = {}}};
  report.spread = {{.resource = "cpu",
                    .nodes = 1,
                    .mean = 90.5,
                    .highest = 90.5,
                    .highest_after = 70,
                    .deviation = 0,
                    .deviation_after = 0}};
  report.errors = {{"main", "PodLifeTime", "deschedule", "out of order"}};
  report.notes = {"the configuration's extenders are not asked"};
  CHECK(render(report) ==
        "Of 9 pods on 3 nodes (2 ready, 1 with reported usage) the descheduler would move 3 now; 1 that it "
        "wants "
        "to move has to stay.\n"
        "\nWould go:\n"
        "  POD             FROM  TO                  PLUGIN (PROFILE)    WHY\n"
        "  default/p       a     b                   LowNodeLoad (main)  node is overutilized\n"
        "  default/longer  a     (no node has room)  LowNodeLoad (main)  node is overutilized\n"
        "  and 1 more\n"
        "\nWould stay:\n"
        "  POD        NODE  PLUGIN (PROFILE)    WHY IT STAYS\n"
        "  default/q  a     LowNodeLoad (main)  maxMigratingPerNode of a reached\n"
        "\nNodes that would change:\n"
        "  NODE  PODS    CPU USED        MEMORY USED  CPU REQUESTED   MEMORY REQUESTED\n"
        "  a     5 -> 3  90.5% -> 70.0%  unknown      50.0% -> 40.0%  unknown\n"
        "\nUsage of all nodes:\n"
        "  RESOURCE  NODES  MEAN   HIGHEST         STANDARD DEVIATION\n"
        "  cpu       1      90.5%  90.5% -> 70.0%  0.0 -> 0.0\n"
        "\nPlugins that failed:\n"
        "  PLUGIN       PROFILE  POINT       ERROR\n"
        "  PodLifeTime  main     deschedule  out of order\n"
        "\nWhere pods fit: the configuration's extenders are not asked.\n");
}

TEST_CASE("a report of nothing, one that was not made, and texts that would write over the terminal") {
  PassReport report;
  CHECK(
      render(report) ==
      "Of 0 pods on 0 nodes (0 ready, 0 with reported usage) the descheduler would move 0 now; none that it "
      "wants to move has to stay.\n");
  report.evicted = {pod("p\x1b[2J\n", "b")};
  report.gone = 1;
  const std::string text = render(report);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("default/p [2J ") != std::string::npos);
  report.skipped = "the cluster size is 0";
  CHECK(render(report) == "Nothing was looked at: the cluster size is 0.\n");
}

/// Hands on to a transport that outlives it.
struct To final : kube::Transport {
  explicit To(kube::Transport& to) : to(to) {}
  Task<Result<net::Response>> send(const net::Request& request) override { return to.send(request); }
  Task<Result<std::unique_ptr<net::Stream>>> open_stream(net::Request request) override {
    return to.open_stream(std::move(request));
  }
  kube::Transport& to;
};

TEST_CASE("clients of a dry run send no request that could write") {
  koord::test::Loop loop;
  koord::test::FakeTransport server{loop.clock};
  int asked = 0;
  server.answer = [&](const net::Request&) {
    ++asked;
    return koord::test::json_response(
        200, R"({"metadata":{"name":"p","namespace":"default","resourceVersion":"1"}})");
  };
  ReadOnlyClients clients(std::make_unique<To>(server), loop.clock);
  kube::Client& client = *clients.client({}).value();
  const auto pod = koord::test::run_task(loop, client.get<api::Pod>({.ns = "default", .name = "p"}));
  REQUIRE(pod.has_value());
  CHECK(asked == 1);
  const auto made = koord::test::run_task(loop, client.create_raw(api::kind<api::Pod>(), "default", "{}"));
  REQUIRE(made.has_error());
  CHECK(made.error().code() == Code::forbidden);
  CHECK(made.error().message().find("a dry run only reads") != std::string::npos);
  const auto gone = koord::test::run_task(loop, client.remove<api::Pod>({.ns = "default", .name = "p"}));
  CHECK(gone.has_error());
  CHECK(asked == 1);
}

}  // namespace
}  // namespace koord::descheduler::rehearsal
