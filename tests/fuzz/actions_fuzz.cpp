// The file of evictions: taken over whole or not at all, and what was taken over is saved and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "framework/action/actions.hpp"
#include "koord/base/manual_clock.hpp"
#include "scratch_folder.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

class NoRunner final : public ActionRunner {
 public:
  void run(const Action&, Done) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Most inputs are of this boot, so that the rows are reached.
  const bool whole = size > 0 && data[0] == 'k';
  kFolder.write("evicted", whole ? std::string(text) : "koord-actions 1 boot\n" + std::string(text));
  ManualClock clock;
  CapturedLog log;
  metrics::Registry metrics;
  NoRunner runner;
  const Actions::Options options{.file = {.path = kFolder / "evicted", .boot_id = "boot"}};
  Actions actions(options, runner, clock, Logger(log, clock), metrics);
  const auto unfinished = actions.load();
  if (unfinished)
    for (const std::string& group : *unfinished) check(group.find('\n') == std::string::npos);
  auto pod = std::make_shared<PodInfo>();
  pod->uid = std::string(size + 1, 'x');  // which the input cannot have
  pod->containers.push_back({.name = "c", .id = "c", .group = "g"});
  if (actions.room("s") == 0) return 0;
  check(actions.begin({.pod = pod, .message = "m", .strategy = "s"}, false));
  Actions next(options, runner, clock, Logger(log, clock), metrics);
  const auto again = next.load();
  check(again.has_value() && !again->empty() && again->back() == "g");
  check(next.is_cooling("s", std::chrono::seconds(1)) && next.standing(*pod, "s") == Standing::pending);
  return 0;
}
