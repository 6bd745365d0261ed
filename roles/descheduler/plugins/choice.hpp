// Which pods a plugin looks at: the arguments that most plugins share, and what they mean.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/rules/field_errors.hpp"
#include "koord/api/rules/selector.hpp"

namespace koord::descheduler {

/// Only those of `include`, or all but those of `exclude`; one of the two.
struct NamespaceChoice {
  std::vector<std::string> include, exclude;
  KOORD_STRUCT(NamespaceChoice);
};

/// Pods of that priority and of higher ones stay; where both are given, the value counts.
struct PriorityThreshold {
  std::optional<std::int32_t> value;
  std::string name;  // of a PriorityClass, whose value it is
  KOORD_STRUCT(PriorityThreshold);
};

/// For ROW(pods).inlined().
struct PodChoiceArgs {
  api::Box<NamespaceChoice> namespaces;
  api::Box<api::LabelSelector> label_selector;  // absent: every pod

  void validate(const std::string& path, api::FieldErrors& errors) const;
  /// The second half of validate().
  void check_selector(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(PodChoiceArgs);
};

/// "PATH: WORDS", or the words alone where there is no path.
std::string found_at(std::string_view path, std::string_view words);
/// In sigs' words.
void check_namespaces(const api::Box<NamespaceChoice>& namespaces, const std::string& path,
                      api::FieldErrors& errors);

/// PodChoiceArgs read once. A selector that cannot be read, which validate() refuses, chooses nothing.
class PodChoice {
 public:
  explicit PodChoice(const PodChoiceArgs& args);
  bool has(const api::Pod& pod) const;

 private:
  NamespaceChoice namespaces_;
  api::Selector selector_;
};

/// Whether it has succeeded or failed: it holds nothing any more.
bool has_ended(const api::Pod& pod);
/// Whether one of its owners is of one of the kinds.
bool has_owner_of(const api::Pod& pod, std::span<const std::string> kinds);
/// How long it has been there; negative where its clock is ahead of ours.
std::chrono::seconds age_of(const api::Pod& pod, WallTime now);

/// Of a node those that `wanted` wants and that may go, by namespace and name. The filters are asked last:
/// they may cost more.
std::vector<PodPtr> candidates(Pass& pass, const NodeView& node,
                               const std::function<bool(const api::Pod&)>& wanted);

/// Sorts as sigs does where the least important goes first: without a priority, then by it, then by quality
/// of service (BestEffort first), pods that would rather stay (prefer-no-eviction) last. Stable.
void sort_least_first(std::vector<PodPtr>& pods);
/// descheduler.alpha.kubernetes.io/prefer-no-eviction
bool would_rather_stay(const api::Pod& pod);

}  // namespace koord::descheduler
