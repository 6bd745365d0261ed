// NVIDIA's GPUs, as the driver's library says them: asked in a process of its own, which may hang or die.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::host {

struct GpuCard {
  unsigned index = 0;  // NVML's
  std::int32_t minor = 0;
  std::string uuid;
  std::string bus_id;        // as parse_bus_id() has it
  std::string model;         // "NVIDIA A100-SXM4-80GB"
  std::uint64_t memory = 0;  // bytes
  bool mig = false;          // it is cut into instances
  bool crowded = false;    // more processes compute on it than an answer has room for: none of them is there
  std::uint64_t used = 0;  // bytes, by whomever
  /// Percent of its time: that in which it computed, and that in which its memory was read or written. 0
  /// where the driver does not say.
  unsigned cores = 0, memory_controller = 0;
};
/// Something that the driver noticed since the last answer.
struct GpuFault {
  std::string bus_id;     // empty: of which card is not known, or of all
  std::uint64_t xid = 0;  // 0: the card cannot be watched
};
/// A process that computes on a card.
struct GpuProcess {
  unsigned index = 0;        // of the card
  pid_t pid = 0;             // as the host's processes are numbered
  unsigned cores = 0;        // percent of the card's, of late; 0 for one that did nothing
  std::uint64_t memory = 0;  // bytes
};

struct GpuAnswer {
  std::string driver;  // "535.104.05"
  std::vector<GpuCard> cards;
  std::vector<GpuFault> faults;
  std::vector<GpuProcess> processes;
  std::vector<std::string> bad;  // "GPU 3: GPU is lost": cards that did not answer
  /// What the helper has cost since its start, and the most memory that it had. 0: not said.
  std::uint64_t cpu_us = 0, memory_kib = 0;
};

/// The lines of the helper's answer, the last one "end". Code::unavailable: the driver says why it cannot be
/// asked. Code::not_found: its library is not there. Code::invalid: it makes no sense.
Result<GpuAnswer> parse_gpu_answer(std::string_view text);

/// Not thread-safe; its functions block.
class NvmlProcess {
 public:
  struct Options {
    /// The folder that is the helper's /: the host's root in a pod, where loader and driver are. Empty: this
    /// process's. Another needs CAP_SYS_CHROOT.
    std::string root = {};
    nanoseconds limit = std::chrono::seconds(5);  // for an answer; the first one starts the driver's library
    std::string library = {};                     // in place of the driver's: of tests
  };
  /// `clock` outlives it, and is a real one.
  NvmlProcess(Clock& clock, Options options);
  /// Ends the helper, by force if it does not end by itself.
  ~NvmlProcess();
  NvmlProcess(const NvmlProcess&) = delete;
  NvmlProcess& operator=(const NvmlProcess&) = delete;

  /// What the driver says now. The helper is started where it does not run; it goes on running. One that does
  /// not answer in time, prints more than a megabyte or nonsense is killed. After three failures in a row it
  /// is left alone for a while, longer each time: Code::unavailable, or Code::not_found where there is no
  /// library or no loader.
  Result<GpuAnswer> ask();
  /// 0: it does not run.
  pid_t pid() const;

 private:
  class Child;
  Result<std::string> ask_once();

  Clock& clock_;
  Options options_;
  std::unique_ptr<Child> child_;
  struct Rest;
  std::unique_ptr<Rest> rest_;
};

}  // namespace koord::host
