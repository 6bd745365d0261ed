// A series store's checkpoint: bytes are restored whole or not at all, and what was restored can be saved and
// restored again. The last 8 bytes, the sum, are put right, so that what is behind it is reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "framework/series/checkpoint.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const CheckpointStamp stamp{MonoTime(std::chrono::hours(11)), WallTime(std::chrono::hours(480'001)),
                              "boot"};
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::uint64_t sum = checkpoint_sum(bytes);
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  const SeriesStore::Limits limits{.window = std::chrono::minutes(2), .max_series = 8};

  SeriesStore store(limits);
  const auto restored = store.restore(bytes, stamp);
  if (!restored) {
    check(store.size() == 0);
    return 0;
  }
  check(*restored == store.size() && store.size() <= 8);
  std::string again;
  store.save(stamp, std::chrono::minutes(2), again);
  SeriesStore copy(limits);
  const auto twice = copy.restore(again, stamp);
  check(twice.has_value() && *twice <= *restored);
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    const auto one = store.aggregate(metric, "", stamp.mono, std::chrono::minutes(2));
    const auto two = copy.aggregate(metric, "", stamp.mono, std::chrono::minutes(2));
    check(one.has_value() == two.has_value());
    if (one) check(one->count == two->count);
  }
  return 0;
}
