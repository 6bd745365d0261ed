#include "koord/base/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>

namespace koord::metrics {

namespace {

enum class Kind { counter, gauge, histogram };

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::counter: return "counter";
    case Kind::gauge: return "gauge";
    case Kind::histogram: return "histogram";
  }
  return "untyped";
}

/// The shortest digits that give the number back, laid out as Go's %g does: Prometheus' own format.
void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char buffer[400];
    const double magnitude = std::abs(value);
    const bool fixed = value == 0 || (magnitude >= 1e-4 && magnitude < 1e6);
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                   fixed ? std::chars_format::fixed : std::chars_format::scientific);
    out.append(buffer, end.ptr);
  }
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

bool valid_name(std::string_view name, bool colons) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [colons](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (colons && c == ':');
  });
}

}  // namespace

void Histogram::observe(double value) const {
  const auto& bounds = cell_->bounds;
  const auto at = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
  cell_->buckets[static_cast<std::size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  cell_->value.fetch_add(value, std::memory_order_relaxed);
}

void Histogram::add_counts(std::span<const std::uint64_t> counts, double sum) const {
  if (counts.size() != cell_->bounds.size() + 1) throw std::logic_error("add_counts: not as many as buckets");
  for (std::size_t i = 0; i < counts.size(); ++i)
    cell_->buckets[i].fetch_add(counts[i], std::memory_order_relaxed);
  cell_->value.fetch_add(sum, std::memory_order_relaxed);
}

std::uint64_t Histogram::count() const {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i <= cell_->bounds.size(); ++i)
    n += cell_->buckets[i].load(std::memory_order_relaxed);
  return n;
}

class FamilyData {
 public:
  FamilyData(std::string name, std::string help, Kind kind, Labels labels, std::vector<double> bounds,
             std::size_t max_series)
      : name_(std::move(name)),
        help_(std::move(help)),
        kind_(kind),
        labels_(std::move(labels)),
        bounds_(std::move(bounds)),
        max_series_(max_series) {}

  bool same(Kind kind, const Labels& labels, const std::vector<double>& bounds) const {
    return kind_ == kind && labels_ == labels && bounds_ == bounds;
  }

  Description describe() const { return {name_, name_of(kind_), help_, labels_, bounds_}; }

  std::shared_ptr<Cell> cell(std::span<const std::string_view> values) {
    if (values.size() != labels_.size())
      throw std::logic_error("metric " + name_ + " has " + std::to_string(labels_.size()) + " labels, not " +
                             std::to_string(values.size()));
    const std::lock_guard lock(mutex_);
    std::vector<std::string> key(values.begin(), values.end());
    if (const auto it = cells_.find(key); it != cells_.end()) return it->second;
    if (cells_.size() >= max_series_) {
      key.assign(labels_.size(), "other");
      if (const auto it = cells_.find(key); it != cells_.end()) return it->second;
    }
    auto cell = std::make_shared<Cell>();
    if (kind_ == Kind::histogram) {
      cell->bounds = bounds_;
      cell->buckets = std::make_unique<std::atomic<std::uint64_t>[]>(bounds_.size() + 1);
    }
    cells_.emplace(std::move(key), cell);
    return cell;
  }

  void remove(std::initializer_list<std::string_view> values) {
    const std::lock_guard lock(mutex_);
    cells_.erase(std::vector<std::string>(values.begin(), values.end()));
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    cells_.clear();
  }

  void reset() {
    const std::lock_guard lock(mutex_);
    if (!labels_.empty()) cells_.clear();
    for (auto& [values, cell] : cells_) {
      cell->value = 0;
      for (std::size_t i = 0; cell->buckets && i <= bounds_.size(); ++i) cell->buckets[i] = 0;
    }
  }

  /// `common`: NAME="VALUE",... of labels that the metric does not have itself; may be empty.
  void print(std::string& out, const std::string& common) const {
    const std::lock_guard lock(mutex_);
    if (cells_.empty()) return;
    out += "# HELP " + name_ + " ";
    append_escaped(out, help_, false);
    out += "\n# TYPE " + name_ + " ";
    out += name_of(kind_);
    out += '\n';
    for (const auto& [values, cell] : cells_) {
      if (kind_ == Kind::histogram) {
        print_histogram(out, common, values, *cell);
      } else {
        print_series(out, "", common, values, nullptr);
        append_number(out, cell->value.load(std::memory_order_relaxed));
        out += '\n';
      }
    }
  }

  bool has_label(std::string_view name) const {
    return std::find(labels_.begin(), labels_.end(), name) != labels_.end();
  }

 private:
  void print_series(std::string& out, std::string_view suffix, const std::string& common,
                    const std::vector<std::string>& values, const double* bound) const {
    out += name_;
    out += suffix;
    if (!values.empty() || bound != nullptr || !common.empty()) {
      char mark = '{';
      if (!common.empty()) {
        out += mark;
        mark = ',';
        out += common;
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        out += mark;
        mark = ',';
        out += labels_[i] + "=\"";
        append_escaped(out, values[i], true);
        out += '"';
      }
      if (bound != nullptr) {
        out += mark;
        out += "le=\"";
        append_number(out, *bound);
        out += '"';
      }
      out += '}';
    }
    out += ' ';
  }

  void print_histogram(std::string& out, const std::string& common, const std::vector<std::string>& values,
                       const Cell& cell) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= bounds_.size(); ++i) {
      count += cell.buckets[i].load(std::memory_order_relaxed);
      const double bound = i < bounds_.size() ? bounds_[i] : INFINITY;
      print_series(out, "_bucket", common, values, &bound);
      out += std::to_string(count) + "\n";
    }
    print_series(out, "_sum", common, values, nullptr);
    append_number(out, cell.value.load(std::memory_order_relaxed));
    out += '\n';
    print_series(out, "_count", common, values, nullptr);
    out += std::to_string(count) + "\n";
  }

  const std::string name_;
  const std::string help_;
  const Kind kind_;
  const Labels labels_;
  const std::vector<double> bounds_;
  const std::size_t max_series_;
  mutable std::mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<Cell>> cells_;
};

template <class Handle>
Handle Family<Handle>::with(std::span<const std::string_view> values) const {
  return Handle(data_->cell(values));
}
template <class Handle>
void Family<Handle>::remove(std::initializer_list<std::string_view> values) const {
  data_->remove(values);
}
template <class Handle>
void Family<Handle>::clear() const {
  data_->clear();
}
template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

struct Registry::State {
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<FamilyData>, std::less<>> families;
  std::vector<std::function<void()>> hooks;
  std::string common_name, common_value;

  std::shared_ptr<FamilyData> family(Kind kind, std::string_view name, std::string_view help, Labels labels,
                                     std::vector<double> bounds, std::size_t max_series) {
    bool valid = valid_name(name, true) && std::is_sorted(bounds.begin(), bounds.end());
    for (const std::string& label : labels) valid = valid && valid_name(label, false) && label != "le";
    if (!valid) throw std::logic_error("metric " + std::string(name) + ": malformed name, label or bounds");
    const std::lock_guard lock(mutex);
    if (const auto it = families.find(name); it != families.end()) {
      if (!it->second->same(kind, labels, bounds))
        throw std::logic_error("metric " + std::string(name) + " exists with another kind, labels or bounds");
      return it->second;
    }
    auto made = std::make_shared<FamilyData>(std::string(name), std::string(help), kind, std::move(labels),
                                             std::move(bounds), max_series);
    families.emplace(name, made);
    return made;
  }
};

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;

Counter Registry::counter(std::string_view name, std::string_view help) {
  return Counter(state_->family(Kind::counter, name, help, {}, {}, 1)->cell({}));
}
Gauge Registry::gauge(std::string_view name, std::string_view help) {
  return Gauge(state_->family(Kind::gauge, name, help, {}, {}, 1)->cell({}));
}
Histogram Registry::histogram(std::string_view name, std::string_view help, std::vector<double> bounds) {
  return Histogram(state_->family(Kind::histogram, name, help, {}, std::move(bounds), 1)->cell({}));
}
Family<Counter> Registry::counters(std::string_view name, std::string_view help, Labels labels,
                                   std::size_t max_series) {
  return Family<Counter>(state_->family(Kind::counter, name, help, std::move(labels), {}, max_series));
}
Family<Gauge> Registry::gauges(std::string_view name, std::string_view help, Labels labels,
                               std::size_t max_series) {
  return Family<Gauge>(state_->family(Kind::gauge, name, help, std::move(labels), {}, max_series));
}
Family<Histogram> Registry::histograms(std::string_view name, std::string_view help, Labels labels,
                                       std::vector<double> bounds, std::size_t max_series) {
  return Family<Histogram>(
      state_->family(Kind::histogram, name, help, std::move(labels), std::move(bounds), max_series));
}

void Registry::set_common_label(std::string_view name, std::string_view value) {
  if (!valid_name(name, false)) throw std::logic_error("malformed label " + std::string(name));
  const std::lock_guard lock(state_->mutex);
  state_->common_name = name;
  state_->common_value = value;
}

void Registry::on_scrape(std::function<void()> fn) {
  const std::lock_guard lock(state_->mutex);
  state_->hooks.push_back(std::move(fn));
}

std::string Registry::exposition() const {
  std::vector<std::function<void()>> hooks;
  {
    const std::lock_guard lock(state_->mutex);
    hooks = state_->hooks;
  }
  for (const auto& hook : hooks) hook();  // outside the lock: a hook may make series
  const std::lock_guard lock(state_->mutex);
  std::string out;
  std::string common;
  if (!state_->common_name.empty()) {
    common = state_->common_name + "=\"";
    append_escaped(common, state_->common_value, true);
    common += '"';
  }
  for (const auto& [name, family] : state_->families)
    family->print(out, family->has_label(state_->common_name) ? std::string() : common);
  return out;
}

std::vector<Description> Registry::describe() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Description> out;
  for (const auto& [name, family] : state_->families) out.push_back(family->describe());
  return out;
}

void Registry::reset() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, family] : state_->families) family->reset();
}

std::vector<double> exponential_bounds(double start, double factor, int count) {
  std::vector<double> out;
  for (double bound = start; count > 0; --count, bound *= factor) out.push_back(bound);
  return out;
}

std::vector<double> linear_bounds(double start, double width, int count) {
  std::vector<double> out;
  for (double bound = start; count > 0; --count, bound += width) out.push_back(bound);
  return out;
}

}  // namespace koord::metrics
