// Why reservations did not serve a pod: see why_not.hpp.
#include "scheduling/plugins/reservation/rules/why_not.hpp"

#include <fmt/format.h>

namespace koord::scheduling::reservation {

void WhyNot::count(Match match, const api::Taint* taint,
                   const std::function<std::vector<std::string>()>& node_reasons) {
  if (match == Match::foreign || match == Match::ignored) return;
  ++owned_;
  switch (match) {
    case Match::other_name: ++other_name_; return;
    case Match::closed: ++closed_; return;
    case Match::affinity: ++affinity_; return;
    case Match::not_exact: ++not_exact_; return;
    case Match::tainted:
      ++tainted_[fmt::format("{{{}: {}}}", taint->key.view(), taint->value.view())];
      return;
    case Match::named: ++named_; break;
    default: break;
  }
  for (std::string& reason : node_reasons()) ++of_node_[std::move(reason)];
}

std::vector<std::string> WhyNot::reasons(bool always) const {
  std::vector<std::string> all;
  if (owned_ == 0 && !always) return all;
  const auto say = [&](std::uint32_t n, std::string_view what) {
    if (n > 0) all.push_back(fmt::format("{} Reservation(s) {}", n, what));
  };
  say(named_, "exactly matches the requested reservation name");
  say(other_name_, "didn't match the requested reservation name");
  say(affinity_, "didn't match affinity rules");
  say(closed_, "is unschedulable");
  say(not_exact_, "is not exact matched");
  for (const auto& [taint, n] : tainted_) say(n, fmt::format("had untolerated taint {}", taint));
  for (const auto& [reason, n] : of_node_) say(n, fmt::format("for node reason that {}", reason));
  all.push_back(fmt::format("{} Reservation(s) matched owner total", owned_));
  return all;
}

}  // namespace koord::scheduling::reservation
