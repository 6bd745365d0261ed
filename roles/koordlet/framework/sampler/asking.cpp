// Asking: see asking.hpp.
#include "framework/sampler/asking.hpp"

#include <fmt/format.h>

#include <chrono>

#include "koord/async/timer.hpp"

namespace koord::koordlet {

namespace {

std::int64_t whole_seconds(nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

Asking::Asking(Question& question, const CollectorEntry& row, CollectorLoop where, Logger log)
    : question_(question),
      name_(row.name),
      period_(row.period),
      patience_(row.patience),
      where_(where),
      log_(std::move(log)),
      status_{.name = row.name, .works = false, .reason = "it has not answered yet"} {}

void Asking::tick(const std::shared_ptr<const Inventory>& inventory, MonoTime now) {
  if (outcome_) settle(now);
  if (open_) {
    // It was cancelled then, and waits for something that cannot be.
    if (now - asked_ > patience_)
      fails(fmt::format("it has not answered for {} s", whole_seconds(now - asked_)));
    return;
  }
  if (now < due_) return;
  due_ = now + period_;
  asked_ = now;
  open_ = true;
  where_.group->spawn(std::string(name_), run(inventory));
}

Task<Result<>> Asking::run(std::shared_ptr<const Inventory> inventory) {
  outcome_ = co_await with_timeout(*where_.clock, patience_, question_.ask(std::move(inventory)));
  ended_ = where_.clock->mono();
  open_ = false;
  co_return Result<>();
}

void Asking::settle(MonoTime now) {
  const Result<> outcome = *std::exchange(outcome_, std::nullopt);
  if (!outcome) {
    // Else it is what was asked that gave up, and says why.
    const bool late = outcome.error().code() == Code::timeout && ended_ - asked_ >= patience_;
    fails(late ? fmt::format("it did not answer within {} s", whole_seconds(patience_))
               : outcome.error().message());
    return;
  }
  question_.take(asked_, now);
  if (told_) log_.info("a collector answers again", kv("collector", name_));
  told_ = false;
  status_.works = true;
  status_.reason.clear();
}

/// The log says it once, until it answers again.
void Asking::fails(std::string reason) {
  if (!told_)
    log_.warn("a collector gives no answer: what it said last stays, and grows old", kv("collector", name_),
              kv("reason", reason));
  told_ = true;
  status_.works = false;
  status_.reason = std::move(reason);
}

}  // namespace koord::koordlet
