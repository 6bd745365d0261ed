// A value's events: what the reader would tell of its text.
#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "koord/json/reader.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::json {
namespace {

class Walk {
 public:
  explicit Walk(Events& events) : events_(events) {}

  Result<> read(const Value& value) {
    if (!tell(value)) return failure();
    while (!open_.empty()) {
      Container& at = open_.back();
      if (at.next == at.size) {
        const bool go_on = at.members ? events_.on_end_object() : events_.on_end_array();
        open_.pop_back();
        if (!go_on) return failure();
        continue;
      }
      const std::size_t i = at.next++;
      if (at.members) {
        if (!events_.on_key(at.members[i].key())) return failure();
        if (events_.take_skip()) continue;
      }
      if (!tell(at.members ? at.members[i].value : at.elements[i])) return failure();
    }
    return {};
  }

 private:
  struct Container {
    const Member* members = nullptr;  // of an object
    const Value* elements = nullptr;  // of an array
    std::size_t size = 0;
    std::size_t next = 0;
  };

  /// A scalar whole, of a container its beginning.
  bool tell(const Value& value) {
    switch (value.type()) {
      case Type::null: return events_.on_null();
      case Type::boolean: return events_.on_bool(value.is_true());
      case Type::string: return events_.on_string(value.text());
      case Type::number: return tell_number(value);
      case Type::array:
      case Type::object: break;
    }
    if (open_.size() == kMaxDepth) {
      too_deep_ = true;
      return false;
    }
    // An empty one has nowhere to point to.
    static const Member kNoMember;
    const bool object = value.is_object();
    if (!(object ? events_.on_begin_object() : events_.on_begin_array())) return false;
    const std::span<const Member> members = value.members();
    const std::span<const Value> elements = value.elements();
    if (object)
      open_.push_back({.members = members.empty() ? &kNoMember : members.data(), .size = members.size()});
    else
      open_.push_back({.elements = elements.data(), .size = elements.size()});
    return true;
  }

  bool tell_number(const Value& value) {
    if (const auto whole = value.to_int()) return events_.on_number(fmt::format_int(*whole).c_str());
    if (const auto large = value.to_uint()) return events_.on_number(fmt::format_int(*large).c_str());
    const double real = *value.to_double();
    if (!std::isfinite(real)) return events_.on_null();
    number_.clear();
    append_number(number_, real);
    return events_.on_number(number_);
  }

  Error failure() {
    return too_deep_ ? Error(Code::parse, fmt::format("nested deeper than {} levels", kMaxDepth))
                     : events_.stop_error();
  }

  Events& events_;
  std::vector<Container> open_;
  std::string number_;
  bool too_deep_ = false;
};

}  // namespace

Result<> read(const Value& value, Events& events) {
  (void)events.take_skip();
  return Walk(events).read(value);
}

}  // namespace koord::json
