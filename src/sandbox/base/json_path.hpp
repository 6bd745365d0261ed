// The simple JSON paths of printer columns: .spec.replicas, .status.conditions[0].type,
// .metadata.labels['a\.b'], .status.conditions[?(@.type=="Ready")].status
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/json/value.hpp"

namespace koord::sandbox {

/// Read once; what is malformed finds nothing.
class JsonPath {
 public:
  explicit JsonPath(std::string_view text);

  /// The first match, or nullptr.
  const json::Value* find_in(const json::Value& object) const;

 private:
  struct Step {
    enum class Form : std::uint8_t { member, index, first, filter };
    Form form;
    std::string name;    // of a member, also of the filtered items
    std::string wanted;  // its value
    std::int64_t index;  // from the end if it is negative
  };
  bool read_bracket(std::string_view inner);
  static const json::Value* follow(const Step& step, const json::Value& value);

  std::vector<Step> steps_;
  bool malformed_ = false;
};

}  // namespace koord::sandbox
