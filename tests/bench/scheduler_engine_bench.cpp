// The scheduler's engine alone: decisions a second of one thread's CPU time, by how much pods have in common.
//   scheduler_engine_bench [NODES [PODS]]
#include <ctime>
#include <functional>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/config.hpp"
#include "framework/engine.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins.hpp"

namespace {

using namespace koord;
using namespace koord::scheduler;

/// The CPU time of this thread: what else runs on the machine does not show.
class CpuClock final : public Clock {
 public:
  WallTime now() const override { return std::chrono::system_clock::now(); }
  MonoTime mono() const override {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return MonoTime{std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec)};
  }
  TimerId call_at(MonoTime, std::function<void()>) override {
    throw std::logic_error("the engine has no timers");
  }
  void cancel(TimerId) override {}
};

std::shared_ptr<const api::Node> node(int i) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "node-" + std::to_string(i);
  node->metadata.labels["kubernetes.io/hostname"] = node->metadata.name;
  node->metadata.labels["zone"] = "z" + std::to_string(i % 3);
  const int size = 1 << i % 3;  // 16, 32 or 64 cores
  node->status.allocatable = {{"cpu", api::Quantity::must(std::to_string(16 * size))},
                              {"memory", api::Quantity::must(std::to_string(64 * size) + "Gi")},
                              {"pods", api::Quantity::must("110")}};
  return node;
}

enum class Where : std::uint8_t { anywhere, zone, own_node };

/// The i-th pod of one of so many classes.
std::shared_ptr<const api::Pod> pod(int i, int classes, Where where, int nodes) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = "pod-" + std::to_string(i);
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = "uid-" + std::to_string(i);
  pod->spec.scheduler_name = "koord-scheduler";
  const int cls = i % classes;
  api::Container& c = pod->spec.containers.emplace_back();
  c.resources.requests["cpu"] = api::Quantity::must(std::to_string(100 + cls % 97) + "m");
  c.resources.requests["memory"] = api::Quantity::must(std::to_string(128 + cls / 97) + "Mi");
  if (where == Where::zone) pod->spec.node_selector["zone"] = "z" + std::to_string(cls % 3);
  if (where == Where::own_node)
    pod->spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms = {
        {{}, {{"metadata.name", "In", {Symbol("node-" + std::to_string(i % nodes))}}}}};
  return pod;
}

struct Outcome {
  std::size_t bound = 0, unschedulable = 0;
  double enqueue_us = 0, decide_us = 0, p50_us = 0, p99_us = 0, settle_us = 0;  // a pod
  double rows = 0, kept = 0;  // looked at for a pod; MiB of verdicts and scores
};

Outcome measure(int nodes, int pods, int classes, Where where) {
  CpuClock clock;
  Engine engine(clock, {.queue = {}, .seed = 1});
  KubeSchedulerConfiguration config = own_defaults();
  if (auto done = complete(config, plugin_table()); !done) throw std::runtime_error(done.error().message());
  auto profiles = build_profiles(config, plugin_table(), engine.context());
  if (!profiles) throw std::runtime_error(profiles.error().message());
  engine.set_profiles(std::move(*profiles));
  for (int i = 0; i < nodes; ++i) engine.put_node(node(i));
  std::vector<std::shared_ptr<const api::Pod>> waiting;
  for (int i = 0; i < pods; ++i) waiting.push_back(pod(i, classes, where, nodes));

  const auto us = [&](MonoTime since) {
    return std::chrono::duration<double, std::micro>(clock.mono() - since).count() / pods;
  };
  Outcome out;
  MonoTime began = clock.mono();
  for (auto& p : waiting) engine.put_pod(p);
  out.enqueue_us = us(began);

  std::vector<Decision> decisions;
  decisions.reserve(waiting.size());
  began = clock.mono();
  engine.schedule(SIZE_MAX, decisions);
  out.decide_us = us(began);
  out.rows = static_cast<double>(engine.classes().rows_looked_at()) / pods;
  out.kept = static_cast<double>(engine.classes().memory().bytes()) / (1 << 20);
  std::vector<nanoseconds> took;
  for (const Decision& d : decisions) {
    took.push_back(d.took);
    ++(d.kind == Decision::Kind::bind ? out.bound : out.unschedulable);
  }
  std::sort(took.begin(), took.end());
  const auto at = [&](double share) {
    return std::chrono::duration<double, std::micro>(
               took[static_cast<std::size_t>(share * (took.size() - 1))])
        .count();
  };
  out.p50_us = at(0.5);
  out.p99_us = at(0.99);

  // What the watch tells of them afterwards.
  std::vector<std::shared_ptr<const api::Pod>> bound;
  for (const Decision& d : decisions) {
    if (d.kind != Decision::Kind::bind) continue;
    auto copy = std::make_shared<api::Pod>(*d.pod);
    copy->spec.node_name = d.node;
    bound.push_back(std::move(copy));
  }
  began = clock.mono();
  for (auto& p : bound) engine.put_pod(std::move(p));
  out.settle_us = us(began);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 5'000;
  const int pods = argc > 2 ? std::atoi(argv[2]) : 10'000;
  if (nodes <= 0 || pods <= 0) {
    std::fprintf(stderr, "usage: scheduler_engine_bench [NODES [PODS]]\n");
    return 2;
  }
  struct Case {
    const char* name;
    int classes;
    Where where;
  };
  const Case cases[] = {{"all pods alike", 1, Where::anywhere},
                        {"12 classes", 12, Where::anywhere},
                        {"12 classes, zone selector", 12, Where::zone},
                        {"300 classes", 300, Where::anywhere},
                        {"1,000 classes", 1000, Where::anywhere},
                        {"no two alike", pods, Where::anywhere},
                        {"no two alike, zone selector", pods, Where::zone},
                        {"a DaemonSet's", 1, Where::own_node}};
  std::printf("%d nodes, %d pods, one thread; us of CPU time a pod\n", nodes, pods);
  std::printf(
      "| pods | bound | decisions/s | decide | decide p50 | decide p99 | enqueue | settle | rows "
      "a pod | kept, MiB |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Case& c : cases) {
    const Outcome out = measure(nodes, pods, c.classes, c.where);
    std::printf("| %s | %zu | %.0f | %.2f | %.2f | %.2f | %.2f | %.2f | %.0f | %.1f |\n", c.name, out.bound,
                1e6 / out.decide_us, out.decide_us, out.p50_us, out.p99_us, out.enqueue_us, out.settle_us,
                out.rows, out.kept);
  }
  return 0;
}
