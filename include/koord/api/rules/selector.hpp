// Label selectors and field selectors: parsing, matching, printing, with Kubernetes' errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/base/result.hpp"

namespace koord::api {

enum class SelectorOp : std::uint8_t {
  equals,         // a=b
  double_equals,  // a==b
  not_equals,     // a!=b: also true where the label is absent
  in,
  not_in,  // also true where the label is absent
  exists,
  does_not_exist,
  greater_than,
  less_than,
};

/// One condition on a label.
struct SelectorRequirement {
  Symbol key;
  SelectorOp op = SelectorOp::exists;
  std::vector<Symbol> values;  // sorted
  std::int64_t number = 0;     // of greater_than and less_than, read once

  /// Checks key, values and their count; `path` is where the requirement stands, for the message.
  static Result<SelectorRequirement> make(Symbol key, SelectorOp op, std::vector<Symbol> values,
                                          std::string_view path = {});
  bool matches(const SymbolMap& labels) const;
  /// By the value that `key` has, nothing if it is absent.
  bool matches_value(std::optional<std::string_view> label) const;
  std::string to_string() const;
};

/// All requirements must hold. Immutable.
class Selector {
 public:
  Selector() = default;  // everything
  static Selector nothing();
  /// "a=b,c!=d,e in (x,y),!f,g,h>1" as in ?labelSelector=
  static Result<Selector> parse(std::string_view text);
  /// matchLabels and matchExpressions. Absent selects nothing, empty everything.
  static Result<Selector> from(const LabelSelector* selector);
  /// Unchecked, for maps that the API server has validated (spec.nodeSelector).
  static Selector from_labels(const SymbolMap& labels);
  static Selector from_requirements(std::vector<SelectorRequirement> requirements);

  bool matches(const SymbolMap& labels) const;
  bool is_everything() const { return !nothing_ && requirements_.empty(); }
  bool is_nothing() const { return nothing_; }
  /// Sorted by key.
  std::span<const SelectorRequirement> requirements() const { return requirements_; }
  /// Canonical: parses to the same selector. Empty for everything and for nothing.
  std::string to_string() const;

 private:
  std::vector<SelectorRequirement> requirements_;
  bool nothing_ = false;
};

/// "metadata.name=x,spec.nodeName!=y" as in ?fieldSelector=
class FieldSelector {
 public:
  struct Term {
    std::string field;
    std::string value;
    bool equal = true;
  };
  FieldSelector() = default;  // everything
  static Result<FieldSelector> parse(std::string_view text);
  static FieldSelector equals(std::string field, std::string value);
  static FieldSelector of(std::vector<Term> terms);

  /// `lookup(field)` gives the object's value as something convertible to std::string_view; empty if absent.
  template <class Lookup>
  bool matches(const Lookup& lookup) const {
    for (const Term& term : terms_)
      if ((std::string_view(lookup(term.field)) == term.value) != term.equal) return false;
    return true;
  }
  bool is_everything() const { return terms_.empty(); }
  std::span<const Term> terms() const { return terms_; }
  /// The value that `field` must have, if the selector demands one.
  std::optional<std::string_view> required(std::string_view field) const;
  std::string to_string() const;

 private:
  std::vector<Term> terms_;
};

}  // namespace koord::api
