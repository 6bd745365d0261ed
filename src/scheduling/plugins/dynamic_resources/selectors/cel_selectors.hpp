// CelSelectors: selectors of devices in Kubernetes' expression language.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "koord/base/result.hpp"
#include "koord/base/symbol.hpp"
#include "koord/cel/environment.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/verdicts.hpp"

namespace koord::scheduling::dynamic_resources {

/// Evaluates expressions for KeptVerdicts, which keeps what comes out. Programs are kept; what is no program
/// is compiled again when it is asked for again. The messages are kube-scheduler's. One thread.
class CelSelectors {
 public:
  std::pair<Verdict, std::string> operator()(const Symbol& expression, const Slice& slice,
                                             std::uint32_t device);

 private:
  std::unordered_map<Symbol, cel::Program> programs_;  // at most KeptVerdicts::kMostExpressions
  cel::Memory memory_;
};

/// The program of a selector, which gives a bool as far as can be told. The error (Code::invalid) is what
/// kube-scheduler says after "CEL compile error: ".
Result<cel::Program> compile_selector(std::string_view expression);

}  // namespace koord::scheduling::dynamic_resources
