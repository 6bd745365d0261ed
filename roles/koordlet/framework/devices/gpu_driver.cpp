// GpuDriver: see gpu_driver.hpp.
#include "framework/devices/gpu_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/host/file.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kLongestRest = std::chrono::minutes(1);
constexpr nanoseconds kLongestTold = std::chrono::minutes(1);
constexpr std::size_t kMostFaults = 1024;

constexpr metrics::Metric kCpu{.name = "koordlet_gpu_helper_cpu_seconds_total",
                               .help = "CPU time of the process that asks NVIDIA's driver."};
constexpr metrics::Metric kMemory{.name = "koordlet_gpu_helper_memory_bytes",
                                  .type = metrics::Type::gauge,
                                  .help = "The most memory that this process had, its library's included."};

}  // namespace

const metrics::Table GpuDriver::kMetrics = {&kCpu, &kMemory};

GpuDriver::GpuDriver(Clock& clock, host::Root root, Options options, metrics::Registry& metrics)
    : clock_(clock),
      root_(std::move(root)),
      options_(std::move(options)),
      cpu_(metrics.counter(kCpu)),
      memory_(metrics.gauge(kMemory)),
      helper_(clock, options_.helper) {}

bool GpuDriver::is_there() const { return host::exists(fmt::format("{}bus/pci/drivers/nvidia", root_.sys)); }

Result<std::shared_ptr<const GpuDriver::Said>> GpuDriver::ask(nanoseconds oldest) {
  const std::lock_guard lock(mutex_);
  const MonoTime now = clock_.mono();
  if (last_ != nullptr && (now - last_->at < oldest || now < rests_until_)) return last_;
  last_.reset();  // where it cannot be asked any more nobody shall believe that it still says so
  auto asked = helper_.ask();
  lacks_library_ = !asked && asked.error().code() == Code::not_found;
  if (lacks_library_) return told(std::move(asked).error());
  if (!asked) return asked.error();
  host::GpuAnswer answer = std::move(*asked);
  note_cost(answer, now);
  const std::size_t room = kMostFaults - std::min(kMostFaults, faults_.size());
  const auto end = answer.faults.begin() + static_cast<std::ptrdiff_t>(std::min(room, answer.faults.size()));
  faults_.insert(faults_.end(), answer.faults.begin(), end);
  last_ = std::make_shared<const Said>(Said{std::move(answer), now});
  return last_;
}

void GpuDriver::tell(Result<host::GpuAnswer> said) {
  const std::lock_guard lock(told_mutex_);
  if (said)
    told_.emplace(std::make_shared<const Said>(Said{std::move(*said), clock_.mono()}));
  else
    told_.emplace(std::move(said).error());
}

Result<std::shared_ptr<const GpuDriver::Said>> GpuDriver::told(Error error) {
  const std::lock_guard lock(told_mutex_);
  if (!told_) return error;
  if (!*told_) return told_->error().context(error.message());
  if (clock_.mono() - (**told_)->at > kLongestTold) return error;
  return **told_;
}

/// A helper's first answer starts the driver's library, once: how long it rests follows from the others.
void GpuDriver::note_cost(const host::GpuAnswer& answer, MonoTime at) {
  const bool first = helper_.pid() != asked_ || answer.cpu_us < cpu_us_;
  const std::uint64_t spent = answer.cpu_us - (first ? 0 : cpu_us_);
  asked_ = helper_.pid();
  cpu_us_ = answer.cpu_us;
  cpu_.add(static_cast<double>(spent) / 1e6);
  memory_.set(static_cast<double>(answer.memory_kib) * 1024);
  rests_until_ = at;
  if (first || options_.share <= 0) return;
  const double rest = static_cast<double>(spent) * 1000 / options_.share;
  rests_until_ += rest < static_cast<double>(kLongestRest.count())
                      ? nanoseconds(static_cast<std::int64_t>(rest))
                      : kLongestRest;
}

std::vector<host::GpuFault> GpuDriver::take_faults() {
  const std::lock_guard lock(mutex_);
  return std::exchange(faults_, {});
}

}  // namespace koord::koordlet
