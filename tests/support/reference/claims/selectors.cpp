// Selectors: see selectors.hpp. The language is koord's; what a device looks like in it is said here anew.
#include "support/reference/claims/selectors.hpp"

#include <iterator>
#include <map>

#include "koord/cel/device.hpp"

namespace koord::reference {

namespace {

using cel::Value;

class Names final : public cel::HostMap {
 public:
  std::optional<Value> find(std::string_view key, cel::Memory&) const override {
    const auto it = all.find(key);
    return it == all.end() ? std::nullopt : std::optional(it->second);
  }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(all.size()); }
  std::pair<std::string_view, Value> entry(std::uint32_t index, cel::Memory&) const override {
    const auto it = std::next(all.begin(), index);
    return {it->first, it->second};
  }

  std::map<std::string, Value, std::less<>> all;
};

class Seen final : public cel::Device {
 public:
  Seen(const Symbol& driver, const api::SliceDevice& device, cel::Memory& memory)
      : driver_(driver.str()), device_(device) {
    // What is written with its domain counts before what lies in it anyway.
    for (const bool qualified : {false, true}) {
      for (const auto& [name, attribute] : device.attributes) {
        const Value value = value_of(attribute, memory);
        if (value.is_error() || value.kind() == cel::Kind::null) broken_ = true;
        put(attributes_, name.view(), value, qualified);
      }
      for (const auto& [name, capacity] : device.capacity)
        put(capacities_, name.view(), Value::quantity(capacity.value.to_string(), memory), qualified);
    }
  }
  bool broken() const { return broken_; }

  std::string_view driver() const override { return driver_; }
  bool allows_multiple_allocations() const override {
    return device_.allow_multiple_allocations.value_or(false);
  }
  const cel::HostMap* attributes(std::string_view domain) const override { return of(attributes_, domain); }
  const cel::HostMap* capacities(std::string_view domain) const override { return of(capacities_, domain); }

 private:
  using Domains = std::map<std::string, Names, std::less<>>;

  static Value value_of(const api::DeviceAttribute& attribute, cel::Memory& memory) {
    if (attribute.int_) return Value::integer(*attribute.int_);
    if (attribute.bool_) return Value::boolean(*attribute.bool_);
    if (attribute.string) return Value::string(attribute.string->view());
    return attribute.version ? Value::semver(attribute.version->view(), memory) : Value::null();
  }
  static const cel::HostMap* of(const Domains& domains, std::string_view domain) {
    const auto it = domains.find(domain);
    return it == domains.end() ? nullptr : &it->second;
  }
  void put(Domains& to, std::string_view name, const Value& value, bool qualified) const {
    const std::size_t slash = name.find('/');
    if (qualified != (slash != std::string_view::npos)) return;
    const std::string domain = qualified ? std::string(name.substr(0, slash)) : driver_;
    to[domain].all.insert_or_assign(std::string(qualified ? name.substr(slash + 1) : name), value);
  }

  const std::string driver_;
  const api::SliceDevice& device_;
  Domains attributes_, capacities_;
  bool broken_ = false;
};

}  // namespace

std::optional<bool> selects(const std::string& expression, const Symbol& driver,
                            const api::SliceDevice& device) {
  static std::map<std::string, Result<cel::Program>> known;  // to compile takes longest
  auto program = known.find(expression);
  if (program == known.end())
    program = known.emplace(expression, cel::device_environment().compile(expression)).first;
  if (!program->second) return std::nullopt;
  cel::Memory memory;
  const Seen seen(driver, device, memory);
  if (seen.broken()) return std::nullopt;
  const cel::DeviceView view(seen);
  const Value variables[] = {Value::host(view)};
  cel::Meter meter;
  const Value value = program->second->run(variables, memory, meter);
  if (!value.is_true() && !value.is_false()) return std::nullopt;
  return value.is_true();
}

}  // namespace koord::reference
