// Selection: the label and field selectors of a request, matched against stored objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/api/status.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

class Selection {
 public:
  /// "app=web,tier in (a,b),!old"; empty selects everything.
  static Outcome<Selection> parse(std::string_view labels, std::string_view fields, const Kind& kind);
  /// metav1.LabelSelector; null selects nothing, an empty object everything.
  static Outcome<Selection> from_json(const Json* selector);

  bool empty() const { return labels_.empty() && fields_.empty() && !nothing_; }
  bool matches(const Object& object) const;
  bool matches_labels(const std::vector<std::pair<std::string, std::string>>& sorted_labels) const;

 private:
  enum class Op : std::uint8_t { in, not_in, exists, absent, greater, less };
  struct LabelRule {
    std::string key;
    Op op;
    std::vector<std::string> values;
  };
  struct FieldRule {
    std::string name, value;
    bool equal;
  };
  Outcome<void> parse_labels(std::string_view text);
  Outcome<void> parse_fields(std::string_view text, const Kind& kind);
  std::vector<LabelRule> labels_;
  std::vector<FieldRule> fields_;
  bool nothing_ = false;
};

}  // namespace koord::sandbox
