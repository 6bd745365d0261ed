// Fragmentation: see fragmentation.hpp.
#include "scheduling/plugins/device_share/packing/fragmentation.hpp"

#include <algorithm>
#include <limits>

namespace koord::scheduling::device_share {

namespace {

std::span<const std::int32_t> gpus_of(const PackedRow& row) {
  return {row.free.data(), static_cast<std::size_t>(row.gpus)};
}

/// Whether it is one share of one GPU.
bool shares_one(const PackedRequest& request) { return request.gpus == 1 && request.share < 1000; }

/// For how many of them in parts, in GPUs' per mille, `free` lasts.
double lasts(std::int64_t free, std::int64_t asked, double gpus) {
  return asked == 0 ? std::numeric_limits<double>::infinity()
                    : static_cast<double>(free) / static_cast<double>(asked) * gpus;
}

/// What a request could use of a row's GPUs, in per mille.
struct Usable {
  std::int64_t soon = 0;  // GPUs that are big enough for it, as a whole
  double late = 0;        // what such pods alone take until GPUs, CPU or memory are gone
};

/// A row's GPUs that have something left: of many that are free and a few that are shared there are few
/// kinds, and each request of a mix asks about kinds.
class Kinds {
 public:
  explicit Kinds(const PackedRow& row) : row_(row) {
    for (const std::int32_t free : gpus_of(row)) {
      if (free == 0) continue;
      free_gpus_ += free;
      const auto end = kinds_.begin() + static_cast<std::ptrdiff_t>(size_);
      const auto it = std::find_if(kinds_.begin(), end, [&](const Kind& kind) { return kind.free == free; });
      if (it == end) kinds_[size_++] = {free, 0};
      ++it->gpus;
    }
  }

  std::int64_t free_gpus() const { return free_gpus_; }

  /// Nothing where it does not fit.
  Usable usable(const PackedRequest& request) const {
    if (row_.cpu < request.cpu || row_.memory < request.memory) return {};
    std::int64_t enough = 0, soon = 0, late = 0;
    for (const Kind& kind : std::span(kinds_).first(size_)) {
      if (kind.free < request.share) continue;
      enough += kind.gpus;
      soon += std::int64_t{kind.free} * kind.gpus;
      late += std::int64_t{kind.free - kind.free % std::max(request.share, 1)} * kind.gpus;
    }
    if (enough < request.gpus) return {};
    if (request.share <= 0) late = 0;
    const double gpus = static_cast<double>(request.gpus) * request.share;
    return {soon, std::min({static_cast<double>(late), lasts(row_.cpu, request.cpu, gpus),
                            lasts(row_.memory, request.memory, gpus)})};
  }

 private:
  struct Kind {
    std::int32_t free, gpus;
  };
  const PackedRow& row_;
  std::array<Kind, PackedRow::kMostGpus> kinds_;
  std::size_t size_ = 0;
  std::int64_t free_gpus_ = 0;
};

/// What is not usable by `of`, the mean over the requests for GPUs.
template <class Of>
double of_gpus(const PackedRow& row, std::span<const RequestMix::Entry> mix, Of&& of) {
  const Kinds kinds(row);
  if (kinds.free_gpus() == 0) return 0;
  const auto free = static_cast<double>(kinds.free_gpus());
  double sum = 0;
  for (const auto& [request, weight] : mix)
    if (request.gpus > 0) sum += weight * (free - of(kinds.usable(request)));
  return sum;
}

}  // namespace

std::int64_t PackedRow::free_gpus() const {
  std::int64_t sum = 0;
  for (const std::int32_t each : gpus_of(*this)) sum += each;
  return sum;
}

bool fits(const PackedRow& row, const PackedRequest& request) {
  if (row.cpu < request.cpu || row.memory < request.memory) return false;
  const auto enough =
      std::ranges::count_if(gpus_of(row), [&](std::int32_t free) { return free >= request.share; });
  return enough >= request.gpus;
}

PackedRow placed(const PackedRow& row, const PackedRequest& request, std::optional<std::int32_t> gpu) {
  PackedRow then = row;
  then.cpu -= request.cpu;
  then.memory -= request.memory;
  if (gpu) {
    then.free[static_cast<std::size_t>(*gpu)] -= request.share;
    return then;
  }
  std::int32_t left = request.gpus;
  for (std::int32_t& free : std::span(then.free).first(static_cast<std::size_t>(then.gpus)))
    if (left > 0 && free >= request.share) {
      free -= request.share;
      --left;
    }
  return then;
}

double unusable(const PackedRow& row, std::span<const RequestMix::Entry> mix) {
  return of_gpus(row, mix, [](const Usable& usable) { return usable.late; });
}

double unusable_as_published(const PackedRow& row, std::span<const RequestMix::Entry> mix) {
  const auto free = static_cast<double>(row.free_gpus());
  double sum = of_gpus(row, mix, [](const Usable& usable) { return static_cast<double>(usable.soon); });
  for (const auto& [request, weight] : mix) sum += request.gpus == 0 ? weight * free : 0;
  return sum;
}

double unusable_soon_and_late(const PackedRow& row, std::span<const RequestMix::Entry> mix) {
  return of_gpus(row, mix, [](const Usable& usable) { return 0.75 * usable.soon + 0.25 * usable.late; });
}

std::optional<Gradient> gradient(const PackedRow& row, const PackedRequest& request,
                                 std::span<const RequestMix::Entry> mix, double now, Unusable unusable) {
  if (!fits(row, request)) return {};
  if (!shares_one(request)) return Gradient{unusable(placed(row, request), mix) - now, {}};
  std::optional<Gradient> best;
  for (std::int32_t gpu = 0; gpu < row.gpus; ++gpu) {
    const std::int32_t free = row.free[static_cast<std::size_t>(gpu)];
    const auto before = gpus_of(row).first(static_cast<std::size_t>(gpu));
    if (free < request.share || std::ranges::find(before, free) != before.end()) continue;
    const double more = unusable(placed(row, request, gpu), mix) - now;
    if (!best || more < best->more) best = Gradient{more, gpu};
  }
  return best;
}

}  // namespace koord::scheduling::device_share
