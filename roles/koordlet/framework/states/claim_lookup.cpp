// Asking for claims: see claim_lookup.hpp.
#include "framework/states/claim_lookup.hpp"

#include <fmt/format.h>

#include <chrono>

#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"

namespace koord::koordlet {
namespace {

constexpr nanoseconds kAgain = std::chrono::seconds(30);
/// Between two questions: a node's first pods are many at once.
constexpr nanoseconds kPause = std::chrono::milliseconds(100);

}  // namespace

void ClaimBook::want(ClaimKeys wanted) {
  wanted_ = std::move(wanted);
  std::erase_if(known_.volumes, [this](const auto& one) { return !wanted_.contains(one.first); });
  std::erase_if(again_, [this](const auto& one) { return !wanted_.contains(one.first); });
}

const ClaimKeys::value_type* ClaimBook::due(MonoTime now) const {
  for (const auto& claim : wanted_) {
    const auto it = known_.volumes.find(claim);
    if (it == known_.volumes.end()) return &claim;
    const auto again = again_.find(claim);
    if (it->second.empty() && (again == again_.end() || now >= again->second)) return &claim;
  }
  return nullptr;
}

void ClaimBook::note(const ClaimKeys::value_type& claim, std::string volume, MonoTime now) {
  if (!wanted_.contains(claim)) return;
  again_[claim] = now + kAgain;
  known_.volumes[claim] = std::move(volume);
}

ClaimLookup::ClaimLookup(Parts parts, Wanted wanted, Publish publish)
    : parts_(parts), wanted_(std::move(wanted)), publish_(std::move(publish)) {
  parts_.hub.listen([this](const std::shared_ptr<const Inventory>&) { changed_.set(); });
}

/// The inventory may be another one after each answer.
const ClaimKeys::value_type* ClaimLookup::next() {
  ClaimKeys wanted = wanted_(*parts_.hub.current());
  std::erase_if(told_, [&](const auto& one) { return !wanted.contains(one.first); });
  book_.want(std::move(wanted));
  return book_.due(parts_.clock.mono());
}

void ClaimLookup::publish() {
  const auto& now = parts_.hub.current()->claims;
  if (now == nullptr ? !book_.known().volumes.empty() : *now != book_.known())
    publish_(std::make_shared<const ClaimVolumes>(book_.known()));
}

Task<Result<>> ClaimLookup::ask() {
  while (const auto* const due = next()) {
    const ClaimKeys::value_type claim = *due;
    auto found = co_await parts_.client.get<api::PersistentVolumeClaim>({claim.first, claim.second});
    if (!found && found.error().code() == Code::cancelled) co_return found.error();
    std::string wrong = found ? std::string() : std::string(found.error().message());
    std::string& told = told_[claim];
    if (!wrong.empty() && wrong != told)
      parts_.log.warn("which volume a claim has is not known: it is asked for again",
                      kv("claim", fmt::format("{}/{}", claim.first, claim.second)), kv("error", wrong));
    told = std::move(wrong);
    book_.note(claim, found ? found->spec.volume_name.str() : std::string(), parts_.clock.mono());
    publish();
    KOORD_CO_CHECK(co_await sleep(parts_.clock, kPause));
  }
  publish();  // what nobody wants any more
  co_return Result<>();
}

Task<Result<>> ClaimLookup::run() {
  for (;;) {
    changed_.reset();
    KOORD_CO_CHECK(co_await ask());
    KOORD_CO_CHECK(co_await changed_.wait_for(parts_.clock, kAgain));
  }
}

}  // namespace koord::koordlet
