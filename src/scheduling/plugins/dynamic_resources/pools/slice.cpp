// Slice: see slice.hpp.
#include "scheduling/plugins/dynamic_resources/pools/slice.hpp"

#include <fmt/format.h>

#include "scheduling/plugins/dynamic_resources/pools/attribute_names.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

template <class Selector>
Result<bool> matches(const std::optional<Symbol>& node_name, bool all_nodes,
                     const std::optional<Selector>& selector, const Node& node) {
  if (node_name && !node_name->empty()) return *node_name == node.name;
  if (all_nodes) return true;
  if (!selector) return false;
  if (!selector->error.empty())
    return Error(Code::invalid, fmt::format("failed to parse node selector: {}", selector->error));
  return selector->compiled->matches(node.labels, node.name);
}

/// By the first attribute, in the order of these, that says a number of one.
int numa_node_of(const api::SliceDevice& device, std::string_view driver,
                 std::span<const std::string> attributes) {
  constexpr std::int64_t kMost = 63;
  for (const std::string& wanted : attributes)
    for (const auto& [name, value] : device.attributes)
      if (value.int_ && *value.int_ >= 0 && *value.int_ <= kMost &&
          is_same_attribute(name.view(), wanted, driver))
        return static_cast<int>(*value.int_);
  return -1;
}

}  // namespace

Slice::Selector::Selector(const api::NodeSelector& selector) {
  api::ErrorTexts errors;
  compiled.emplace(selector, "", &errors);
  if (!errors.empty()) error = errors.aggregate();
}

Slice::Slice(std::shared_ptr<const api::ResourceSlice> object, DeviceNumbers& numbers,
             std::span<const std::string> numa_attributes)
    : object_(std::move(object)), numbers_(numbers), serial_(numbers.next_serial()) {
  if (spec().node_selector) nodes_.emplace(*spec().node_selector);
  held_.reserve(spec().devices.size());
  if (per_device()) device_nodes_.resize(spec().devices.size());
  for (std::size_t i = 0; i < spec().devices.size(); ++i) {
    held_.push_back(numbers_.hold(id(i)));
    if (!device(i).binding_conditions.empty()) has_binding_conditions_ = true;
    if (per_device() && device(i).node_selector) device_nodes_[i].emplace(*device(i).node_selector);
    const int numa = numa_node_of(device(i), spec().driver.view(), numa_attributes);
    if (numa < 0) continue;
    if (numa_nodes_.empty()) numa_nodes_.resize(spec().devices.size(), -1);
    numa_nodes_[i] = static_cast<std::int8_t>(numa);
  }
}

Slice::~Slice() {
  for (const DeviceNumber number : held_) numbers_.release(number);
}

Result<std::optional<bool>> Slice::is_for(const Node& node) const {
  using Answer = Result<std::optional<bool>>;
  const bool all_nodes = spec().all_nodes.value_or(false);
  const auto failed = [&](const Error& error, const std::string& what) {
    return Answer(
        Error(error).context(fmt::format("failed to perform node selection for {}slice {}", what, name())));
  };
  if ((spec().node_name && !spec().node_name->empty()) || all_nodes || nodes_) {
    const Result<bool> match = matches(spec().node_name, all_nodes, nodes_, node);
    return match ? Answer(std::optional(*match)) : failed(match.error(), "");
  }
  if (!per_device()) return Answer(std::optional<bool>());
  for (std::size_t i = 0; i < spec().devices.size(); ++i) {
    const Result<bool> match = device_is_for(i, node);
    if (!match) return failed(match.error(), fmt::format("device {} in ", device(i).name.view()));
    if (*match) return Answer(std::optional(true));
  }
  return Answer(std::optional(false));
}

Result<bool> Slice::device_is_for(std::size_t index, const Node& node) const {
  const api::SliceDevice& of = device(index);
  return matches(of.node_name, of.all_nodes.value_or(false), device_nodes_[index], node);
}

}  // namespace koord::scheduling::dynamic_resources
