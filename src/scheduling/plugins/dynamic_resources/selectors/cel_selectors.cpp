// CelSelectors: see cel_selectors.hpp.
#include "scheduling/plugins/dynamic_resources/selectors/cel_selectors.hpp"

#include <fmt/format.h>

#include <deque>
#include <optional>

#include "koord/cel/device.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

using cel::Memory;
using cel::Value;

std::optional<Value> value_of(const api::DeviceAttribute& attribute, Memory& memory) {
  if (attribute.int_) return Value::integer(*attribute.int_);
  if (attribute.bool_) return Value::boolean(*attribute.bool_);
  if (attribute.string) return Value::string(*attribute.string);
  if (attribute.version) return Value::semver(*attribute.version, memory);
  return std::nullopt;
}

std::optional<Value> value_of(const api::DeviceCapacity& capacity, Memory& memory) {
  return Value::quantity(capacity.value.to_string(), memory);
}

/// The names of one domain: those that are written with it, and those without any if it is the driver's.
template <class V>
class Domain final : public cel::HostMap {
 public:
  Domain(const api::FlatMap<V>& all, std::string_view name, bool own) : all_(all), name_(name), own_(own) {
    for (const auto& entry : all_)
      if (entry.key.view().starts_with(name_) && entry.key.view().substr(name_.size()).starts_with('/'))
        qualified_ = true;
    for (const auto& entry : all_)
      if (!id_of(entry.key).empty()) ++size_;
  }

  std::string_view name() const { return name_; }

  std::optional<Value> find(std::string_view key, Memory& memory) const override {
    const V* value = qualified_ ? all_.find(fmt::format("{}/{}", name_, key)) : nullptr;
    if (value == nullptr && own_ && key.find('/') == std::string_view::npos) value = all_.find(key);
    return value == nullptr ? std::nullopt : value_of(*value, memory);
  }
  std::uint32_t size() const override { return size_; }
  std::pair<std::string_view, Value> entry(std::uint32_t index, Memory& memory) const override {
    for (const auto& [key, value] : all_)
      if (const std::string_view id = id_of(key); !id.empty() && index-- == 0)
        return {id, value_of(value, memory).value_or(Value())};
    return {};
  }

 private:
  /// Empty: the name is of another domain, or one that is written with its domain, too.
  std::string_view id_of(std::string_view key) const {
    const std::size_t slash = key.find('/');
    if (slash != std::string_view::npos) return key.substr(0, slash) == name_ ? key.substr(slash + 1) : "";
    const bool twice = qualified_ && all_.contains(fmt::format("{}/{}", name_, key));
    return own_ && !twice ? key : "";
  }

  const api::FlatMap<V>& all_;
  std::string name_;
  bool own_;
  bool qualified_ = false;  // some name is written with the domain
  std::uint32_t size_ = 0;
};

/// A device of a slice, for one evaluation.
class Seen final : public cel::Device {
 public:
  Seen(const Slice& slice, std::uint32_t device)
      : driver_(slice.spec().driver), device_(slice.device(device)) {}

  std::string_view driver() const override { return driver_; }
  bool allows_multiple_allocations() const override {
    return device_.allow_multiple_allocations.value_or(false);
  }
  const cel::HostMap* attributes(std::string_view domain) const override {
    return of(attributes_, device_.attributes, domain);
  }
  const cel::HostMap* capacities(std::string_view domain) const override {
    return of(capacities_, device_.capacity, domain);
  }

 private:
  /// Made when it is asked for; a deque, as evaluations refer to them.
  template <class V>
  const cel::HostMap* of(std::deque<Domain<V>>& known, const api::FlatMap<V>& all,
                         std::string_view domain) const {
    for (const Domain<V>& each : known)
      if (each.name() == domain) return each.size() == 0 ? nullptr : &each;
    const Domain<V>& made = known.emplace_back(all, domain, domain == driver_);
    return made.size() == 0 ? nullptr : &made;
  }

  std::string_view driver_;
  const api::SliceDevice& device_;
  mutable std::deque<Domain<api::DeviceAttribute>> attributes_;
  mutable std::deque<Domain<api::DeviceCapacity>> capacities_;
};

/// What is wrong with attributes, whichever the expression reads; empty: nothing.
std::string wrong_attribute(const api::SliceDevice& device, Memory& memory) {
  for (const auto& [name, attribute] : device.attributes) {
    const std::optional<Value> value = value_of(attribute, memory);
    if (!value) return fmt::format("attribute {}: unsupported attribute value", name.view());
    if (value->is_error())
      return fmt::format("attribute {}: parse semantic version: {}", name.view(), value->fault().message);
  }
  return {};
}

}  // namespace

Result<cel::Program> compile_selector(std::string_view expression) {
  auto program = cel::device_environment().compile(expression);
  if (!program) {
    const std::string message = program.error().message();
    return Error(Code::invalid, message.starts_with("ERROR: ") ? "compilation failed: " + message : message);
  }
  const cel::TypeKind kind = program->type().kind;
  if (kind != cel::TypeKind::boolean && kind != cel::TypeKind::dyn)
    return Error(Code::invalid, fmt::format("must evaluate to bool or the unknown type, not {}",
                                            cel::to_string(program->type())));
  return program;
}

std::pair<Verdict, std::string> CelSelectors::operator()(const Symbol& expression, const Slice& slice,
                                                         std::uint32_t device) {
  auto program = programs_.find(expression);
  if (program == programs_.end()) {
    auto compiled = compile_selector(expression);
    if (!compiled) return {Verdict::uncompiled, compiled.error().message()};
    if (programs_.size() >= KeptVerdicts::kMostExpressions) programs_.clear();
    program = programs_.emplace(expression, std::move(*compiled)).first;
  }
  memory_.clear();
  if (std::string wrong = wrong_attribute(slice.device(device), memory_); !wrong.empty())
    return {Verdict::failed, std::move(wrong)};
  const Seen seen(slice, device);
  const cel::DeviceView view(seen);
  const Value variables[] = {Value::host(view)};
  cel::Meter meter;
  const Value value = program->second.run(variables, memory_, meter);
  if (value.is_error()) return {Verdict::failed, std::string(value.fault().message)};
  if (value.is_true()) return {Verdict::yes, {}};
  if (value.is_false()) return {Verdict::no, {}};
  return {Verdict::failed,
          fmt::format("CEL result {} could not be converted to bool", cel::to_string(value, memory_))};
}

}  // namespace koord::scheduling::dynamic_resources
