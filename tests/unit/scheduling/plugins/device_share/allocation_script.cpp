// AllocationScript: see allocation_script.hpp.
#include "allocation_script.hpp"

#include <charconv>
#include <stdexcept>

namespace koord::scheduling::test {

using namespace device_share;

namespace {

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(by), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <class Number>
Number number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::runtime_error("no number: " + std::string(text));
  return value;
}

std::pair<std::string, std::string> pair_of(const std::string& text) {
  const std::size_t at = text.find('=');
  return {text.substr(0, at), at == std::string::npos ? std::string() : text.substr(at + 1)};
}

api::ResourceList resources(std::string_view text) {
  api::ResourceList list;
  if (text == "-") return list;
  for (const std::string& each : split(text, ',')) {
    const auto [name, amount] = pair_of(each);
    list[name] = api::Quantity::from_int(number<std::int64_t>(amount));
  }
  return list;
}

DeviceType type_of(std::string_view name) { return parse_device_type(name).value(); }

std::string text(const Given& given) {
  std::string out;
  for (const DeviceType type : kAllDeviceTypes) {
    std::string of;
    for (const Given::Device& device : given.devices) {
      if (device.type != type) continue;
      of += (of.empty() ? "" : ",") + std::to_string(device.minor);
      for (const auto& function : device.vfs) of += "/" + function.bus_id;
      if (!device.share_template.empty()) of += "(" + device.share_template + ")";
    }
    if (!of.empty()) out += (out.empty() ? "" : " ") + std::string(to_string(type)) + ":" + of;
  }
  return out;
}

std::string text(const Refusal& refusal) {
  return std::string(refusal.code() == StatusCode::unresolvable ? "unresolvable " : "unschedulable ") +
         std::string(refusal.text());
}

}  // namespace

bool AllocationScript::read(std::string_view line) {
  const Words words = split(line, ' ');
  const std::string& verb = words.front();
  if (verb == "place" || verb == "try") return false;
  if (verb == "scorer") {
    KoordinatorScoring scoring{.type = words[2], .resources = {}};
    for (const auto& [name, weight] : resources(words[3]))
      scoring.resources.push_back({name.str(), weight.value()});
    scorers_.insert_or_assign(words[1], DeviceScorer(scoring));
  } else if (verb == "machine") {
    begin(words);
  } else if (verb == "reset") {
    reported_ = false;
  } else if (verb == "held") {
    report();
    ledger_->add({&pods_.emplace_back(), std::make_shared<const Given>(Given{{part(words)}})});
  } else if (verb == "back" || verb == "within" || verb == "prefer") {
    (verb == "back" ? back_ : verb == "within" ? within_ : prefer_).push_back(part(words));
  } else if (verb == "named") {
    named_.devices.push_back(part(words));
  } else if (verb == "remove") {
    ledger_->remove(*placed_[number<std::size_t>(words[1])]);
  } else {
    add_device(words);
  }
  return true;
}

void AllocationScript::begin(const Words& words) {
  device_ = {};
  node_ = {};
  reported_ = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [name, value] = pair_of(words[i]);
    if (name == "model") node_.metadata.labels[api::kGpuModelLabel] = Symbol(value);
    if (name == "vendor") node_.metadata.labels[api::kGpuVendorLabel] = Symbol(value);
    if (name == "node-honor") node_.metadata.labels[api::kGpuPartitionPolicyLabel] = Symbol("Honor");
    if (name == "device-honor") device_.metadata.labels[api::kGpuPartitionPolicyLabel] = Symbol("Honor");
    if (name == "planned") device_.metadata.labels[api::kSecondaryDeviceWellPlannedLabel] = Symbol("true");
    if (name == "table") device_.metadata.annotations[api::GpuPartitions::kAnnotation] = Symbol(value);
  }
}

void AllocationScript::add_device(const Words& words) {
  api::DeviceInfo& info = device_.spec.devices.emplace_back();
  info.type = words[0];
  info.minor = number<std::int32_t>(words[1]);
  if (words[3] != "-") {
    api::DeviceTopology topology;
    topology.node_id = number<std::int32_t>(words[2]);
    topology.pcie_id = words[3] == "none" ? "" : words[3];
    info.topology = topology;
  }
  info.health = words[4] == "ok";
  if (words[5] != "-") info.labels["type"] = Symbol(words[5]);
  if (words[6] != "-")
    for (const std::string& text : split(words[6], '|')) {
      api::VirtualFunctionGroup& group = info.vf_groups.emplace_back();
      const std::size_t colon = text.find(':');
      for (const std::string& label : split(text.substr(0, colon), ',')) {
        const auto [key, value] = pair_of(label);
        group.labels[key] = Symbol(value);
      }
      for (const std::string& function : split(text.substr(colon + 1), ',')) {
        const std::size_t at = function.find('@');
        group.vfs.push_back({number<std::int32_t>(function.substr(0, at)), function.substr(at + 1)});
      }
    }
  const char* const whole = words[0] == "gpu"    ? "koordinator.sh/gpu-core=100,koordinator.sh/"
                                                   "gpu-memory=85899345920,koordinator.sh/gpu-memory-ratio=100"
                            : words[0] == "rdma" ? "koordinator.sh/rdma=100"
                                                 : "koordinator.sh/fpga=100";
  info.resources = resources(words.size() > 7 ? words[7] : whole);
}

/// The machine is whole when somebody asks for something of it.
void AllocationScript::report() {
  if (reported_) return;
  reported_ = true;
  auto shape = shapes_.read(&device_, &node_);
  ledger_ = std::make_unique<DeviceLedger>();
  ledger_->bind(shape, healthy_places(*shape, &device_));
  placed_.clear();
}

Given::Device AllocationScript::part(const Words& words) const {
  Given::Device part;
  part.type = type_of(words[1]);
  part.minor = number<std::int32_t>(words[2]);
  part.amounts = read_amounts(part.type, resources(words[3]));
  if (words.size() > 4)
    for (const std::string& bus : split(words[4], ',')) part.vfs.push_back({0, bus});
  return part;
}

void AllocationScript::look_otherwise(std::string_view mode, std::size_t pod) {
  back_ = ledger_->of(*placed_[pod])->devices;
  if (mode != "back") prefer_ = back_;
  if (mode == "in") within_ = back_;
  only_ = mode == "in";
}

AllocationScript::Answer AllocationScript::ask(std::string_view line) {
  report();
  const Words words = split(line, ' ');
  DeviceRequests requests;
  api::SymbolMap annotations;
  api::GpuShareTemplates templates;
  const std::vector<std::string> by_template{std::string(api::kNpuCore)};
  const DeviceScorer* scorer = nullptr;
  std::pair<std::string, std::string> known;  // model, names
  Seen seen;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [name, value] = pair_of(words[i]);
    if (name.find('/') != std::string::npos) {
      requests.emplace_back(std::string_view(words[i]).substr(0, name.size()), number<std::int64_t>(value));
    } else if (name == "scorer") {
      scorer = value == "-" ? nullptr : &scorers_.at(value);
    } else if (name == "numa") {
      seen.numa_nodes = number<NumaMask>(value);
    } else if (name == "reserving") {
      seen.reserving = true;
    } else if (name == "only") {
      only_ = true;
    } else if (name == "templates") {
      known = {value.substr(0, value.find(':')), value.substr(value.find(':') + 1)};
    } else if (name == "back" || name == "near" || name == "in") {
      look_otherwise(name, number<std::size_t>(value));
    } else {
      annotations[name == "hint"    ? api::DeviceHints::kAnnotation
                  : name == "joint" ? api::DeviceJointAllocate::kAnnotation
                                    : api::GpuPartitionSpec::kAnnotation] = Symbol(value);
    }
  }
  for (const std::string& name : split(known.second, '+'))
    for (const auto& [resource, amount] : requests)
      if (resource != api::kGpuShared)
        templates.by_model[known.first][name][resource] = api::Quantity::from_int(amount);
  DemandRules rules;
  if (!known.first.empty()) rules = {.templates = &templates, .template_resources = by_template};

  const DeviceDemand demand = read_demand(requests, {}, annotations, rules);
  if (demand.is_rejected()) throw std::runtime_error(demand.rejected);
  const NodeDevices& devices = ledger_->devices();
  const BoundDemand bound(demand, devices.shape);
  seen.given_back = back_;
  seen.within = within_;
  seen.preferred = prefer_;
  seen.only_preferred = only_;
  seen.designated = named_.empty() ? nullptr : &named_;
  Choice choice;
  const Refusal refusal = allocate(devices, bound, seen, scorer, choice);
  if (fits(devices, bound, seen, scorer) != refusal) throw std::runtime_error("fits() says otherwise");
  Answer answer;
  answer.score = scorer == nullptr ? "-" : std::to_string(score_node(devices, bound, seen, *scorer));
  const Given given = refusal.refused() ? Given() : make_given(devices, bound, choice);
  answer.given = refusal.refused() ? text(refusal) : text(given);
  if (!refusal.refused() && words.front() == "place") {
    placed_.push_back(&pods_.emplace_back());
    ledger_->add({placed_.back(), std::make_shared<const Given>(given)});
  }
  back_.clear();
  within_.clear();
  prefer_.clear();
  named_ = {};
  only_ = false;
  return answer;
}

}  // namespace koord::scheduling::test
