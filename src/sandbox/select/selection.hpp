// Selection: the label and field selectors of a request, by api's, matched against stored objects.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "sandbox/base/status.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// Compiled for many objects: a match takes the time of the object's labels, however many terms there are (n
/// log n in both).
class Selection {
 public:
  /// "app=web,tier in (a,b),!old"; empty selects everything.
  static Outcome<Selection> parse(std::string_view labels, std::string_view fields, const Kind& kind);
  /// metav1.LabelSelector; null selects nothing, an empty object everything.
  static Outcome<Selection> from_json(const json::Value* selector);

  bool empty() const { return labels_.is_everything() && fields_.empty(); }
  bool matches(const Object& object) const;
  bool matches_labels(const std::vector<std::pair<std::string, std::string>>& sorted_labels) const;

 private:
  /// All that is asked of one label. Texts lie in labels_.
  struct LabelRule {
    std::string_view key;
    bool present = false, absent = false;
    std::optional<std::vector<std::string_view>> allowed;  // sorted, as is the next
    std::vector<std::string_view> denied;
    std::optional<std::int64_t> above, below;

    void add(const api::SelectorRequirement& requirement);
    bool fits(std::string_view value) const;
  };
  /// All that is asked of one field.
  struct FieldRule {
    std::optional<std::string> equal;
    std::set<std::string, std::less<>> unequal;
    bool never = false;
  };

  Outcome<void> parse_fields(std::string_view text, const Kind& kind);
  void set_labels(api::Selector labels);

  api::Selector labels_;
  std::vector<LabelRule> rules_;  // by key
  std::size_t present_ = 0;       // rules that want the label
  std::map<std::string, FieldRule, std::less<>> fields_;
};

}  // namespace koord::sandbox
