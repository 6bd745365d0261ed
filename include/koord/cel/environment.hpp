// Environment: what an expression may mention. Compiling checks it against that.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/cel/value.hpp"

namespace koord::cel {

struct Compiled;

/// Kubernetes' limits of what evaluations cost, in its own unit: about a nanosecond and a half.
inline constexpr std::uint64_t kCostOfExpression = 1'000'000;
inline constexpr std::uint64_t kCostOfMatchConditions = 2'500'000;
inline constexpr std::uint64_t kCostOfObject = 10'000'000;

/// What an evaluation may cost and what it did.
struct Meter {
  std::uint64_t limit = kCostOfExpression;
  std::uint64_t used = 0;
};

/// A checked expression. Immutable: any number of threads may run it at once. Cheap to copy.
class Program {
 public:
  /// `variables` are the environment's, in its order. The value is an error where the language has one, where
  /// the cost exceeds `meter.limit` (Fault::Code::cost) or the memory its bound (Fault::Code::memory).
  Value run(std::span<const Value> variables, Memory& memory, Meter& meter) const;

  const Type& type() const;
  const std::string& text() const;
  /// What compiling it took, in steps of about a microsecond: for who compiles many.
  std::size_t weight() const;
  /// Whether it mentions the variable of this name.
  bool mentions(std::string_view variable) const;

  explicit Program(std::shared_ptr<const Compiled> code) : code_(std::move(code)) {}

 private:
  std::shared_ptr<const Compiled> code_;
};

struct Variable {
  std::string name;
  TypeRef type;
};

/// Kubernetes 1.35's base environment and the variables declared. Immutable.
class Environment {
 public:
  struct Options {
    bool bind = false;  // cel.bind, which device selectors have
    /// Code points of an expression.
    std::uint32_t max_length = 100'000;
    /// Why authorizer is refused; it is none of the variables.
    std::string_view authorizer = "";
  };

  explicit Environment(std::vector<Variable> variables) : Environment(std::move(variables), Options{}) {}
  Environment(std::vector<Variable> variables, Options options);

  /// An error (Code::invalid) has cel-go's words: a line "ERROR: <input>:LINE:COLUMN: ..." with the source's
  /// line and a caret below it for each mistake; or "program instantiation failed: ..." where constants make
  /// one.
  Result<Program> compile(std::string_view text) const;

  std::span<const Variable> variables() const { return variables_; }
  const Options& options() const { return options_; }

 private:
  std::vector<Variable> variables_;
  Options options_;
};

}  // namespace koord::cel
