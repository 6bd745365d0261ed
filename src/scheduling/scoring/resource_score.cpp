// ResourceScorer: see resource_score.hpp.
#include "koord/scheduling/scoring/resource_score.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace koord::scheduling {

namespace {

constexpr std::int64_t kMax = 100;

std::int32_t balance(std::span<const std::int64_t> used, std::span<const std::int64_t> capacity) {
  std::array<double, 64> parts;
  std::size_t count = std::min(used.size(), parts.size());
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    parts[i] = std::min(static_cast<double>(used[i]) / static_cast<double>(capacity[i]), 1.0);
    total += parts[i];
  }
  double deviation = 0;
  if (count == 2) {
    deviation = std::fabs((parts[0] - parts[1]) / 2);
  } else if (count > 2) {
    double mean = total / static_cast<double>(count), sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += (parts[i] - mean) * (parts[i] - mean);
    deviation = std::sqrt(sum / static_cast<double>(count));
  }
  return static_cast<std::int32_t>((1 - deviation) * static_cast<double>(kMax));
}

std::int64_t added(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// Rounded down; `part` is at most `whole`.
std::int64_t percent(std::int64_t part, std::int64_t whole) {
  std::int64_t scaled;
  if (!__builtin_mul_overflow(part, kMax, &scaled)) return scaled / whole;
  return part / (whole / kMax);  // so large that the remainder does not show
}

/// What a resource adds to the score of each row.
struct Column {
  const std::int64_t* there;
  const std::int64_t* used;
  std::int64_t request, weight;
};

/// So many rows are computed together, in loops that the compiler turns into vector instructions.
constexpr std::size_t kTogether = 512, kWorthIt = 16;
/// Below it 100 times an integer is exact as a double, and so is the whole part of a percentage: what is not
/// whole is further from the next whole number than rounding reaches.
constexpr std::uint64_t kExact = std::uint64_t{1} << 45;

/// Of what is below kExact: the low bits of 2^52 are ones.
double exact(std::uint64_t number) {
  return std::bit_cast<double>(number | std::uint64_t{0x433} << 52) - 0x1p52;
}

bool in_order(std::span<const Row> rows) {
  bool same = true;
  for (std::size_t i = 0; i < rows.size(); ++i) same &= rows[i] == rows[0] + i;
  return same;
}

std::uint64_t taken(const Column& c, Row row) {
  return static_cast<std::uint64_t>(c.request) + static_cast<std::uint64_t>(c.used[row]);
}

/// The rows from `first` on, with the same results as one by one; false: their numbers are not so that this
/// is sure.
bool score_together(ResourceScorer::Strategy strategy, std::span<const Column> columns, Row first,
                    std::span<std::int32_t> out) {
  using Strategy = ResourceScorer::Strategy;
  const bool balanced = strategy == Strategy::balanced;
  if (strategy == Strategy::ratio || (balanced && columns.size() != 2)) return false;
  double weight = 0;
  for (const Column& c : columns) {
    std::uint64_t all = 0;  // 0 there makes the largest number of it
    for (std::size_t i = 0; i < out.size(); ++i)
      all |= (static_cast<std::uint64_t>(c.there[first + i]) - 1) | taken(c, first + static_cast<Row>(i));
    if (all >= kExact) return false;
    weight += static_cast<double>(c.weight);
  }
  if (balanced) {
    const Column &a = columns[0], &b = columns[1];
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Row row = first + static_cast<Row>(i);
      const auto share = [&](const Column& c) {
        return std::min(exact(taken(c, row)) / exact(static_cast<std::uint64_t>(c.there[row])), 1.0);
      };
      out[i] =
          static_cast<std::int32_t>((1 - std::fabs((share(a) - share(b)) / 2)) * static_cast<double>(kMax));
    }
    return true;
  }
  std::array<double, kTogether> sums{};
  const auto add = [&](const Column& c, auto&& part) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Row row = first + static_cast<Row>(i);
      const double there = exact(static_cast<std::uint64_t>(c.there[row]));
      const auto percent =
          static_cast<std::int32_t>(part(exact(taken(c, row)), there) * static_cast<double>(kMax) / there);
      sums[i] += static_cast<double>(percent) * static_cast<double>(c.weight);
    }
  };
  for (const Column& c : columns)
    if (strategy == Strategy::least_allocated) {
      add(c, [](double used, double there) { return std::max(there - used, 0.0); });
    } else {
      add(c, [](double used, double there) { return std::min(used, there); });
    }
  if (weight == 0) weight = 1;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(sums[i] / weight);
  return true;
}

}  // namespace

bool ResourceScorer::has_scalars() const { return std::ranges::any_of(resources_, &Resource::scalar); }

bool ResourceScorer::looks_elsewhere(std::span<const std::int64_t> requests) const {
  if (!elsewhere_) return false;
  for (std::size_t i = 0; i < resources_.size(); ++i)
    if (resources_[i].scalar && requests[i] != 0) return true;
  return false;
}

ResourceId ResourceScorer::counted(ResourceId resource) const {
  if (strategy_ == Strategy::balanced) return resource;
  return resource == kCpu ? kNonzeroCpu : resource == kMemory ? kNonzeroMemory : resource;
}

std::vector<std::int64_t> ResourceScorer::requests(const PodInfo& pod) const {
  std::vector<std::int64_t> amounts;
  amounts.reserve(resources_.size());
  for (const Resource& r : resources_) amounts.push_back(pod.requests[counted(r.id)]);
  return amounts;
}

std::int64_t ResourceScorer::part(std::int64_t used, std::int64_t capacity) const {
  switch (strategy_) {
    case Strategy::least_allocated: return used > capacity ? 0 : percent(capacity - used, capacity);
    case Strategy::most_allocated: return percent(std::min(used, capacity), capacity);
    case Strategy::ratio: return on_broken_line(shape_, used > capacity ? kMax : percent(used, capacity));
    case Strategy::balanced: break;
  }
  return 0;
}

std::int64_t on_broken_line(std::span<const ResourceScorer::Point> shape, std::int64_t utilization) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score;
    const ResourceScorer::Point& a = shape[i - 1];
    const ResourceScorer::Point& b = shape[i];
    return a.score + (b.score - a.score) * (utilization - a.utilization) / (b.utilization - a.utilization);
  }
  return shape.back().score;
}

std::int32_t ResourceScorer::score(std::span<const std::int64_t> used, std::span<const std::int64_t> capacity,
                                   std::span<const std::int64_t> weights) const {
  if (strategy_ == Strategy::balanced) return balance(used, capacity);
  std::int64_t sum = 0, weight = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    std::int64_t s = part(used[i], capacity[i]);
    if (strategy_ == Strategy::ratio && s <= 0) continue;
    sum += s * weights[i];
    weight += weights[i];
  }
  if (weight == 0) return 0;
  if (strategy_ != Strategy::ratio) return static_cast<std::int32_t>(sum / weight);
  return static_cast<std::int32_t>(std::round(static_cast<double>(sum) / static_cast<double>(weight)));
}

std::int32_t ResourceScorer::score(std::span<const std::int64_t> requests, const NodeView& view) const {
  std::array<std::int64_t, 64> used, capacity, weights;
  std::size_t count = 0;
  for (std::size_t i = 0; i < resources_.size() && count < used.size(); ++i) {
    const Resource& r = resources_[i];
    if (r.scalar && requests[i] == 0) continue;
    Room room{view.allocatable(r.id), 0};
    if (room.there != 0)
      room.used = view.used(counted(r.id));
    else if (r.scalar && elsewhere_)
      room = elsewhere_(r.id, view.row());
    if (room.there == 0) continue;
    used[count] = added(requests[i], room.used);
    capacity[count] = room.there;
    weights[count++] = r.weight;
  }
  return score(std::span(used).first(count), std::span(capacity).first(count),
               std::span(weights).first(count));
}

void ResourceScorer::score(std::span<const std::int64_t> requests, const NodeTable& nodes,
                           std::span<const Row> rows, std::span<std::int32_t> out) const {
  if (looks_elsewhere(requests)) {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = score(requests, NodeView(nodes, rows[i]));
    return;
  }
  // What is the same for all rows is looked up once.
  std::array<std::int64_t, 64> used, capacity, weights;
  std::array<Column, 64> columns;
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < resources_.size() && wanted < columns.size(); ++i) {
    const Resource& r = resources_[i];
    const std::int64_t* there = nodes.allocatable_column(r.id);
    if (there == nullptr || (r.scalar && requests[i] == 0)) continue;
    columns[wanted++] = {there, nodes.used_column(counted(r.id)), requests[i], r.weight};
  }
  // Rows out of order are put in order first.
  constexpr std::size_t kGathered = 4;
  const bool ordered = in_order(rows);
  while (rows.size() >= kWorthIt && (ordered || wanted <= kGathered)) {
    const std::size_t count = std::min(kTogether, rows.size());
    std::array<Column, 64> from;
    std::copy_n(columns.begin(), wanted, from.begin());
    std::array<std::array<std::int64_t, kTogether>, 2 * kGathered> gathered;
    for (std::size_t i = 0; i < wanted && !ordered; ++i) {
      const Column& c = columns[i];
      for (std::size_t n = 0; n < count; ++n) {
        gathered[2 * i][n] = c.there[rows[n]];
        gathered[2 * i + 1][n] = c.used[rows[n]];
      }
      from[i].there = gathered[2 * i].data();
      from[i].used = gathered[2 * i + 1].data();
    }
    if (!score_together(strategy_, std::span(from).first(wanted), ordered ? rows[0] : 0, out.first(count)))
      break;
    rows = rows.subspan(count);
    out = out.subspan(count);
  }
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const Row row = rows[n];
    std::size_t count = 0;
    for (std::size_t i = 0; i < wanted; ++i) {
      const Column& c = columns[i];
      if (c.there[row] == 0) continue;
      used[count] = added(c.request, c.used[row]);
      capacity[count] = c.there[row];
      weights[count++] = c.weight;
    }
    out[n] = score(std::span(used).first(count), std::span(capacity).first(count),
                   std::span(weights).first(count));
  }
}

}  // namespace koord::scheduling
