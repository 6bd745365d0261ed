// SmiWatch: see smi_watch.hpp.
#include "framework/devices/smi_watch.hpp"

#include <utility>

#include "koord/async/timer.hpp"
#include "koord/host/nvidia/nvidia_smi.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kPeriod = std::chrono::seconds(10), kGlance = std::chrono::seconds(1);

}  // namespace

SmiWatch::SmiWatch(std::shared_ptr<GpuDriver> driver, std::unique_ptr<host::Programs> programs,
                   std::string root, Clock& clock, Logger log)
    : driver_(std::move(driver)),
      programs_(std::move(programs)),
      root_(std::move(root)),
      clock_(clock),
      log_(std::move(log)) {}

Task<Result<>> SmiWatch::look() {
  programs_->begin();
  auto said = co_await host::ask_nvidia_smi(*programs_, root_);
  if (!said && said.error().code() == Code::cancelled) co_return said.error();
  if (said && !told_)
    log_.info("NVIDIA's library cannot be loaded: nvidia-smi is asked each 10 s in its place");
  told_ = told_ || said.has_value();
  driver_->tell(std::move(said));
  co_return Result<>();
}

Task<Result<>> SmiWatch::run() {
  for (;;) {
    const bool asks = driver_->lacks_library() && driver_->is_there();
    if (asks) KOORD_CO_CHECK(co_await look());
    KOORD_CO_CHECK(co_await sleep(clock_, asks ? kPeriod : kGlance));
  }
}

}  // namespace koord::koordlet
