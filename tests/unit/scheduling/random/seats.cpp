// Plugins that refuse, fail or let wait: see seats.hpp.
#include "random/seats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace koord::scheduling::test {

namespace {

constexpr const char* kRule = "example.com/seat";
constexpr const char* kWords[] = {"", "refuse", "fail", "deny", "wait", "open", "close"};

template <char kName>
class Seat final : public Plugin,
                   public EventPlugin,
                   public ReservePlugin,
                   public PermitPlugin,
                   public PostBindPlugin {
 public:
  explicit Seat(const PluginContext& context)
      : book_(*SeatBook::current()), cycle_(context.cycle), index_(context.index) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  EventMask events() const override { return events_of(EventKind::node_add, EventKind::assigned_pod_delete); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return true; }

  Status reserve(PodAttempt& attempt) override {
    const api::Pod& pod = *attempt.pod.pod;
    const SeatRule rule = SeatRule::of(pod);
    // Taken before it is refused: whoever fails is asked to give back, too.
    reserved()[pod.metadata.uid] = attempt.node.str();
    if (!rule.has(kName) || !rule.in_reserve(attempt.node.view())) return {};
    if (rule.what == SeatRule::What::fail)
      return {StatusCode::error, fmt::format("no book of seats on {}", attempt.node.view())};
    return {StatusCode::unschedulable,
            fmt::format("no seat of {} on {} for {}", kName, attempt.node.view(), pod.metadata.name)};
  }
  void unreserve(PodAttempt& attempt) override { reserved().erase(attempt.pod.pod->metadata.uid); }

  Answer permit(PodAttempt& attempt) override {
    const SeatRule rule = SeatRule::of(*attempt.pod.pod);
    if (!rule.has(kName)) return {};
    switch (rule.what) {
      case SeatRule::What::deny:
        return {{StatusCode::unschedulable, fmt::format("denied by {} on {}", kName, attempt.node.view())},
                {}};
      case SeatRule::What::wait: return {{StatusCode::wait, {}}, rule.timeout(kName)};
      case SeatRule::What::open:
        for (const std::string& uid : waiting_beside(attempt)) cycle_.allow(uid, index_);
        return {};
      case SeatRule::What::close:
        for (const std::string& uid : waiting_beside(attempt))
          cycle_.reject(uid, index_, fmt::format("closed by {}", kName));
        return {};
      default: return {};
    }
  }
  void post_bind(PodAttempt& attempt) override {
    ++book_.bound[kName - 'A'];
    reserved().erase(attempt.pod.pod->metadata.uid);
  }

 private:
  std::map<std::string, std::string>& reserved() { return book_.reserved[kName - 'A']; }
  std::vector<std::string> waiting_beside(const PodAttempt& attempt) const {
    std::vector<std::string> uids;
    cycle_.each_waiting([&](const PodAttempt& other) {
      if (&other.profile == &attempt.profile && other.node == attempt.node)
        uids.push_back(other.pod.pod->metadata.uid);
    });
    return uids;
  }

  SeatBook& book_;
  CycleControl& cycle_;
  PluginIndex index_;
};

constexpr PluginEntry kSeatA{.name = "SeatA", .make = &make<Seat<'A'>>};
constexpr PluginEntry kSeatB{.name = "SeatB", .make = &make<Seat<'B'>>};

}  // namespace

SeatBook*& SeatBook::current() {
  thread_local SeatBook* now = nullptr;
  return now;
}

SeatRule SeatRule::of(const api::Pod& pod) {
  SeatRule rule;
  const Symbol* text = pod.metadata.annotations.find(kRule);
  if (text == nullptr) return rule;
  std::istringstream words(text->str());
  std::string what;
  int seconds = 0;
  words >> what >> rule.plugins >> seconds;
  rule.what = static_cast<What>(std::find(std::begin(kWords), std::end(kWords), what) - std::begin(kWords));
  rule.time = std::chrono::seconds(seconds);
  return rule;
}

std::vector<const PluginEntry*> with_seats(PluginTable table) {
  std::vector<const PluginEntry*> all(table.begin(), table.end());
  all.push_back(&kSeatA);
  all.push_back(&kSeatB);
  return all;
}

void take_seat(std::mt19937& random, api::Pod& pod) {
  const auto below = [&](unsigned n) { return random() % n; };
  if (below(10) < 5) return;
  static constexpr const char* kPlugins[] = {"A", "B", "AB"};
  static constexpr unsigned kWeighted[] = {1, 2, 3, 4, 4, 4, 5, 5, 6};
  pod.metadata.annotations[kRule] =
      Symbol(fmt::format("{} {} {}", kWords[kWeighted[below(9)]], kPlugins[below(3)], 5 + below(60)));
}

}  // namespace koord::scheduling::test
