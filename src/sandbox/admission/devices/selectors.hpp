// Selectors of devices: the expressions of classes and claims, compiled to see whether they may be stored.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "koord/api/types/resource_v1/device_selection.hpp"
#include "sandbox/base/field_path.hpp"
#include "sandbox/base/status.hpp"

namespace koord::sandbox {

/// Those of one object. Equal ones are compiled once, and all of them together in a quarter of a second at
/// most: more are refused.
class SelectorChecks {
 public:
  explicit SelectorChecks(StatusCauses& errors) : errors_(errors) {}
  void check(const api::List<api::DeviceSelector>& selectors, const FieldPath& path);

 private:
  /// What is wrong with an expression.
  struct Verdict {
    enum class End : std::uint8_t { valid, invalid, broken, too_much };
    End end = End::valid;
    std::string why;
  };
  void check_one(std::string_view expression, const FieldPath& path);
  Verdict judge(std::string_view expression);

  StatusCauses& errors_;
  std::map<std::string, Verdict, std::less<>> known_;
  std::size_t weight_ = 0;
};

}  // namespace koord::sandbox
