// Keeping the network shaped: see tc_network.hpp.
#include "plugins/tc_network/tc_network.hpp"

#include <chrono>
#include <functional>
#include <utility>

#include "koord/host/file.hpp"

namespace koord::koordlet::tc_network {
namespace {

/// What somebody else has changed is put right so often, and groups that have come late get their class.
constexpr nanoseconds kLookAgain = std::chrono::seconds(10);
constexpr int kAuditVerbosity = 3;
constexpr std::string_view kAuditReason = "TCNetworkQoS";
constexpr BootFile::Kind kMark{.header = "koord-network 1 ",
                               .what = "a mark of the network's shaping",
                               .row = "row",
                               .max_size = 4096,
                               .max_rows = 0};

constexpr metrics::Metric kShaped{
    .name = "koordlet_network_shaped",
    .type = metrics::Type::gauge,
    .help = "Whether what the host sends is shaped by classes (gate TCNetworkQoS), all as it is wanted."};

/// Pods come and go all day: who is in which class is told to those who ask for more.
bool moves_somebody(StepKind kind) {
  return kind == StepKind::put_group || kind == StepKind::forget_group || kind == StepKind::change_marks;
}

bool is_marked(const BootFile::Place& mark) {
  for (const std::string& older : mark.older)
    if (host::exists(older)) return true;
  return !mark.path.empty() && host::exists(mark.path);
}

}  // namespace

const metrics::Table TcNetwork::kMetrics = {&kShaped};

Round keep(Network& network, const Wanted& wanted, const BootFile::Place& mark) {
  Round round;
  const bool marked = is_marked(mark);
  const auto seen = network.observe(wanted);
  if (!seen) {
    // Whose network it is not, or whose kernel has no such thing, has nothing of koord's to take away.
    const bool nobodys = !wanted.wanted && !marked && seen.error().code() == Code::unsupported;
    if (!nobodys) round.wrong = seen.error().message();
    return round;
  }
  if (wanted.wanted || marked) round.wrong = seen->missing;
  Steps steps = steps_to(wanted, seen->observed);
  // Nothing is refused and no step is left where a mark alone has been lost.
  const bool marks = wanted.wanted && !marked && (!steps.steps.empty() || steps.refused.empty());
  if (!steps.refused.empty()) round.wrong = std::move(steps.refused);
  if (marks)
    if (const auto saved = BootFile(kMark, mark).save({}); !saved) {
      round.wrong = saved.error().message();
      return round;
    }
  const bool shapes = wanted.wanted && round.wrong.empty();
  for (const Step& step : steps.steps) {
    const auto made = network.run(step);
    if (made) {
      round.done.push_back(to_string(step));
      round.reshaped = round.reshaped || !moves_somebody(step.kind);
      continue;
    }
    // A pod's group that has gone between the look and the step is nobody's any more.
    if (step.kind == StepKind::put_group && made.error().code() == Code::not_found) continue;
    round.wrong = made.error().message();
    // Without its root a class would be another error, and another one.
    if (step.kind == StepKind::add_root || step.kind == StepKind::remove_root) break;
  }
  round.shaped = shapes && round.wrong.empty();
  if (!wanted.wanted && marked && round.wrong.empty())
    if (const auto gone = BootFile(kMark, mark).remove(); !gone) round.wrong = gone.error().message();
  return round;
}

Result<bool> withdraw(HostNetwork& network, const BootFile::Place& mark) {
  if (!is_marked(mark)) {
    const auto any = network.has_any();
    if (!any || !*any) return false;
  }
  const Round round = keep(network, {}, mark);
  if (!round.wrong.empty()) return Error(Code::unavailable, round.wrong);
  return !round.done.empty();
}

Result<> withdraw(const Host& host, Logger& log) {
  HostNetwork network(host.root, host.version);
  KOORD_TRY(gone, withdraw(network, host.mark));
  if (gone) log.info("what the host sends is shaped no more");
  return {};
}

std::unique_ptr<TcNetwork> TcNetwork::make(Parts parts, Host host, bool on) {
  if (on)
    return std::make_unique<TcNetwork>(
        parts, std::make_unique<HostNetwork>(std::move(host.root), host.version, &parts.clock),
        std::move(host.mark));
  if (const auto gone = withdraw(host, parts.log); !gone)
    parts.log.warn("what the host sends stays shaped as an agent before this one did",
                   kv("error", gone.error()));
  return nullptr;
}

TcNetwork::TcNetwork(Parts parts, std::unique_ptr<Network> network, BootFile::Place mark)
    : parts_(parts),
      network_(std::move(network)),
      mark_(std::move(mark)),
      shaped_(parts.metrics.gauge(kShaped)) {
  parts_.hub.listen([this](const std::shared_ptr<const Inventory>&) { changed_.set(); });
}

void TcNetwork::tell(const std::string& what) {
  if (what == std::exchange(told_, what) || what.empty()) return;
  parts_.log.warn("what the host sends is not shaped as it is wanted", kv("error", what));
}

Task<Result<>> TcNetwork::follow() {
  std::string wrong;
  const auto wanted = wanted_of(*parts_.hub.current(), wrong);
  if (!wanted) {
    if (!wrong.empty()) shaped_.set(0);
    tell(wrong);
    co_return Result<>();
  }
  std::function<Result<Round>()> work = [this, &wanted]() -> Result<Round> {
    return keep(*network_, *wanted, mark_);
  };
  KOORD_CO_TRY(round, co_await offload(parts_.workers, std::move(work)));
  shaped_.set(round.shaped ? 1 : 0);
  if (round.wrong.empty() && !wanted->warnings.empty()) round.wrong = wanted->warnings.front();
  tell(round.wrong);
  const auto shaped_anew = [&](int level) {
    parts_.log.v(level, "what the host sends is shaped anew", kv("steps", round.done.size()),
                 kv("last", round.done.back()));
  };
  if (!round.done.empty()) shaped_anew(round.reshaped ? 0 : 1);
  for (const std::string& step : round.done)
    if (parts_.auditor != nullptr)
      parts_.auditor->record(kAuditVerbosity, {"node", "", "", "", kAuditReason, step});
  co_return Result<>();
}

Task<Result<>> TcNetwork::run() {
  for (;;) {
    changed_.reset();
    KOORD_CO_CHECK(co_await follow());
    KOORD_CO_CHECK(co_await changed_.wait_for(parts_.clock, kLookAgain));
  }
}

}  // namespace koord::koordlet::tc_network
