// Selection: the label and field selectors of a request, by api's, matched against stored objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "sandbox/api/status.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

class Selection {
 public:
  /// "app=web,tier in (a,b),!old"; empty selects everything.
  static Outcome<Selection> parse(std::string_view labels, std::string_view fields, const Kind& kind);
  /// metav1.LabelSelector; null selects nothing, an empty object everything.
  static Outcome<Selection> from_json(const Json* selector);

  bool empty() const { return labels_.is_everything() && fields_.is_everything(); }
  bool matches(const Object& object) const;
  bool matches_labels(const std::vector<std::pair<std::string, std::string>>& sorted_labels) const;

 private:
  Outcome<void> parse_fields(std::string_view text, const Kind& kind);
  api::Selector labels_;
  api::FieldSelector fields_;
};

}  // namespace koord::sandbox
