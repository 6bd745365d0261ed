// The JSON patch from one value to another, written as it is found.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/json/index.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"
#include "node.hpp"

namespace koord::json {
namespace {

/// An object's members, asked for in about the order in which they stand: that of the object which it was
/// copied from.
class Followed {
 public:
  explicit Followed(const Value& object) : object_(object) {}
  const Value* find(std::string_view key) {
    const std::span<const Member> members = object_.members();
    if (next_ < members.size() && same_text(members[next_].key(), key)) return &members[next_++].value;
    if (!index_) index_.emplace(object_);
    return index_->find(key);
  }

 private:
  const Value& object_;
  std::size_t next_ = 0;
  std::optional<Members<const Value>> index_;
};

/// Where a value stands: written out only for what differs.
struct Place {
  const Place* above = nullptr;  // null: the whole document
  std::string_view key = {};
  std::size_t index = 0;  // of an array's element, which has no key
  bool element = false;
};

class Differ {
 public:
  explicit Differ(std::string& out) : out_(out) {}

  void differ(const Value& before, const Value& after, const Place& place) {
    const Type type = before.type();
    if (type == after.type()) {
      if (type == Type::object) return objects(before, after, place);
      if (type == Type::array) return arrays(before.elements(), after.elements(), place);
      if (before == after) return;
    }
    operation("replace", &after, place);
  }

 private:
  void objects(const Value& before, const Value& after, const Place& place) {
    Followed now(after), then(before);
    for (const Member& member : before.members()) {
      const Value* value = now.find(member.key());
      const Place inside{&place, member.key()};
      if (value)
        differ(member.value, *value, inside);
      else
        operation("remove", nullptr, inside);
    }
    for (const Member& member : after.members())
      if (!then.find(member.key())) operation("add", &member.value, {&place, member.key()});
  }

  /// By place. Where elements were added or taken away, what both begin and end with keeps its place.
  void arrays(std::span<const Value> before, std::span<const Value> after, const Place& place) {
    std::size_t first = 0;
    if (before.size() != after.size()) {
      while (!before.empty() && !after.empty() && before.back() == after.back()) {
        before = before.first(before.size() - 1);
        after = after.first(after.size() - 1);
      }
      while (first < before.size() && first < after.size() && before[first] == after[first]) ++first;
    }
    const auto at = [&](std::size_t index) { return Place{&place, {}, index, true}; };
    const std::size_t both = std::min(before.size(), after.size());
    for (std::size_t i = first; i < both; ++i) differ(before[i], after[i], at(i));
    for (std::size_t i = before.size(); i > both; --i) operation("remove", nullptr, at(i - 1));
    for (std::size_t i = both; i < after.size(); ++i) operation("add", &after[i], at(i));
  }

  void write_path(const Place& place) {
    way_.clear();
    for (const Place* at = &place; at->above != nullptr; at = at->above) way_.push_back(at);
    path_.clear();
    for (auto at = way_.rbegin(); at != way_.rend(); ++at) {
      path_.push_back('/');
      if ((*at)->element) {
        char digits[20];
        path_.append(digits, std::to_chars(digits, digits + sizeof digits, (*at)->index).ptr);
        continue;
      }
      for (const char c : (*at)->key) {
        if (c == '~')
          path_.append("~0");
        else if (c == '/')
          path_.append("~1");
        else
          path_.push_back(c);
      }
    }
  }

  void operation(std::string_view op, const Value* value, const Place& place) {
    write_path(place);
    out_.push_back(out_.empty() ? '[' : ',');
    Writer json(out_);
    json.begin_object().member("op", op).member("path", path_);
    if (value) json.member("value", *value);
    json.end_object();
  }

  std::string& out_;
  std::string path_;
  std::vector<const Place*> way_;
};

}  // namespace

std::string json_diff(const Value& before, const Value& after) {
  std::string out;
  Differ(out).differ(before, after, {});
  if (!out.empty()) out.push_back(']');
  return out;
}

}  // namespace koord::json
