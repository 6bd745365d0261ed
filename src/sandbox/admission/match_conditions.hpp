// matchConditions of webhooks: expressions that say which requests a webhook is asked about.
#pragma once

#include <string>
#include <vector>

#include "koord/cel/environment.hpp"
#include "koord/json/value.hpp"
#include "sandbox/base/field_path.hpp"
#include "sandbox/base/status.hpp"

namespace koord::sandbox {

/// Those of one webhook, compiled. Immutable.
class MatchConditions {
 public:
  MatchConditions() = default;
  /// `list` was accepted by validate_match_conditions(), or is nullptr; what is wrong with it is an error of
  /// judge().
  explicit MatchConditions(const json::Value* list);

  bool empty() const { return conditions_.empty(); }

  struct Judgement {
    enum class End : std::uint8_t { match, mismatch, failed };
    End end = End::match;
    std::string failure;  // kube-apiserver's words, of those that failed
  };
  /// `request` is the request of an AdmissionReview, with object and oldObject. One that is false decides,
  /// whatever the others are.
  Judgement judge(const json::Value& request) const;

 private:
  struct Condition {
    std::string expression;
    Result<cel::Program> program;
  };
  std::vector<Condition> conditions_;
};

/// `weight` is what compiling those of one configuration has taken so far (cel::Program::weight()), and is
/// bounded.
void validate_match_conditions(const json::Value* list, const FieldPath& path, std::size_t& weight,
                               StatusCauses& errors);

}  // namespace koord::sandbox
