// What extenders are asked about an attempt, and what they said.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "koord/base/symbol.hpp"

namespace koord::api {
struct Node;
struct Pod;
}  // namespace koord::api

namespace koord::scheduling {

/// What one attempt wants to know of the extenders. Immutable; from the engine's thread to the event loop's.
struct ExtenderQuestion {
  struct Victims {
    std::vector<std::shared_ptr<const api::Pod>> pods;  // the most important first
    std::int64_t violations = 0;                        // of disruption budgets
  };
  /// That the pod may go to, as far as the plugins know.
  std::vector<std::shared_ptr<const api::Node>> nodes;
  /// Not empty: no node will do, and these pods could go to make room, by node.
  std::map<std::string, Victims> victims;
};

/// What all of them together have said; from the event loop's thread to the engine's.
struct ExtenderAnswer {
  struct Victims {
    std::vector<std::string> pods;  // uids
    std::int64_t violations = 0;
  };
  /// Set: the attempt has failed, for a reason that is not the pod's.
  std::string error;
  /// The same of the question about victims.
  std::string victims_error;
  /// Nodes of the question that all let pass, with what they add to the score.
  std::unordered_map<Symbol, std::int64_t> passed;
  /// The other ones of the question.
  std::unordered_set<Symbol> refused;
  /// Those of them for which victims could help.
  std::unordered_set<Symbol> resolvable;
  /// Why they were refused, and how many for that.
  std::map<std::string, std::uint32_t> reasons;
  /// The candidates that are left of the question's, absent: it had none.
  std::optional<std::map<std::string, Victims>> victims;
};

}  // namespace koord::scheduling
