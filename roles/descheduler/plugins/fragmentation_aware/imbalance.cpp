// See imbalance.hpp.
#include "plugins/fragmentation_aware/imbalance.hpp"

#include <cmath>
#include <limits>

#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::descheduler::fragmentation_aware {

namespace {

constexpr std::int64_t kOnePod = 1000;

/// Bounded: what pods ask for comes from whoever may make pods.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace

Imbalance::Imbalance(const api::Node& node, std::span<const std::string> resources) {
  for (const std::string& name : resources) {
    const api::Quantity* const has = node.status.allocatable.find(name);
    if (has == nullptr || has->milli_value() <= 0) continue;
    resources_.push_back(name);
    has_.push_back(has->milli_value());
  }
  used_.resize(has_.size());
}

Imbalance::Amounts Imbalance::asked(const api::Pod& pod) const {
  const api::ResourceList requests = api::pod_requests(pod, {.use_status = false});
  Amounts amounts;
  for (const std::string& name : resources_) {
    const api::Quantity* const quantity = requests.find(name);
    amounts.push_back(name == "pods" ? kOnePod : quantity != nullptr ? quantity->milli_value() : 0);
  }
  return amounts;
}

void Imbalance::add(const api::Pod& pod) {
  const Amounts more = asked(pod);
  for (std::size_t i = 0; i < more.size(); ++i) used_[i] = plus(used_[i], more[i]);
}

double Imbalance::score_less(const Amounts& less) const {
  if (has_.empty()) return 0;
  std::vector<double> shares;
  double mean = 0;
  for (std::size_t i = 0; i < has_.size(); ++i) {
    const std::int64_t used = used_[i] - (less.empty() ? 0 : less[i]);
    shares.push_back(static_cast<double>(used) / static_cast<double>(has_[i]));
    mean += shares.back();
  }
  mean /= static_cast<double>(shares.size());
  double variance = 0;
  for (const double share : shares) variance += (share - mean) * (share - mean);
  return std::sqrt(variance / static_cast<double>(shares.size()));
}

}  // namespace koord::descheduler::fragmentation_aware
