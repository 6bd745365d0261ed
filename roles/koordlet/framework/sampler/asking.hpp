// Asynchronous collectors: what is asked in one tick and answered before a later one, by a command, a
// device's library or another daemon. Asking is the sampler's side of it, AskingCollector the collector's.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "framework/sampler/collector.hpp"
#include "koord/async/task.hpp"
#include "koord/async/task_group.hpp"

namespace koord::koordlet {

/// One question at a time, and its answer, as the sampler sees them.
class Question {
 public:
  virtual ~Question() = default;
  /// Asks, and keeps the answer back until take().
  virtual Task<Result<>> ask(std::shared_ptr<const Inventory> inventory) = 0;
  /// At the begin of a tick, at `now`: the answer that came is what is shown from now on. `asked` is when
  /// that was asked.
  virtual void take(MonoTime asked, MonoTime now) = 0;
};

/// A collector whose answer comes later than the tick that asks. Its row says how often it asks
/// (CollectorEntry::period) and how long an answer may take (CollectorEntry::patience). An `Answer` is shown
/// in each tick from the one after it came, with the age of its question (TickView::age), until the next one
/// comes; so it names pods and containers by their ids, not by their places in an inventory.
template <class Answer>
class AskingCollector : public Collector, private Question {
 public:
  void sample(const TickView&) final {}
  void show(TickView& view) const final { view.slots.show(shown_ ? &*shown_ : nullptr, asked_); }
  Question* question() final { return this; }

 protected:
  /// On the event loop, which it never blocks: it waits for a child process, a socket, or the worker pool.
  /// Cancelled when its time is over. Errors are logged and counted by the sampler.
  virtual Task<Result<Answer>> answer(std::shared_ptr<const Inventory> inventory) = 0;
  /// It is shown from this tick on: for metrics and series.
  virtual void came(const Answer&, MonoTime) {}

 private:
  Task<Result<>> ask(std::shared_ptr<const Inventory> inventory) final {
    KOORD_CO_TRY(answered, co_await answer(std::move(inventory)));
    came_.emplace(std::move(answered));
    co_return Result<>();
  }
  void take(MonoTime asked, MonoTime now) final {
    shown_ = std::exchange(came_, std::nullopt);
    asked_ = asked;
    if (shown_) came(*shown_, now);
  }

  std::optional<Answer> came_, shown_;  // shown_: ticks point to it
  MonoTime asked_;                      // of shown_
};

/// What becomes of one collector's questions. On the sampler's thread, which is the event loop's.
class Asking {
 public:
  /// All outlive it; the group is stopped before. `where.group` is not null.
  Asking(Question& question, const CollectorEntry& row, CollectorLoop where, Logger log);

  /// At each tick: takes the answer that came since, and begins the next question where one is due and none
  /// is open. Never waits: who does not answer is asked no second time, and is told of.
  void tick(const std::shared_ptr<const Inventory>& inventory, MonoTime now);
  /// Works from the first answer on, until a question fails, or is open for longer than it may.
  const Availability& availability() const { return status_; }

 private:
  Task<Result<>> run(std::shared_ptr<const Inventory> inventory);
  void settle(MonoTime now);
  void fails(std::string reason);

  Question& question_;
  std::string_view name_;
  nanoseconds period_, patience_;
  CollectorLoop where_;
  Logger log_;
  MonoTime due_{}, asked_, ended_;
  bool open_ = false;
  std::optional<Result<>> outcome_;  // of the question that was open last, not looked at yet
  bool told_ = false;                // that it fails
  Availability status_;
};

}  // namespace koord::koordlet
