#include "koord/cel/device.hpp"

#include <array>

#include "cel/library/function.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

constexpr std::uint32_t kLongestSelector = 10'240;
constexpr std::array<std::string_view, 4> kFields = {"driver", "allowMultipleAllocations", "attributes",
                                                     "capacity"};

}  // namespace

std::optional<Value> DeviceView::Domains::find(std::string_view key, Memory&) const {
  const HostMap* map = (device_.*lookup_)(key);
  return map ? Value::host(*map) : empty_map();
}

std::optional<Value> DeviceView::find(std::string_view key, Memory&) const {
  if (key == kFields[0]) return Value::string(device_.driver());
  if (key == kFields[1]) return Value::boolean(device_.allows_multiple_allocations());
  if (key == kFields[2]) return Value::host(attributes_);
  if (key == kFields[3]) return Value::host(capacities_);
  return std::nullopt;
}

std::uint32_t DeviceView::size() const { return kFields.size(); }

std::pair<std::string_view, Value> DeviceView::entry(std::uint32_t index, Memory& memory) const {
  return {kFields[index], *find(kFields[index], memory)};
}

const Environment& device_environment() {
  static const Environment kEnvironment = [] {
    const TypeRef text = simple_type(TypeKind::string);
    const TypeRef any = std::make_shared<const Type>(
        Type{.kind = TypeKind::dyn, .name = std::string(kAnyName), .parameters = {}, .fields = {}});
    const TypeRef device = structure_type(
        "kubernetes.DRADevice", {{"driver", text},
                                 {"allowMultipleAllocations", simple_type(TypeKind::boolean)},
                                 {"attributes", map_type(text, map_type(text, any))},
                                 {"capacity", map_type(text, map_type(text, type_of("quantity")))}});
    Environment::Options options;
    options.bind = true;
    options.max_length = kLongestSelector;
    return Environment({{"device", device}}, options);
  }();
  return kEnvironment;
}

}  // namespace koord::cel
