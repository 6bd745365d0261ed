// Checkpoints. Little-endian; texts are a length and bytes:
//   "koordser", version, mono, wall, boot id, ages of the ticks in ms before mono (oldest first),
//   series: metric's name, entity, first tick, values; minutes: minute, sum, min, max, filled buckets
//   and the sum of all bytes before.
#include "framework/series/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "framework/series/store_impl.hpp"
#include "koord/base/file.hpp"

namespace koord::koordlet {

namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are written as memory has them");

constexpr std::string_view kMagic = "koordser";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kSumSize = sizeof(std::uint64_t);
constexpr std::size_t kMaxFile = std::size_t{512} << 20;
// Far beyond every true value, far below what 64 bits of nanoseconds overflow at.
constexpr nanoseconds kMaxTime = std::chrono::hours(24 * 365 * 100);
constexpr std::int64_t kMaxMinute = kMaxTime / kDigestStep;
constexpr nanoseconds kAgeUnit = std::chrono::milliseconds(1);

template <class T>
void put(std::string& out, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint16_t>(text.size()));
  out.append(text);
}

/// Takes values off the front; at the end of the bytes it fails and stays failed.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool failed() const { return failed_; }
  bool at_end() const { return bytes_.empty(); }

  template <class T>
  T get() {
    T value{};
    if (bytes_.size() < sizeof(T)) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view text() { return take(get<std::uint16_t>()); }
  std::string_view take(std::size_t size) {
    if (bytes_.size() < size) {
      failed_ = true;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  /// A count of things that take at least `each` bytes: never more than there are bytes for.
  std::uint32_t count(std::size_t each) {
    const auto n = get<std::uint32_t>();
    if (n > bytes_.size() / each) failed_ = true;
    return failed_ ? 0 : n;
  }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

Error garbled() { return Error(Code::parse, "checkpoint: garbled"); }

void put_digests(std::string& out, const DigestRing& digests, MonoTime from, MonoTime to) {
  std::uint32_t count = 0;
  digests.each(from, to, [&](const Digest&) { ++count; });
  put(out, count);
  digests.each(from, to, [&](const Digest& digest) {
    put(out, digest.minute);
    put(out, digest.sum);
    put(out, digest.min);
    put(out, digest.max);
    put(out, digest.count);
    const auto filled =
        std::count_if(digest.counts.begin(), digest.counts.end(), [](auto n) { return n > 0; });
    put(out, static_cast<std::uint16_t>(filled));
    for (std::size_t i = 0; i < digest.counts.size(); ++i) {
      if (digest.counts[i] == 0) continue;
      put(out, static_cast<std::uint8_t>(i));
      put(out, digest.counts[i]);
    }
  });
}

bool read_digest(Reader& in, Digest& digest) {
  digest = Digest{};
  digest.minute = in.get<std::int64_t>();
  digest.sum = in.get<double>();
  digest.min = in.get<float>();
  digest.max = in.get<float>();
  digest.count = in.get<std::uint32_t>();
  const auto filled = in.get<std::uint16_t>();
  for (std::size_t i = 0; i < filled && !in.failed(); ++i) {
    const auto bucket = in.get<std::uint8_t>();
    digest.counts[bucket] = in.get<std::uint8_t>();
  }
  return !in.failed() && std::isfinite(digest.sum) && digest.min <= digest.max &&
         std::llabs(digest.minute) < kMaxMinute;
}

/// How long ago the checkpoint was written.
Result<nanoseconds> age_of(MonoTime mono, WallTime wall, std::string_view boot_id,
                           const CheckpointStamp& now) {
  if (mono.time_since_epoch() < nanoseconds(0) || mono.time_since_epoch() > kMaxTime ||
      wall.time_since_epoch() < nanoseconds(0) || wall.time_since_epoch() > kMaxTime)
    return garbled();
  const bool same_boot = !boot_id.empty() && boot_id == now.boot_id && now.mono >= mono;
  const nanoseconds age = same_boot ? now.mono - mono : now.wall - wall;
  if (age < nanoseconds(0))
    return Error(Code::invalid, "checkpoint: written in the future; the wall clock went back");
  return age;
}

}  // namespace

std::uint64_t checkpoint_sum(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return sum;
}

void SeriesStore::save(const CheckpointStamp& stamp, nanoseconds entity_window, std::string& out) const {
  const Impl& impl = *impl_;
  const std::size_t start = out.size();
  out += kMagic;
  put(out, kVersion);
  put(out, stamp.mono.time_since_epoch().count());
  put(out, stamp.wall.time_since_epoch().count());
  put_text(out, stamp.boot_id.substr(0, Impl::kMaxEntity));

  const std::uint32_t oldest =
      std::max(impl.ticks.oldest(), impl.ticks.first_after(stamp.mono - impl.limits.window));
  put(out, impl.ticks.count() - oldest);
  for (std::uint32_t tick = oldest; tick < impl.ticks.count(); ++tick) {
    const std::int64_t age = (stamp.mono - impl.ticks.at(tick)) / kAgeUnit;
    put(out, static_cast<std::uint32_t>(
                 std::clamp<std::int64_t>(age, 0, std::numeric_limits<std::uint32_t>::max())));
  }

  const std::uint32_t entity_oldest = std::max(oldest, impl.ticks.first_after(stamp.mono - entity_window));
  const std::size_t count_at = out.size();
  std::uint32_t count = 0;
  put(out, count);
  for (const Impl::Slot& slot : impl.slots) {
    if (!slot.open) continue;
    const std::uint32_t from =
        std::max(impl.first_kept(slot), is_node_level(slot.metric) ? oldest : entity_oldest);
    const bool has_samples = !slot.empty && from <= slot.last;
    if (!has_samples && !slot.digests) continue;
    ++count;
    put_text(out, name(slot.metric));
    put_text(out, slot.entity);
    put(out, has_samples ? from - oldest : 0);
    put(out, has_samples ? slot.last - from + 1 : 0);
    for (std::uint32_t tick = from; has_samples && tick <= slot.last; ++tick) put(out, impl.at(slot, tick));
    if (slot.digests)
      put_digests(out, *slot.digests, stamp.mono - impl.limits.digest_window, stamp.mono);
    else
      put(out, std::uint32_t{0});
  }
  std::memcpy(out.data() + count_at, &count, sizeof(count));
  put(out, checkpoint_sum(std::string_view(out).substr(start)));
}

namespace {

/// Ages of ticks, oldest first.
bool read_ages(Reader& in, std::vector<nanoseconds>& ages) {
  const std::uint32_t count = in.count(sizeof(std::uint32_t));
  ages.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ages.push_back(in.get<std::uint32_t>() * kAgeUnit);
    if (i > 0 && ages[i] > ages[i - 1]) return false;
  }
  return !in.failed();
}

}  // namespace

Result<std::size_t> SeriesStore::restore(std::string_view checkpoint, const CheckpointStamp& stamp) {
  Impl& impl = *impl_;
  if (impl.size > 0 || impl.ticks.count() > 0)
    return Error(Code::internal, "a checkpoint is restored into a store that was used already");
  if (checkpoint.size() < kMagic.size() + sizeof(kVersion) + kSumSize || !checkpoint.starts_with(kMagic))
    return Error(Code::parse, "checkpoint: not one, or truncated");
  const std::string_view body = checkpoint.substr(0, checkpoint.size() - kSumSize);
  Reader tail(checkpoint.substr(body.size()));
  if (tail.get<std::uint64_t>() != checkpoint_sum(body))
    return Error(Code::parse, "checkpoint: truncated or garbled");
  Reader in(body.substr(kMagic.size()));
  if (const auto version = in.get<std::uint32_t>(); version != kVersion)
    return Error(Code::parse,
                 fmt::format("checkpoint: version {}, this program reads {}", version, kVersion));
  const MonoTime mono{nanoseconds(in.get<std::int64_t>())};
  const WallTime wall{nanoseconds(in.get<std::int64_t>())};
  const std::string_view boot_id = in.text();
  std::vector<nanoseconds> ages;
  if (!read_ages(in, ages)) return garbled();
  KOORD_TRY(away, age_of(mono, wall, boot_id, stamp));

  // The ticks that are still in the window, in the numbers that they have here.
  const auto first = static_cast<std::uint32_t>(
      std::find_if(ages.begin(), ages.end(),
                   [&](nanoseconds age) { return age + away <= impl.limits.window; }) -
      ages.begin());
  const auto skipped = std::max<std::size_t>(first, ages.size() - std::min(ages.size(), impl.capacity));
  for (std::size_t i = skipped; i < ages.size(); ++i) impl.ticks.restore(stamp.mono - away - ages[i]);

  // Minutes are of this boot's clock only if it is the same one; otherwise they are moved.
  const std::int64_t moved_minutes = DigestRing::minute_of(stamp.mono - away) - DigestRing::minute_of(mono);
  const auto fail = [&](Error error) {
    impl.clear();
    return error;
  };
  const std::uint32_t series = in.count(3 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < series; ++i) {
    const auto metric = metric_of_name(in.text());
    const std::string_view entity = in.text();
    const auto from = in.get<std::uint32_t>();
    const std::uint32_t count = in.count(sizeof(float));
    if (in.failed() || from > ages.size() || count > ages.size() - from) return fail(garbled());
    // A metric of another version is read over, as is what is one too many.
    Impl::Slot* slot = nullptr;
    if (metric)
      if (const auto id = impl.open(*metric, entity, false)) slot = impl.slot(*id);
    if (slot && !slot->empty) return fail(garbled());  // twice
    for (std::uint32_t tick = from; tick < from + count; ++tick) {
      const auto value = in.get<float>();
      if (slot && tick >= skipped && !std::isnan(value))
        impl.put(*slot, tick - static_cast<std::uint32_t>(skipped), value);
    }
    const std::uint32_t minutes = in.count(sizeof(std::int64_t));
    for (std::uint32_t m = 0; m < minutes; ++m) {
      Digest digest;
      if (!read_digest(in, digest)) return fail(garbled());
      digest.minute += moved_minutes;
      if (slot && slot->digests &&
          DigestRing::start_of(digest.minute) > stamp.mono - impl.limits.digest_window)
        slot->digests->put(digest);
    }
  }
  if (in.failed() || !in.at_end()) return fail(garbled());
  return size();
}

Result<> write_checkpoint(const std::string& path, std::string_view bytes) {
  return replace_file(path, bytes);
}

Result<std::size_t> read_checkpoint(const std::string& path, const CheckpointStamp& stamp,
                                    SeriesStore& store) {
  const auto bytes = read_file(path, kMaxFile, Source::own);
  if (!bytes) {
    if (bytes.error().code() == Code::not_found) return std::size_t{0};
    return bytes.error();
  }
  auto restored = store.restore(*bytes, stamp);
  if (!restored) return std::move(restored).error().context(path);
  return restored;
}

}  // namespace koord::koordlet
