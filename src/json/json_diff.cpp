// The JSON patch from one value to another, written as it is found.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "koord/json/index.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"

namespace koord::json {
namespace {

/// An object's members, asked for in about the order in which they stand: that of the object which it was
/// copied from.
class Followed {
 public:
  explicit Followed(const Value& object) : object_(object) {}
  const Value* find(std::string_view key) {
    const std::span<const Member> members = object_.members();
    if (next_ < members.size() && members[next_].key() == key) return &members[next_++].value;
    if (!index_) index_.emplace(object_);
    return index_->find(key);
  }

 private:
  const Value& object_;
  std::size_t next_ = 0;
  std::optional<Members<const Value>> index_;
};

class Differ {
 public:
  explicit Differ(std::string& out) : out_(out) {}

  void differ(const Value& before, const Value& after) {
    if (before.is_object() && after.is_object()) return objects(before, after);
    if (before.is_array() && after.is_array()) return arrays(before.elements(), after.elements());
    if (before.type() != after.type() || !(before == after)) operation("replace", &after);
  }

 private:
  void objects(const Value& before, const Value& after) {
    Followed now(after), then(before);
    for (const Member& member : before.members()) {
      const Value* value = now.find(member.key());
      const std::size_t size = enter(member.key());
      if (value)
        differ(member.value, *value);
      else
        operation("remove", nullptr);
      path_.resize(size);
    }
    for (const Member& member : after.members()) {
      if (then.find(member.key())) continue;
      const std::size_t size = enter(member.key());
      operation("add", &member.value);
      path_.resize(size);
    }
  }

  /// By place. Where elements were added or taken away, what both begin and end with keeps its place.
  void arrays(std::span<const Value> before, std::span<const Value> after) {
    std::size_t first = 0;
    if (before.size() != after.size()) {
      while (!before.empty() && !after.empty() && before.back() == after.back()) {
        before = before.first(before.size() - 1);
        after = after.first(after.size() - 1);
      }
      while (first < before.size() && first < after.size() && before[first] == after[first]) ++first;
    }
    const std::size_t both = std::min(before.size(), after.size());
    for (std::size_t i = first; i < both; ++i) at(i, [&] { differ(before[i], after[i]); });
    for (std::size_t i = before.size(); i > both; --i) at(i - 1, [&] { operation("remove", nullptr); });
    for (std::size_t i = both; i < after.size(); ++i) at(i, [&] { operation("add", &after[i]); });
  }

  std::size_t enter(std::string_view key) {
    const std::size_t size = path_.size();
    path_.push_back('/');
    if (key.find_first_of("~/") == std::string_view::npos) {
      path_.append(key);
      return size;
    }
    for (const char c : key) {
      if (c == '~')
        path_.append("~0");
      else if (c == '/')
        path_.append("~1");
      else
        path_.push_back(c);
    }
    return size;
  }
  template <class Step>
  void at(std::size_t index, Step step) {
    char digits[20];
    const auto [end, _] = std::to_chars(digits, digits + sizeof digits, index);
    const std::size_t size = enter({digits, static_cast<std::size_t>(end - digits)});
    step();
    path_.resize(size);
  }

  void operation(std::string_view op, const Value* value) {
    out_.push_back(out_.empty() ? '[' : ',');
    Writer json(out_);
    json.begin_object().member("op", op).member("path", path_);
    if (value) json.member("value", *value);
    json.end_object();
  }

  std::string& out_;
  std::string path_;
};

}  // namespace

std::string json_diff(const Value& before, const Value& after) {
  std::string out;
  Differ(out).differ(before, after);
  if (!out.empty()) out.push_back(']');
  return out;
}

}  // namespace koord::json
