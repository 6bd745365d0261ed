#include "sandbox/admission/devices/selectors.hpp"

#include <fmt/format.h>

#include "koord/cel/device.hpp"
#include "sandbox/admission/devices/checks.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kLongest = std::size_t{10} * 1024;  // bytes of an expression
constexpr std::size_t kMaxWeight = 250'000;               // see cel::Program::weight()
constexpr std::size_t kBytesPerStep = 4;  // of an expression that does not compile, which has no weight

// A mistake is told with the line that it is in, which may be all of a long expression: its beginning.
std::string shortened(std::string why) {
  constexpr std::size_t kMost = 2 * StatusCauses::kMostShown;
  if (why.size() <= kMost) return why;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(why[end]) & 0xc0U) == 0x80U) --end;
  why.resize(end);
  return why.append("...");
}

// As Go prints it, where cel::to_string() prints it as mistakes of expressions do.
std::string shown(const cel::Type& type) {
  if (type.kind == cel::TypeKind::dyn && !type.name.empty()) return type.name;
  if (type.parameters.empty()) return cel::to_string(type);
  std::string out(cel::name_of(type));
  std::string_view separator = "(";
  for (const cel::TypeRef& parameter : type.parameters) {
    fmt::format_to(std::back_inserter(out), "{}{}", separator, shown(*parameter));
    separator = ", ";
  }
  out.push_back(')');
  return out;
}

}  // namespace

void SelectorChecks::check(const api::List<api::DeviceSelector>& selectors, const FieldPath& path) {
  check_list(selectors, kMostSelectors, path, errors_,
             [&](const api::DeviceSelector& selector, const FieldPath& at) {
               const FieldPath cel = at.field("cel");
               if (!selector.cel) return errors_.required(cel.text());
               check_one(selector.cel->expression, cel.field("expression"));
             });
}

void SelectorChecks::check_one(std::string_view expression, const FieldPath& path) {
  if (expression.size() > kLongest) return errors_.too_long(path.text(), kLongest);
  auto known = known_.find(expression);
  if (known == known_.end()) known = known_.emplace(expression, judge(expression)).first;
  const Verdict& verdict = known->second;
  switch (verdict.end) {
    case Verdict::End::valid: return;
    case Verdict::End::invalid: return errors_.invalid(path.text(), expression, verdict.why);
    case Verdict::End::broken: return errors_.internal(path.text(), verdict.why);
    case Verdict::End::too_much: return errors_.forbidden(path.text(), verdict.why);
  }
}

SelectorChecks::Verdict SelectorChecks::judge(std::string_view expression) {
  if (weight_ > kMaxWeight)
    return {Verdict::End::too_much, "the selectors of this object are too many or too large"};
  const auto program = cel::device_environment().compile(expression);
  if (!program) {
    weight_ += expression.size() / kBytesPerStep;
    const std::string why = shortened(program.error().message());
    if (!why.starts_with("ERROR:")) return {Verdict::End::broken, why};
    return {Verdict::End::invalid, fmt::format("compilation failed: {}", why)};
  }
  weight_ += program->weight();
  const cel::Type& type = program->type();
  const bool attribute = type.kind == cel::TypeKind::dyn && type.name == cel::kAnyName;
  if (type.kind == cel::TypeKind::boolean || attribute) return {};
  return {Verdict::End::invalid,
          fmt::format("must evaluate to bool or the unknown type, not {}", shown(type))};
}

}  // namespace koord::sandbox
