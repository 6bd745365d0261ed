// A file of a usage model: taken over whole or not at all; what was taken over predicts numbers within the
// buckets, goes on learning, and is saved and read again as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "framework/predict/peak_files.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

bool same(const SavedHistogram& a, const SavedHistogram& b) {
  return a.reference == b.reference && a.weights == b.weights && a.total == b.total;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const WallTime now{std::chrono::seconds(1'700'000'000)};
  const auto read = read_peaks({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  PeakModels models({});
  const auto restored = models.restore("x", read->cpu, read->memory, MonoTime{}, now);
  check(restored.has_value() == (models.size() == 1));
  if (!restored) return 0;
  const auto peaks = [&] {
    const auto peak = models.find("x")->peak();
    if (!peak) return;
    check(peak->cpu > 0 && peak->cpu < 2'000'000);
    check(peak->memory > 0 && peak->memory < std::int64_t{1} << 42);
  };
  peaks();
  check(models.add("x", 1.5, 1e9, MonoTime{}, now));
  check(models.find("x")->peak().has_value());
  peaks();
  std::string text;
  write_peaks("x", *models.find("x"), now, text);
  const auto again = read_peaks(text);
  check(again.has_value());
  SavedHistogram saved;
  models.find("x")->cpu.save(saved);
  check(same(saved, again->cpu));
  models.find("x")->memory.save(saved);
  check(same(saved, again->memory));
  PeakModels next({});
  check(next.restore("x", again->cpu, again->memory, MonoTime{}, now).has_value());
  return 0;
}
