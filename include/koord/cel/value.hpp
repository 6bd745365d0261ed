// Values of the Common Expression Language: 16 bytes that hold a scalar or lead into somebody's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/cel/type.hpp"
#include "koord/json/value.hpp"

namespace koord::cel {

struct Shape;
class Value;

/// What one evaluation makes: texts, lists, maps. It ends as a whole, and with it the values that refer to
/// it. One thread at a time.
class Memory {
 public:
  /// What one evaluation may take, in bytes. An expression within its cost takes less unless it means harm (a
  /// text that is replaced by a longer one): the cost counts what is read, not what is written.
  static constexpr std::size_t kMaxBytes = std::size_t{64} * 1024 * 1024;
  /// Elements that comparisons and conversions look at: lists that hold one another again and again cost
  /// nothing to make and everything to compare.
  static constexpr std::size_t kMaxSteps = 20'000'000;

  explicit Memory(std::size_t bytes = kMaxBytes, std::size_t steps = kMaxSteps)
      : bytes_(bytes), steps_(steps) {}

  /// nullptr if that is too much, and exhausted() from then on.
  void* allocate(std::size_t size);
  template <class T>
  T* make(std::size_t count = 1) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > bytes_ / sizeof(T)) {
      exhausted_ = true;
      return nullptr;
    }
    return static_cast<T*>(allocate(count * sizeof(T)));
  }
  /// Counts steps; false if there were too many.
  bool step(std::size_t count = 1) {
    if (count > steps_) exhausted_ = true;
    steps_ -= count > steps_ ? steps_ : count;
    return !exhausted_;
  }
  bool exhausted() const { return exhausted_; }
  /// What has a destructor lives as long as the rest.
  void keep(std::shared_ptr<const void> object) { kept_.push_back(std::move(object)); }
  std::size_t used() const { return arena_.used(); }
  /// For the next evaluation: everything ends, the memory is used again.
  void clear(std::size_t bytes = kMaxBytes, std::size_t steps = kMaxSteps);

 private:
  json::Arena arena_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::size_t bytes_, steps_;
  bool exhausted_ = false;
};

/// A map of texts to values that somebody else keeps (the attributes of a device). Any thread, one at a time.
class HostMap {
 public:
  virtual ~HostMap() = default;
  /// Empty if there is no such key. `memory` holds what has to be made.
  virtual std::optional<Value> find(std::string_view key, Memory& memory) const = 0;
  virtual std::uint32_t size() const = 0;
  /// The entry; `index` is less than size(). The order does not change.
  virtual std::pair<std::string_view, Value> entry(std::uint32_t index, Memory& memory) const = 0;
};

enum class Kind : std::uint8_t {
  error,
  null,
  boolean,
  integer,
  unsigned_integer,
  real,
  string,
  bytes,
  list,
  map,
  type,
  duration,
  timestamp,
  optional,
  quantity,
  url,
  ip,
  cidr,
  semver,
  format,
};

/// Why an evaluation has no value.
struct Fault {
  enum class Code : std::uint8_t { evaluation, cost, memory };
  Code code = Code::evaluation;
  std::string_view message;
};

struct ListBuffer;  // elements side by side; grows in place for the list that reaches its end
struct MapBuffer;   // entries side by side, indexed when there are many
struct JsonNode;    // a json::Value and the shape that it is read by
struct Network;
struct Semver;
struct Url;
struct NamedFormat;

/// Immutable, copied freely. What it refers to (a Memory, a json::Document, a HostMap, a program's constants)
/// must live longer.
class Value {
 public:
  constexpr Value() = default;  // null

  static Value null() { return {}; }
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value unsigned_integer(std::uint64_t value);
  static Value real(double value);
  /// Refers to `text`, which is UTF-8 (of a string) and shorter than 4 GiB.
  static Value string(std::string_view text);
  static Value bytes(std::string_view bytes);
  static Value duration(std::int64_t nanoseconds);
  /// Seconds since 1970 and nanoseconds (0 to 999,999,999); the offset from UTC is what it is printed with.
  static Value timestamp(std::int64_t seconds, std::uint32_t nanos, std::int16_t offset_minutes = 0);
  static Value type(const Type& type);
  /// Read as it is asked for. Without a shape numbers are int or double, texts are strings; with one, times
  /// and bytes are what the schema says, and names are escaped. An error where the value contradicts its
  /// shape.
  static Value json(const json::Value& value, Memory& memory, const Shape* shape = nullptr);
  static Value host(const HostMap& map);
  static Value quantity(std::string_view text, Memory& memory);
  static Value semver(std::string_view text, Memory& memory);
  /// Empty: optional.none().
  static Value optional(std::optional<Value> value, Memory& memory);
  static Value error(const Fault& fault);

  Kind kind() const { return kind_; }
  bool is_error() const { return kind_ == Kind::error; }
  bool is_true() const { return kind_ == Kind::boolean && integer_ != 0; }
  bool is_false() const { return kind_ == Kind::boolean && integer_ == 0; }
  /// Of an error.
  const Fault& fault() const { return *static_cast<const Fault*>(pointer_); }

  bool as_bool() const { return integer_ != 0; }
  std::int64_t as_int() const { return integer_; }
  std::uint64_t as_uint() const { return unsigned_; }
  double as_real() const { return real_; }
  /// Of a string or of bytes.
  std::string_view text() const { return {static_cast<const char*>(pointer_), size_}; }
  std::uint32_t nanos() const { return size_; }
  std::int16_t offset_minutes() const { return extra_; }
  const Type& as_type() const { return *static_cast<const Type*>(pointer_); }

  /// Representation: for this module's own files.
  enum class Form : std::uint8_t { owned, json, host };
  static Value make(Kind kind, Form form, std::uint32_t size, const void* pointer);
  Value with_shape() const;
  bool has_shape() const { return extra_ != 0; }
  Form form() const { return form_; }
  std::uint32_t count() const { return size_; }
  const void* pointer() const { return pointer_; }

 private:
  Kind kind_ = Kind::null;
  Form form_ = Form::owned;
  std::int16_t extra_ = 0;
  std::uint32_t size_ = 0;
  union {
    std::int64_t integer_ = 0;
    std::uint64_t unsigned_;
    double real_;
    const void* pointer_;
  };
};

static_assert(sizeof(Value) == 16);

/// The element, or an error; of a list.
Value element(Value list, std::uint32_t index, Memory& memory);
/// Of a list or a map: elements, entries.
std::uint32_t size_of(Value container);
/// The member of a map, empty if it has none.
std::optional<Value> find(Value map, Value key, Memory& memory);
/// The entry of a map, `index` less than its size; empty if its schema does not name it, so that it is not
/// seen.
std::optional<std::pair<Value, Value>> entry(Value map, std::uint32_t index, Memory& memory);

/// The language's `==`: false for different types, numbers by value.
bool equal(Value a, Value b, Memory& memory);
/// As conditions print it in messages: text as it is, 1, true, [1, 2].
std::string to_string(Value value, Memory& memory);

}  // namespace koord::cel
