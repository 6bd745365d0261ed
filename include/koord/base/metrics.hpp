// metrics: counters, gauges and histograms with labels, each a row of a table, printed in Prometheus' text
// format.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koord::metrics {

enum class Type : std::uint8_t { counter, gauge, histogram };
std::string_view to_string(Type type);

/// A short list inside a row; one that is too long does not compile in a constexpr row.
template <class T, std::size_t Most>
class Few {
 public:
  constexpr Few() = default;
  constexpr Few(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }
  constexpr void push_back(T item) { items_.at(size_++) = item; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr const T& operator[](std::size_t at) const { return items_[at]; }
  friend constexpr bool operator==(const Few&, const Few&) = default;

 private:
  std::array<T, Most> items_{};
  std::size_t size_ = 0;
};
using Labels = Few<std::string_view, 12>;
using Bounds = Few<double, 24>;

/// Upper bounds: start, start*factor, ...
constexpr Bounds exponential_bounds(double start, double factor, int count) {
  Bounds out;
  for (double bound = start; count > 0; --count, bound *= factor) out.push_back(bound);
  return out;
}

inline constexpr std::size_t kMaxSeries = 10'000;

/// One row: what stands in the reference and what is registered by it. Static, texts included.
struct Metric {
  std::string_view name;
  Type type = Type::counter;
  std::string_view help;
  Labels labels = {};
  Bounds bounds = {};  // of a histogram
  std::size_t max_series = kMaxSeries;
};

/// The metrics of one part, which a role's descriptor names: `const metrics::Table kMine = {&kThis, &kThat};`
using Table = std::initializer_list<const Metric*>;

/// The numbers behind a handle. For a histogram `buckets` has one count for each upper bound and one for
/// +Inf, not cumulative.
struct Cell {
  std::atomic<double> value{0};
  Bounds bounds;
  std::unique_ptr<std::atomic<std::uint64_t>[]> buckets;
};

/// Handles are cheap to copy and to use from any thread; keep them where they are used, do not look them up
/// by name or label each time. One whose series was removed counts into nothing. A default-constructed
/// handle may only be assigned to.
class Counter {
 public:
  Counter() = default;
  explicit Counter(std::shared_ptr<Cell> cell) : cell_(std::move(cell)) {}
  void inc() const { add(1); }
  /// `amount` is never negative.
  void add(double amount) const { cell_->value.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return cell_->value.load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<Cell> cell_;
};

class Gauge {
 public:
  Gauge() = default;
  explicit Gauge(std::shared_ptr<Cell> cell) : cell_(std::move(cell)) {}
  void set(double value) const { cell_->value.store(value, std::memory_order_relaxed); }
  void add(double amount) const { cell_->value.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return cell_->value.load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<Cell> cell_;
};

class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(std::shared_ptr<Cell> cell) : cell_(std::move(cell)) {}
  void observe(double value) const;
  /// What was counted elsewhere: for each bound, and for +Inf, how many more there are, not cumulative.
  void add_counts(std::span<const std::uint64_t> counts, double sum) const;
  std::uint64_t count() const;
  double sum() const { return cell_->value.load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<Cell> cell_;
};

class FamilyData;

/// The series of one metric, told apart by the values of its labels.
template <class Handle>
class Family {
 public:
  Family() = default;
  explicit Family(std::shared_ptr<FamilyData> data) : data_(std::move(data)) {}
  /// The series with these values, in the order of the label names; made with zero if it is new. Beyond the
  /// family's bound every new combination is counted in one series whose values are all "other".
  Handle with(std::initializer_list<std::string_view> values) const {
    return with(std::span<const std::string_view>(values.begin(), values.size()));
  }
  Handle with(std::span<const std::string_view> values) const;
  /// For series of an object that has gone; unknown values are ignored.
  void remove(std::initializer_list<std::string_view> values) const;
  /// Removes every series.
  void clear() const;

 private:
  std::shared_ptr<FamilyData> data_;
};

/// A role's metrics. Asking again with the same row, or one of the same name, type, labels and bounds, gives
/// the same metric; another row of that name is misuse (std::logic_error), as is a malformed one or a row of
/// another type than what is asked for. Rows outlive the registry. Any thread.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Of rows without labels.
  Counter counter(const Metric& row);
  Gauge gauge(const Metric& row);
  Histogram histogram(const Metric& row);
  /// Of rows with labels.
  Family<Counter> counters(const Metric& row);
  Family<Gauge> gauges(const Metric& row);
  Family<Histogram> histograms(const Metric& row);

  /// A label that every series carries from now on, unless its metric has a label of that name; for what is
  /// the same for the whole role, such as the node.
  void set_common_label(std::string_view name, std::string_view value);
  /// Called before each exposition, to set gauges whose value is known elsewhere.
  void on_scrape(std::function<void()> fn);
  /// Prometheus text format 0.0.4; sorted by name and by label values.
  std::string exposition() const;
  /// What is registered, by name, whether it has series or not.
  std::vector<const Metric*> rows() const;
  /// Sets every series to zero and forgets those with labels (DELETE /metrics of the scheduler).
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace koord::metrics
