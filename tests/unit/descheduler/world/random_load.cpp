// RandomLoad: see random_load.hpp.
#include "world/random_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace koord::descheduler::world {

namespace {

/// The same number everywhere for the same text, unlike std::hash.
std::uint64_t mixed(std::uint64_t seed, std::string_view text, std::uint64_t more) {
  std::uint64_t h = 1469598103934665603ULL ^ seed;
  const auto add = [&h](std::uint64_t v) { h = (h ^ v) * 1099511628211ULL; };
  for (const char c : text) add(static_cast<unsigned char>(c));
  for (int i = 0; i < 8; ++i) add(more >> (8 * i) & 255);
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  return h ^ h >> 33;
}

/// Below 1.
double fraction(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

std::string Workload::manifest() const {
  const std::string labels = fmt::format(R"({{"app":"{}"}})", name);
  return fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"{}","metadata":{{"namespace":"{}","name":"{}"}},"spec":{{)"
      R"("replicas":{},{}"selector":{{"matchLabels":{}}},"template":{{"metadata":{{"labels":{}}},"spec":{{)"
      R"("schedulerName":"koord-scheduler","terminationGracePeriodSeconds":5,"containers":[{{"name":"c",)"
      R"("image":"busybox:1.36","resources":{{"requests":{{"cpu":"{}m","memory":"{}Mi"}}}}}}]}}}}}}}})",
      stateful ? "StatefulSet" : "Deployment", ns, name, replicas,
      stateful ? R"("podManagementPolicy":"Parallel","serviceName":"s",)" : "", labels, labels, millis,
      mebibytes);
}

std::string Workload::budget_manifest() const {
  return fmt::format(
      R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"namespace":"{}","name":"{}"}},)"
      R"("spec":{{{},"selector":{{"matchLabels":{{"app":"{}"}}}}}}}})",
      ns, name, budget, name);
}

RandomLoad::RandomLoad(std::uint64_t seed, int workloads, int cores) : seed_(seed) {
  int millis_left = cores * 800;
  for (int i = 0; i < workloads; ++i) {
    std::uint64_t draws = 0;
    const auto draw = [&] { return fraction(mixed(seed, "workload", std::uint64_t(i) << 32 | ++draws)); };
    const auto between = [&](int low, int high) { return low + static_cast<int>(draw() * (high - low + 1)); };
    Workload w;
    w.ns = fmt::format("team-{}", i % 3);
    w.name = fmt::format("app-{:02}", i);
    w.stateful = draw() < 0.3;
    w.replicas = between(2, 8);
    w.millis = 250 * between(2, 8);
    w.mebibytes = 512;
    w.base = w.millis * (0.3 + 0.5 * draw());
    w.swing = 0.6 * draw();
    w.phase = draw();
    if (draw() < 0.5) {
      w.hot_from = std::chrono::minutes(between(20, 150));
      w.hot_for = std::chrono::minutes(between(30, 70));
      w.hot = 2 + draw();
    }
    switch (between(0, 3)) {
      case 0: w.budget = R"("maxUnavailable":1)"; break;
      case 1: w.budget = fmt::format(R"("minAvailable":{})", w.replicas - 1); break;
      default: break;
    }
    if (i == 0) w.budget = fmt::format(R"("minAvailable":{})", w.replicas);  // none may ever go
    millis_left -= w.replicas * w.millis;
    if (millis_left < 0) break;
    workloads_.push_back(std::move(w));
  }
}

const Workload* RandomLoad::find(std::string_view app) const {
  const auto it = std::ranges::find(workloads_, app, &Workload::name);
  return it == workloads_.end() ? nullptr : &*it;
}

double RandomLoad::millis(const Workload& w, int part, nanoseconds at) const {
  const double day = std::chrono::duration<double>(at) / std::chrono::duration<double>(kDay);
  const auto minute = static_cast<std::uint64_t>(at / std::chrono::minutes(1));
  const std::string name = fmt::format("{}/{}", w.name, part);
  const double noise = 0.85 + 0.3 * fraction(mixed(seed_, name, minute));
  const double weight = 0.4 + 1.8 * std::pow(fraction(mixed(seed_, name, 1U << 31)), 2);  // 1 on the mean
  const bool hot = at >= w.hot_from && at < w.hot_from + w.hot_for;
  return w.base * weight * (1 + w.swing * std::sin(2 * std::numbers::pi * (day + w.phase))) * noise *
         (hot ? w.hot : 1);
}

}  // namespace koord::descheduler::world
