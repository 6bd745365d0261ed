// What it costs to find devices for claims: nodes of 8 devices, a slice and a pool each, 4 to a memory node.
// usage: claims_bench [NODES]
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/allocate.hpp"
#include "scheduling/plugins/dynamic_resources/selectors/cel_selectors.hpp"

namespace {

using namespace koord;
using namespace koord::scheduling::dynamic_resources;

constexpr std::uint32_t kDevices = 8;
constexpr int kRounds = 3;

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <class T>
T object(const std::string& json) {
  return api::decode<T>(json).value();
}

api::ResourceSlice slice(int node) {
  std::string devices;
  for (std::uint32_t i = 0; i < kDevices; ++i)
    devices += fmt::format(
        R"({}{{"name":"gpu-{}","attributes":{{"model":{{"string":"A100"}},"numa":{{"int":{}}},"uuid":{{"string":"gpu-{}-{}"}}}},"capacity":{{"memory":{{"value":"80Gi"}}}}}})",
        i == 0 ? "" : ",", i, i / 4, node, i);
  return object<api::ResourceSlice>(fmt::format(
      R"({{"metadata":{{"name":"s{0}"}},"spec":{{"driver":"gpu.example.com","pool":{{"name":"n{0}","generation":1,"resourceSliceCount":1}},"nodeName":"n{0}","devices":[{1}]}}}})",
      node, devices));
}

api::ResourceClaim claim(int count, const std::string& constraints) {
  return object<api::ResourceClaim>(fmt::format(
      R"({{"metadata":{{"name":"c","namespace":"shop"}},"spec":{{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"gpu","allocationMode":"ExactCount","count":{},"selectors":[{{"cel":{{"expression":"device.attributes['gpu.example.com'].model == 'A100' && device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0"}}}}]}}}}],"constraints":[{}]}}}}}})",
      count, constraints));
}

struct Cluster {
  DeviceNumbers numbers;
  std::vector<std::shared_ptr<const Slice>> slices;
  std::vector<NodePools> pools;
  Taken taken;
};

/// Nanoseconds a node.
double each_ns(std::size_t nodes, const std::function<void(std::size_t)>& once) {
  const double began = cpu_seconds();
  for (std::size_t i = 0; i < nodes; ++i) once(i);
  return (cpu_seconds() - began) * 1e9 / static_cast<double>(nodes);
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 5'000;
  Cluster cluster;
  for (int i = 0; i < nodes; ++i)
    cluster.slices.push_back(
        std::make_shared<const Slice>(std::make_shared<const api::ResourceSlice>(slice(i)), cluster.numbers));
  const std::size_t count = cluster.slices.size();
  const api::SymbolMap labels;
  fmt::print("| what, a node of {} devices | ns |\n|---|---|\n", kDevices);
  fmt::print(
      "| its pools gathered, of its own slices | {:.0f} |\n", each_ns(count, [&](std::size_t i) {
        const std::string name = fmt::format("n{}", i);
        cluster.pools.push_back(gather_pools(std::span(&cluster.slices[i], 1), {name, labels}, {}).value());
      }));

  const auto device_class = object<api::DeviceClass>(
      R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"device.driver == 'gpu.example.com'"}}]}})");
  const std::function<const api::DeviceClass*(std::string_view)> classes = [&](std::string_view) {
    return &device_class;
  };
  const std::function<std::string()> share_id = [] { return std::string(); };
  const api::ResourceClaim one = claim(1, "");
  const api::ResourceClaim four = claim(4, R"({"matchAttribute":"gpu.example.com/numa"})");

  CelSelectors selectors;
  const Symbol expression = one.spec.devices.requests[0].exactly->selectors[0].cel->expression;
  std::size_t matching = 0;
  fmt::print("| a selector of an attribute and a capacity, evaluated for its devices | {:.0f} |\n",
             each_ns(count, [&](std::size_t i) {
               for (std::uint32_t device = 0; device < kDevices; ++device)
                 matching += selectors(expression, *cluster.slices[i], device).first == Verdict::yes ? 1 : 0;
             }));
  if (matching != count * kDevices) return 1;

  KeptVerdicts verdicts(std::ref(selectors));
  const auto asked = [&](const api::ResourceClaim& wanted, bool only_whether, Answer::Kind kind) {
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::size_t as_expected = 0;
      const double ns = each_ns(count, [&](std::size_t i) {
        const api::ResourceClaim* const claims[] = {&wanted};
        const Answer answer = allocate({.pools = cluster.pools[i],
                                        .claims = claims,
                                        .taken = cluster.taken,
                                        .classes = classes,
                                        .verdicts = verdicts,
                                        .features = {},
                                        .budget = nullptr,
                                        .share_id = share_id,
                                        .only_whether = only_whether});
        as_expected += answer.kind == kind ? 1 : 0;
      });
      if (as_expected != count) std::exit(1);
      if (round == 0 || ns < best) best = ns;
    }
    return best;
  };
  fmt::print("| whether a claim for one can be had | {:.0f} |\n", asked(one, true, Answer::Kind::found));
  fmt::print("| the same with its result | {:.0f} |\n", asked(one, false, Answer::Kind::found));
  fmt::print("| whether four of one memory node can be had | {:.0f} |\n",
             asked(four, true, Answer::Kind::found));
  fmt::print("| the same with their results | {:.0f} |\n", asked(four, false, Answer::Kind::found));
  for (DeviceNumber i = 0; i < cluster.numbers.size(); ++i) cluster.taken.take(i);
  fmt::print("| whether one can be had where all are taken | {:.0f} |\n",
             asked(one, true, Answer::Kind::none));
  return 0;
}
