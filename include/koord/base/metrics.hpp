// metrics: counters, gauges and histograms with labels, printed in Prometheus' text format.
#pragma once

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

/// The numbers behind a handle. For a histogram `buckets` has one count for each upper bound and one for
/// +Inf, not cumulative.
struct Cell {
  std::atomic<double> value{0};
  std::vector<double> bounds;
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

using Labels = std::vector<std::string>;

/// A metric as it was registered.
struct Description {
  std::string name;
  std::string_view type;  // "counter", "gauge" or "histogram"
  std::string help;
  Labels labels;
  std::vector<double> bounds;  // of a histogram
};
inline constexpr std::size_t kMaxSeries = 10'000;

/// A role's metrics. Asking again for a name with the same kind, labels and buckets gives the same metric;
/// with others it is misuse (std::logic_error), as is a malformed name. Any thread.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Counter counter(std::string_view name, std::string_view help);
  Gauge gauge(std::string_view name, std::string_view help);
  Histogram histogram(std::string_view name, std::string_view help, std::vector<double> bounds);
  Family<Counter> counters(std::string_view name, std::string_view help, Labels labels,
                           std::size_t max_series = kMaxSeries);
  Family<Gauge> gauges(std::string_view name, std::string_view help, Labels labels,
                       std::size_t max_series = kMaxSeries);
  Family<Histogram> histograms(std::string_view name, std::string_view help, Labels labels,
                               std::vector<double> bounds, std::size_t max_series = kMaxSeries);

  /// A label that every series carries from now on, unless its metric has a label of that name; for what is
  /// the same for the whole role, such as the node.
  void set_common_label(std::string_view name, std::string_view value);
  /// Called before each exposition, to set gauges whose value is known elsewhere.
  void on_scrape(std::function<void()> fn);
  /// Prometheus text format 0.0.4; sorted by name and by label values.
  std::string exposition() const;
  /// Every metric, by name, whether it has series or not.
  std::vector<Description> describe() const;
  /// Sets every series to zero and forgets those with labels (DELETE /metrics of the scheduler).
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Upper bounds: start, start*factor, ... and start, start+width, ...
std::vector<double> exponential_bounds(double start, double factor, int count);
std::vector<double> linear_bounds(double start, double width, int count);

}  // namespace koord::metrics
