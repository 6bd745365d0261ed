// The table of `koord top`: what is in it, and that it stays within its columns.
#include "top/view.hpp"

#include <catch2/catch.hpp>

namespace koord::koordlet {
namespace {

std::size_t widest(const std::string& text) {
  std::size_t widest = 0, line = 0;
  for (const char c : text) {
    line = c == '\n' ? 0 : line + 1;
    widest = std::max(widest, line);
  }
  return widest;
}

NodeView node() {
  NodeView view;
  view.name = "box";
  view.cgroup_version = "v1";
  view.capacity = {4.0, std::int64_t{16} << 30};
  view.usage = {1.5, std::int64_t{3} << 30, {}, {}};
  view.tiers = {{.name = "LS", .pods = 2, .usage = {1.0, 1 << 30, {}, {}}},
                {.name = "BE", .pods = 1, .usage = {0.4, 300 << 20, {}, {}}, .limits = {0.8, {}}},
                {.name = "system"}};
  view.strategies = {{"CPUSuppress", true, true, "cfsQuota: 0.80 of 4 CPUs for best-effort", 12},
                     {"Off", false, false, "", {}}};
  view.suppressed = {
      {"CPUSuppress", "cpu.cfs_quota_us", "kubepods/besteffort", "80000", "LS uses 1.0", true, true}};
  view.sources = {{"kubelet", true, "", {}}, {"API server", false, "connection refused", {}}};
  view.collectors = {{"run_queue_latency", false, "no BTF"}};
  view.blame = BlameView{.period_seconds = 1,
                         .waits = 100,
                         .runners = {{"LS", 0.002}, {"BE", 0.006}, {"nobody", 0}},
                         .own_quota_seconds = 0.001,
                         .caused_seconds = 0.004,
                         .best_effort_p99_us = 340,
                         .fit = false,
                         .why_unfit = "late"};
  view.interference = {{"LS", 0.25, 0.2, {}, 0.06, 0.0}, {"BE", 0.5, 0.5, {}, {}, {}}};
  return view;
}

TEST_CASE("Node, tiers, what is held back and why, pods by their CPU") {
  PodListView pods;
  pods.pods_known = true;
  PodView small, big;
  small.ns = "default";
  small.name = "small";
  small.qos = "BE";
  small.usage = {0.1, 1 << 20, {}, 0.25};
  big.ns = "default";
  big.name = "big";
  big.qos = "LS";
  big.usage = {0.9, 1 << 30, {}, {}};
  big.limits = {2.0, std::int64_t{2} << 30};
  big.best_effort_wait_seconds = 0.03;
  big.interference = InterferenceView{"", 0.62, 0.6, 0.05, {}, {}};
  small.interference = InterferenceView{"", 0.09, 0.09, {}, {}, {}};
  big.run_queue_latency = LatencyView{12, 300, 1500, 20, 1000};
  ContainerView one, two;
  one.name = "one";
  two.name = "two";
  big.containers = {one, two};
  pods.pods = {small, big};
  const std::string text = render_top(node(), pods, {80, 0});
  CAPTURE(text);
  for (const char* part :
       {"kubelet ok", "API server FAILS", "API server: connection refused", "CPU 1.50 of 4.00 cores (38%)",
        "memory 3.0Gi of 16Gi (19%)", "CPUSuppress (held for 12 s): cfsQuota: 0.80 of 4",
        "run_queue_latency: no BTF",
        "LS waited 8.0ms in 1.0s, while there ran: BE 75%, LS 25%; BE caused 50%, p99 34",
        "kubepods/besteffort cpu.cfs_quota_us = 80000 (held): LS uses 1.0", "12us/1.5ms",
        "waited 30.0ms by best-effort work's doing", "LS loses to others 0.25: run queue 0.20, I/O 0.06\n",
        "BE loses to others 0.50: run", "  loses to others 0.62: run queue 0.60, memory 0.05\n", "25%",
        "  one"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("Off") == std::string::npos);
  CHECK(text.find("0.09") == std::string::npos);
  CHECK(text.find("default/big") < text.find("default/small"));
  CHECK(widest(text) <= 80);
}

TEST_CASE("What does not fit is counted; other people's text does nothing to the terminal") {
  PodListView pods;
  pods.pods_known = true;
  for (int i = 0; i < 50; ++i) {
    PodView pod;
    pod.ns = "ns";
    pod.name = "\x1b[2J" + std::string(200, 'x') + std::to_string(i);
    pods.pods.push_back(pod);
  }
  const std::string text = render_top(node(), pods, {40, 24});
  CHECK(std::count(text.begin(), text.end(), '\n') <= 24);
  CHECK(text.find("more\n") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(widest(text) <= 80);
}

TEST_CASE("Before anything is known") {
  const std::string text = render_top({}, {}, {80, 0});
  CHECK(text.find("the node's pods are not known yet") != std::string::npos);
}

}  // namespace
}  // namespace koord::koordlet
