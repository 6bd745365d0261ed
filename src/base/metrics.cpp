#include "koord/base/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>

namespace koord::metrics {

std::string_view to_string(Type type) {
  switch (type) {
    case Type::counter: return "counter";
    case Type::gauge: return "gauge";
    case Type::histogram: return "histogram";
  }
  return "untyped";
}

namespace {

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

bool valid(const Metric& row) {
  return valid_name(row.name, true) && std::is_sorted(row.bounds.begin(), row.bounds.end()) &&
         row.bounds.empty() == (row.type != Type::histogram) &&
         std::all_of(row.labels.begin(), row.labels.end(),
                     [](std::string_view label) { return valid_name(label, false) && label != "le"; });
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
  explicit FamilyData(const Metric& row) : row_(row) {}

  const Metric& row() const { return row_; }

  std::shared_ptr<Cell> cell(std::span<const std::string_view> values) {
    if (values.size() != row_.labels.size())
      throw std::logic_error(
          fmt::format("metric {} has {} labels, not {}", row_.name, row_.labels.size(), values.size()));
    const std::lock_guard lock(mutex_);
    std::vector<std::string> key(values.begin(), values.end());
    if (const auto it = cells_.find(key); it != cells_.end()) return it->second;
    if (cells_.size() >= row_.max_series) {
      key.assign(row_.labels.size(), "other");
      if (const auto it = cells_.find(key); it != cells_.end()) return it->second;
    }
    auto cell = std::make_shared<Cell>();
    if (row_.type == Type::histogram) {
      cell->bounds = row_.bounds;
      cell->buckets = std::make_unique<std::atomic<std::uint64_t>[]>(row_.bounds.size() + 1);
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
    if (!row_.labels.empty()) cells_.clear();
    for (auto& [values, cell] : cells_) {
      cell->value = 0;
      for (std::size_t i = 0; cell->buckets && i <= row_.bounds.size(); ++i) cell->buckets[i] = 0;
    }
  }

  /// `common`: NAME="VALUE",... of labels that the metric does not have itself; may be empty.
  void print(std::string& out, const std::string& common) const {
    const std::lock_guard lock(mutex_);
    if (cells_.empty()) return;
    fmt::format_to(std::back_inserter(out), "# HELP {} ", row_.name);
    append_escaped(out, row_.help, false);
    fmt::format_to(std::back_inserter(out), "\n# TYPE {} {}\n", row_.name, to_string(row_.type));
    for (const auto& [values, cell] : cells_) {
      if (row_.type == Type::histogram) {
        print_histogram(out, common, values, *cell);
      } else {
        print_series(out, "", common, values, nullptr);
        append_number(out, cell->value.load(std::memory_order_relaxed));
        out += '\n';
      }
    }
  }

  bool has_label(std::string_view name) const {
    return std::find(row_.labels.begin(), row_.labels.end(), name) != row_.labels.end();
  }

 private:
  void print_series(std::string& out, std::string_view suffix, const std::string& common,
                    const std::vector<std::string>& values, const double* bound) const {
    out += row_.name;
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
        out += row_.labels[i];
        out += "=\"";
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
    for (std::size_t i = 0; i <= row_.bounds.size(); ++i) {
      count += cell.buckets[i].load(std::memory_order_relaxed);
      const double bound = i < row_.bounds.size() ? row_.bounds[i] : INFINITY;
      print_series(out, "_bucket", common, values, &bound);
      out += std::to_string(count) + "\n";
    }
    print_series(out, "_sum", common, values, nullptr);
    append_number(out, cell.value.load(std::memory_order_relaxed));
    out += '\n';
    print_series(out, "_count", common, values, nullptr);
    out += std::to_string(count) + "\n";
  }

  const Metric& row_;
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
  std::map<std::string_view, std::shared_ptr<FamilyData>> families;  // by their rows' names
  std::vector<std::function<void()>> hooks;
  std::string common_name, common_value;

  std::shared_ptr<FamilyData> family(Type type, const Metric& row) {
    if (!valid(row))
      throw std::logic_error(fmt::format("metric {}: malformed name, label or bounds", row.name));
    if (row.type != type)
      throw std::logic_error(
          fmt::format("metric {} is a {}, not a {}", row.name, to_string(row.type), to_string(type)));
    const std::lock_guard lock(mutex);
    if (const auto it = families.find(row.name); it != families.end()) {
      const Metric& there = it->second->row();
      if (there.type != type || there.labels != row.labels || there.bounds != row.bounds)
        throw std::logic_error(fmt::format("metric {} exists with another type, labels or bounds", row.name));
      return it->second;
    }
    return families.emplace(row.name, std::make_shared<FamilyData>(row)).first->second;
  }
};

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;

Counter Registry::counter(const Metric& row) { return Counter(state_->family(Type::counter, row)->cell({})); }
Gauge Registry::gauge(const Metric& row) { return Gauge(state_->family(Type::gauge, row)->cell({})); }
Histogram Registry::histogram(const Metric& row) {
  return Histogram(state_->family(Type::histogram, row)->cell({}));
}
Family<Counter> Registry::counters(const Metric& row) {
  return Family<Counter>(state_->family(Type::counter, row));
}
Family<Gauge> Registry::gauges(const Metric& row) { return Family<Gauge>(state_->family(Type::gauge, row)); }
Family<Histogram> Registry::histograms(const Metric& row) {
  return Family<Histogram>(state_->family(Type::histogram, row));
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

std::vector<const Metric*> Registry::rows() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<const Metric*> out;
  for (const auto& [name, family] : state_->families) out.push_back(&family->row());
  return out;
}

void Registry::reset() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, family] : state_->families) family->reset();
}

}  // namespace koord::metrics
