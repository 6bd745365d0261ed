// Formulas of upstream's CPU suppression, and the sharing that is koord's own.
#include "plugins/cpu_suppress/formula.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "koord/host/cgroup_knobs.hpp"

namespace koord::koordlet::cpu_suppress {
namespace {

constexpr std::int64_t kUsPerMilli = host::kDefaultPeriodUs / 1000;

std::int64_t whole_cpus(std::int64_t milli) { return (milli + 999) / 1000; }

/// CPUs of one socket in one NUMA node, cores together.
using Bucket = std::vector<host::CpuPlace>;

/// The first two CPUs of one core that are both free yet; their place, or the bucket's size.
std::size_t free_pair(const Bucket& bucket, const std::vector<bool>& taken) {
  for (std::size_t i = 0; i + 1 < bucket.size(); ++i)
    if (!taken[i] && !taken[i + 1] && bucket[i].core == bucket[i + 1].core) return i;
  return bucket.size();
}

}  // namespace

Budget budget(const Load& load, std::int64_t threshold_percent, std::optional<std::int64_t> min_percent) {
  Budget result;
  double everything = 0;
  double inside = 0;
  for (const Consumer& pod : load.pods) {
    (pod.inside ? inside : everything) += pod.cpu;
    if (!pod.best_effort) result.pods_used += pod.cpu;
  }
  for (const Consumer& application : load.host_applications) {
    (application.inside ? inside : everything) += application.cpu;
    if (!application.best_effort) result.host_applications_used += application.cpu;
  }
  everything += std::max(inside, load.best_effort_cpu);
  result.system_used =
      std::max({load.node_cpu - everything, 0.0, static_cast<double>(load.reserved_milli) / 1000});
  const auto milli = [](double cpus) { return static_cast<std::int64_t>(cpus * 1000); };
  result.milli = load.capacity_milli * threshold_percent / 100 - milli(result.pods_used) -
                 milli(result.host_applications_used) - milli(result.system_used);
  if (min_percent) result.milli = std::max(result.milli, load.capacity_milli * *min_percent / 100);
  return result;
}

std::int64_t next_quota(std::int64_t budget_milli, std::int64_t present_us, std::int64_t capacity_milli,
                        std::int64_t min_us) {
  const std::int64_t target = std::max(budget_milli * kUsPerMilli, min_us);
  if (present_us == host::kUnlimited) return target;
  const std::int64_t node_us = whole_cpus(capacity_milli) * host::kDefaultPeriodUs;
  if (std::abs(target - present_us) * 100 < node_us && target != min_us) return present_us;
  return std::min(target, present_us + node_us / 10);
}

int next_cpu_count(std::int64_t budget_milli, int present, int machine) {
  const auto target =
      static_cast<int>(std::max<std::int64_t>(whole_cpus(std::max<std::int64_t>(budget_milli, 0)), kMinCpus));
  return std::min(target, present + (machine + 9) / 10);
}

std::vector<int> choose_cpus(int count, std::vector<host::CpuPlace> available) {
  std::vector<int> chosen;
  if (count <= 0 || std::cmp_less(available.size(), count)) return chosen;
  std::sort(available.begin(), available.end(),
            [](const auto& a, const auto& b) { return std::tie(a.core, a.cpu) < std::tie(b.core, b.cpu); });
  std::map<std::pair<int, int>, Bucket> by_place;
  for (const host::CpuPlace& cpu : available) by_place[{cpu.node, cpu.socket}].push_back(cpu);
  std::vector<Bucket> buckets;
  buckets.reserve(by_place.size());
  for (auto& [place, bucket] : by_place) buckets.push_back(std::move(bucket));
  std::sort(buckets.begin(), buckets.end(), [](const Bucket& a, const Bucket& b) {
    return a.size() != b.size() ? a.size() > b.size() : a[0].cpu < b[0].cpu;
  });
  std::vector<std::vector<bool>> taken;
  taken.reserve(buckets.size());
  for (const Bucket& bucket : buckets) taken.emplace_back(bucket.size());

  // Whole cores, one bucket after the other, until a round from the first bucket on finds none; then single
  // CPUs, from the bucket on that is next.
  std::size_t at = 0;
  int need = count;
  for (int before = -1; need > 1; at = (at + 1) % buckets.size()) {
    if (at == 0 && std::exchange(before, need) == need) break;
    const std::size_t pair = free_pair(buckets[at], taken[at]);
    if (pair == buckets[at].size()) continue;
    for (const std::size_t i : {pair, pair + 1}) {
      taken[at][i] = true;
      chosen.push_back(buckets[at][i].cpu);
    }
    need -= 2;
  }
  for (; need > 0; at = (at + 1) % buckets.size()) {
    const auto free = std::find(taken[at].begin(), taken[at].end(), false);
    if (free == taken[at].end()) continue;
    *free = true;
    chosen.push_back(buckets[at][static_cast<std::size_t>(free - taken[at].begin())].cpu);
    --need;
  }
  return chosen;
}

void share_out(std::int64_t total_us, std::span<const Claim> claims, Shares& shares) {
  std::vector<std::int64_t>& us = shares.us;
  std::vector<std::size_t>& order = shares.order;
  us.assign(claims.size(), 0);
  order.resize(claims.size());
  std::int64_t left = total_us;
  const auto most = [&](std::size_t i) { return claims[i].most_us.value_or(total_us); };
  // Raises all that are below their limit together, the lowest limit first.
  const auto raise = [&](auto&& limit) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto missing = [&](std::size_t i) { return std::pair(limit(i) - us[i], i); };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return missing(a) < missing(b); });
    for (std::size_t k = 0; k < order.size() && left > 0; ++k) {
      const std::size_t i = order[k];
      const std::int64_t part = left / static_cast<std::int64_t>(order.size() - k);
      const std::int64_t more = std::clamp<std::int64_t>(limit(i) - us[i], 0, part);
      us[i] += more;
      left -= more;
    }
  };
  raise([&](std::size_t i) { return std::min(most(i), kMinQuotaUs); });
  raise([&](std::size_t i) {
    return claims[i].hungry ? most(i) : std::min(most(i), claims[i].used_us + claims[i].used_us / 4);
  });
  raise(most);
}

}  // namespace koord::koordlet::cpu_suppress
