// The heap of timers. A timer's id is its slot and the slot's generation, so cancelling needs no look-up
// and an old id never hits a new timer.
#include "koord/async/system_clock.hpp"

#include <boost/asio/steady_timer.hpp>
#include <utility>
#include <vector>

namespace koord {

class SystemClock::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  TimerId add(MonoTime at, std::function<void()> fn) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    Slot& s = slots_[slot];
    s.fn = std::move(fn);
    s.position = heap_.size();
    heap_.push_back({at, sequence_++, slot});
    up(s.position);
    arm();
    return (TimerId{s.generation} << 32) | (slot + 1);
  }

  void cancel(TimerId id) {
    const auto slot = static_cast<std::uint32_t>(id & 0xffffffff) - 1;
    if (slot >= slots_.size() || slots_[slot].generation != id >> 32 || slots_[slot].position == kNowhere)
      return;
    const std::function<void()> fn = take(slot);
    // The armed wait stays while there are others: a wake-up with nothing due costs less than arming again.
    // Alone it would keep the event loop running.
    if (heap_.empty() && armed_) {
      armed_ = false;
      ++wait_;
      timer_.cancel();
    }
  }

  void close() {
    closed_ = true;
    timer_.cancel();
    heap_.clear();
    slots_.clear();
    free_.clear();
  }

  std::size_t size() const { return heap_.size(); }

 private:
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  struct Slot {
    std::function<void()> fn;
    std::size_t position = kNowhere;
    std::uint32_t generation = 1;
  };
  struct Item {
    MonoTime at;
    std::uint64_t sequence;
    std::uint32_t slot;
    bool operator<(const Item& other) const {
      return at != other.at ? at < other.at : sequence < other.sequence;
    }
  };

  void place(std::size_t position, const Item& item) {
    heap_[position] = item;
    slots_[item.slot].position = position;
  }
  void up(std::size_t position) {
    const Item item = heap_[position];
    while (position > 0 && item < heap_[(position - 1) / 2]) {
      place(position, heap_[(position - 1) / 2]);
      position = (position - 1) / 2;
    }
    place(position, item);
  }
  void down(std::size_t position) {
    const Item item = heap_[position];
    for (;;) {
      std::size_t child = 2 * position + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < item)) break;
      place(position, heap_[child]);
      position = child;
    }
    place(position, item);
  }
  std::function<void()> take(std::uint32_t slot) {
    Slot& s = slots_[slot];
    const std::size_t position = std::exchange(s.position, kNowhere);
    ++s.generation;
    std::function<void()> fn = std::move(s.fn);
    s.fn = nullptr;
    const Item last = heap_.back();
    heap_.pop_back();
    if (position < heap_.size()) {
      place(position, last);
      up(position);
      down(slots_[last.slot].position);
    }
    free_.push_back(slot);
    return fn;
  }

  void arm() {
    if (heap_.empty() || firing_ || (armed_ && heap_.front().at >= armed_for_)) return;
    armed_ = true;
    armed_for_ = heap_.front().at;
    const std::uint64_t wait = ++wait_;
    timer_.expires_at(std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(armed_for_.time_since_epoch())));
    timer_.async_wait([self = shared_from_this(), wait](const boost::system::error_code&) {
      if (wait == self->wait_ && !self->closed_) self->fire();
    });
  }

  void fire() {
    armed_ = false;
    firing_ = true;
    const MonoTime now{std::chrono::steady_clock::now().time_since_epoch()};
    // What a timer adds for "now" waits for the next round, so that others get their turn.
    const std::uint64_t end = sequence_;
    const auto self = shared_from_this();
    while (!closed_ && !heap_.empty() && heap_.front().at <= now && heap_.front().sequence < end) {
      const std::function<void()> fn = take(heap_.front().slot);
      fn();
    }
    firing_ = false;
    if (!closed_) arm();
  }

  boost::asio::steady_timer timer_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Item> heap_;
  std::uint64_t sequence_ = 0;
  std::uint64_t wait_ = 0;  // the wait that counts; older ones end without effect
  MonoTime armed_for_{};
  bool armed_ = false;
  bool firing_ = false;
  bool closed_ = false;
};

SystemClock::SystemClock(const boost::asio::any_io_executor& executor)
    : impl_(std::make_shared<Impl>(executor)) {}
SystemClock::~SystemClock() { impl_->close(); }

WallTime SystemClock::now() const { return std::chrono::system_clock::now(); }
MonoTime SystemClock::mono() const { return MonoTime{std::chrono::steady_clock::now().time_since_epoch()}; }
TimerId SystemClock::call_at(MonoTime at, std::function<void()> fn) { return impl_->add(at, std::move(fn)); }
void SystemClock::cancel(TimerId id) { impl_->cancel(id); }
std::size_t SystemClock::pending() const { return impl_->size(); }

}  // namespace koord
