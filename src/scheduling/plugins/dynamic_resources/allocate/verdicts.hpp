// SelectorVerdicts: which devices a selector's expression is true of.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/base/symbol.hpp"
#include "scheduling/plugins/dynamic_resources/pools/slice.hpp"

namespace koord::scheduling::dynamic_resources {

enum class Verdict : std::uint8_t {
  no,
  yes,
  uncompiled,  // the expression is none
  failed,      // it has no value for this device
};

/// Asked in the order of the search, and not for devices that it does not reach: an error counts only then.
class SelectorVerdicts {
 public:
  virtual ~SelectorVerdicts() = default;
  virtual Verdict ask(const Symbol& expression, const Slice& slice, std::uint32_t device) = 0;
  /// Of a verdict that is an error: what went wrong.
  virtual std::string why(const Symbol& expression, const Slice& slice, std::uint32_t device) = 0;
};

/// Evaluates each expression once for each device and version of its slice, and keeps the answer. One thread.
class KeptVerdicts final : public SelectorVerdicts {
 public:
  /// Expressions that are kept. One more and all are forgotten: more than that in use is no cluster's way.
  static constexpr std::size_t kMostExpressions = 1024;

  /// The verdict, with what went wrong if it is an error.
  using Evaluate = std::function<std::pair<Verdict, std::string>(const Symbol& expression, const Slice& slice,
                                                                 std::uint32_t device)>;
  explicit KeptVerdicts(Evaluate evaluate) : evaluate_(std::move(evaluate)) {}

  Verdict ask(const Symbol& expression, const Slice& slice, std::uint32_t device) override;
  std::string why(const Symbol& expression, const Slice& slice, std::uint32_t device) override;
  /// The slice is gone, or there is another version of it.
  void forget(const Slice& slice);

 private:
  struct OfSlice {
    std::vector<std::uint8_t> known;  // by device: a verdict + 1, or 0
    std::map<std::uint32_t, std::string> errors;
  };
  OfSlice& row(const Symbol& expression, const Slice& slice);
  /// The rows asked for last, as a search asks about one device after the other.
  struct Last {
    Symbol expression;
    std::uint64_t serial = 0;  // 0: none
    OfSlice* row = nullptr;
  };
  static constexpr std::size_t kLast = 4;

  Evaluate evaluate_;
  std::unordered_map<Symbol, std::unordered_map<std::uint64_t, OfSlice>> kept_;  // by serial
  std::array<Last, kLast> last_;
};

}  // namespace koord::scheduling::dynamic_resources
