// How much of a GPU cluster stays unallocated, by how nodes are chosen: the openb trace as in Weng et al.,
// "Beware of Fragmentation" (USENIX ATC '23): its nodes with GPUs, and pods of it, drawn at random until they
// ask for 130% of the GPUs, which come one by one and stay; who finds no place is dropped. usage:
// packing_bench FOLDER [SEEDS [VARIANT]]
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "packing_trace.hpp"
#include "scheduling/plugins/device_share/packing/request_mix.hpp"

namespace {

using namespace koord::scheduling::device_share;
using koord::scheduling::bench::arrivals, koord::scheduling::bench::kVariants,
    koord::scheduling::bench::run_engine, koord::scheduling::bench::shares, koord::scheduling::bench::Trace,
    koord::scheduling::bench::Variant;
using Node = koord::scheduling::bench::PackedNode;
using Pod = koord::scheduling::bench::PackedPod;

constexpr std::size_t kHalfLife = 4096;  // pods

struct Place {
  std::size_t node;
  std::optional<std::int32_t> gpu;
};

/// The GPU that a share comes onto: the fullest that has room, or the emptiest.
std::optional<std::int32_t> gpu_for(const PackedRow& row, const PackedRequest& pod, bool fullest) {
  if (!shares(pod)) return {};
  std::optional<std::int32_t> best;
  const auto free = [&](std::int32_t gpu) { return row.free[static_cast<std::size_t>(gpu)]; };
  for (std::int32_t gpu = 0; gpu < row.gpus; ++gpu)
    if (free(gpu) >= pod.share && (!best || (fullest ? free(gpu) < free(*best) : free(gpu) > free(*best))))
      best = gpu;
  return best;
}

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::optional<Place> choose(const std::vector<Node>& nodes, const Pod& pod) = 0;
  virtual void changed(std::size_t /*node*/) {}
};

bool may(const Node& node, const Pod& pod) {
  return (pod.model.empty() || pod.model == node.model) && fits(node.row, pod.request);
}

class Random final : public Policy {
 public:
  std::optional<Place> choose(const std::vector<Node>& nodes, const Pod& pod) override {
    std::optional<Place> chosen;
    unsigned seen = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (may(nodes[i], pod) && random_() % ++seen == 0) chosen = Place{i, {}};
    if (!chosen || !shares(pod.request)) return chosen;
    const PackedRow& row = nodes[chosen->node].row;
    seen = 0;
    for (std::int32_t gpu = 0; gpu < row.gpus; ++gpu)
      if (row.free[static_cast<std::size_t>(gpu)] >= pod.request.share && random_() % ++seen == 0)
        chosen->gpu = gpu;
    return chosen;
  }

 private:
  std::mt19937 random_{1};
};

/// DeviceShare's scorers, of GPUs.
class ByFullness final : public Policy {
 public:
  explicit ByFullness(bool most) : most_(most) {}
  std::optional<Place> choose(const std::vector<Node>& nodes, const Pod& pod) override {
    std::optional<std::size_t> chosen;
    double best = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!may(nodes[i], pod)) continue;
      const double free = static_cast<double>(nodes[i].row.free_gpus()) / nodes[i].row.gpus;
      if (chosen && (most_ ? free >= best : free <= best)) continue;
      chosen = i;
      best = free;
    }
    if (!chosen) return {};
    return Place{*chosen, gpu_for(nodes[*chosen].row, pod.request, most_)};
  }

 private:
  bool most_;
};

/// The least gradient, by a mix that is known before or learned.
class ByGradient final : public Policy {
 public:
  ByGradient(const Trace& trace, Unusable unusable, bool learns) : unusable_(unusable), learns_(learns) {
    if (learns) return;
    RequestMix all(1'000'000'000);
    for (const PackedRequest& pod : trace.pods) all.observe(pod);
    all.settle();
    known_.assign(all.entries().begin(), all.entries().end());
  }

  std::optional<Place> choose(const std::vector<Node>& nodes, const Pod& pod) override {
    if (now_.size() < nodes.size()) now_.resize(nodes.size());
    if (learns_ && mix_.observe(pod.request)) {
      kept_.clear();
      std::ranges::fill(now_, std::nullopt);
    }
    const auto mix = learns_ ? mix_.entries() : std::span<const RequestMix::Entry>(known_);
    auto& kept = kept_[std::tuple(pod.request.cpu, pod.request.memory, pod.request.gpus, pod.request.share)];
    kept.resize(nodes.size());
    std::optional<Place> chosen;
    double best = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!may(nodes[i], pod)) continue;
      if (!now_[i]) now_[i] = unusable_(nodes[i].row, mix);
      if (!kept[i]) kept[i] = gradient(nodes[i].row, pod.request, mix, *now_[i], unusable_);
      if (chosen && kept[i]->more >= best - 1e-9) continue;
      chosen = Place{i, kept[i]->gpu};
      best = kept[i]->more;
    }
    return chosen;
  }
  void changed(std::size_t node) override {
    now_[node].reset();
    for (auto& [request, kept] : kept_) kept[node].reset();
  }

 private:
  Unusable unusable_;
  bool learns_;
  RequestMix mix_{kHalfLife, 512, RequestMix::kUsualTolerance};
  std::vector<RequestMix::Entry> known_;
  std::vector<std::optional<double>> now_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int32_t, std::int32_t>,
           std::vector<std::optional<Gradient>>>
      kept_;
};

/// The share of GPUs that stays unallocated, in percent.
double run(const Trace& trace, const std::vector<Pod>& pods, Policy& policy) {
  std::vector<Node> nodes = trace.nodes;
  std::int64_t left = trace.gpus;
  for (const Pod& pod : pods) {
    const auto place = policy.choose(nodes, pod);
    if (!place) continue;
    PackedRow& row = nodes[place->node].row;
    row = placed(row, pod.request, place->gpu);
    policy.changed(place->node);
    left -= static_cast<std::int64_t>(pod.request.gpus) * pod.request.share;
  }
  return 100.0 * static_cast<double>(left) / static_cast<double>(trace.gpus);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: packing_bench FOLDER [SEEDS [VARIANT]]\n");
    return 2;
  }
  const Trace trace(argv[1]);
  if (trace.nodes.empty() || trace.pods.empty()) {
    fmt::print(stderr, "packing_bench: {}: has no openb trace (openb_node_list_all_node.csv, ...)\n",
               argv[1]);
    return 1;
  }
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 10;
  struct Row {
    const char* name;
    std::function<std::unique_ptr<Policy>()> make;
  };
  const std::vector<Row> policies = {
      {"random", [] { return std::make_unique<Random>(); }},
      {"LeastAllocated", [] { return std::make_unique<ByFullness>(false); }},
      {"MostAllocated", [] { return std::make_unique<ByFullness>(true); }},
      {"FGD, the mix known",
       [&] { return std::make_unique<ByGradient>(trace, &unusable_as_published, false); }},
      {"what is left in the end, learning",
       [&] { return std::make_unique<ByGradient>(trace, &unusable, true); }},
      {"FragmentationGradient's, learning",
       [&] { return std::make_unique<ByGradient>(trace, &unusable_soon_and_late, true); }},
  };
  fmt::print("{} nodes, {} GPUs; percent of the GPUs that stay unallocated, the mean of {} seeds\n",
             trace.nodes.size(), trace.gpus / 1000, seeds);
  for (const Variant& variant : kVariants) {
    if (argc > 3 && std::string_view(argv[3]) != variant.name) continue;
    const auto mean = [&](const char* name, const std::function<double(const std::vector<Pod>&)>& run_pods) {
      double sum = 0;
      for (int seed = 1; seed <= seeds; ++seed) {
        std::mt19937 random(static_cast<unsigned>(seed));
        sum += run_pods(arrivals(trace, variant, random));
      }
      fmt::print("| {} | {} | {:.2f} |\n", variant.name, name, sum / seeds);
      std::fflush(stdout);
    };
    for (const Row& row : policies)
      mean(row.name, [&](const std::vector<Pod>& pods) { return run(trace, pods, *row.make()); });
    for (const bool gradient : {false, true}) {
      double seconds = 0;
      std::size_t placed = 0;
      mean(gradient ? "the engine, FragmentationGradient" : "the engine, MostAllocated",
           [&](const std::vector<Pod>& pods) {
             placed += pods.size();
             return run_engine(trace, pods, gradient, seconds);
           });
      fmt::print("  {:.0f} us a pod\n", seconds * 1e6 / static_cast<double>(placed));
    }
  }
  return 0;
}
