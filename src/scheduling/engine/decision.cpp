// Decision: see decision.hpp.
#include "koord/scheduling/engine/decision.hpp"

namespace koord::scheduling {

namespace {

/// What `read` takes of the outcome, where it can; else the empty one.
template <class T, class Read>
const T& read_or_empty(const Decision::Outcome& outcome, const Read& read) {
  static const T kNone{};
  return std::visit(
      [&](const auto& o) -> const T& {
        if constexpr (requires { read(o); }) {
          return read(o);
        } else {
          return kNone;
        }
      },
      outcome);
}

}  // namespace

static_assert(std::variant_size_v<Decision::Outcome> == static_cast<std::size_t>(Decision::Kind::ask) + 1);

const Symbol& Decision::node() const {
  return read_or_empty<Symbol>(
      outcome, [](const auto& o) -> const Symbol& requires requires { o.node; } { return o.node; });
}

const std::string& Decision::message() const {
  return read_or_empty<std::string>(
      outcome,
      [](const auto& o) -> const std::string& requires requires { o.message; } { return o.message; });
}

const std::optional<Symbol>& Decision::nominate() const {
  return read_or_empty<std::optional<Symbol>>(
      outcome, [](const auto& o) -> const std::optional<Symbol>& requires requires { o.nominate; } {
        return o.nominate;
      });
}

const Preemption& Decision::preemption() const {
  static const Preemption kNone;
  const Unschedulable* refused = as<Unschedulable>();
  return refused != nullptr ? refused->preemption : kNone;
}

}  // namespace koord::scheduling
