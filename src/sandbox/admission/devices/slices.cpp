// ResourceSlices: what kube-apiserver sets and refuses.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "koord/api/values/time.hpp"
#include "sandbox/admission/devices/capacity.hpp"
#include "sandbox/admission/devices/checks.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMostDevices = 128, kMostCostlyDevices = 64, kMostCounterSets = 8, kMostCounters = 32;
constexpr std::size_t kMostConsumed = 2, kMostTaints = 16, kMostFacts = 32, kLongestValue = 64;
constexpr std::size_t kLongestKey = 63 + 1 + 32, kLongestLabel = 63;

// A key of a map in a path: the middle of a long one is left out.
std::string shortened(std::string_view key, std::size_t most) {
  if (key.size() <= most) return std::string(key);
  const std::size_t kept = most - 3;
  return fmt::format("{}...{}", key.substr(0, (kept + 1) / 2), key.substr(key.size() - kept / 2));
}

/// Which of the alternatives there are, as messages name them.
struct Choice {
  std::size_t count = 0;
  std::string names;

  void add(std::string_view name) {
    fmt::format_to(std::back_inserter(names), "{}`{}`", count++ ? ", " : "", name);
  }
};

void check_true(const std::optional<bool>& value, std::string_view name, const FieldPath& path,
                Choice& choice, StatusCauses& errors) {
  if (!value) return;
  if (*value)
    choice.add(name);
  else
    errors.invalid_raw(path.field(name).text(), "false", "must be either unset or set to true");
}

// The terms as kube-apiserver shows them.
std::string shown(const api::NodeSelector& selector) {
  std::string out;
  json::Writer json(out);
  if (selector.node_selector_terms.empty()) return "null";
  const auto rules = [&](std::string_view name, const api::List<api::NodeSelectorRequirement>& list) {
    json.key(name);
    if (list.empty()) return json.null(), void();
    json.begin_array();
    for (const api::NodeSelectorRequirement& rule : list) {
      json.begin_object().member("Key", rule.key.view()).member("Operator", rule.operator_.view());
      json.key("Values");
      if (rule.values.empty()) {
        json.null();
      } else {
        json.begin_array();
        for (const Symbol& value : rule.values) json.value(value.view());
        json.end_array();
      }
      json.end_object();
    }
    json.end_array();
  };
  json.begin_array();
  for (const api::NodeSelectorTerm& term : selector.node_selector_terms) {
    json.begin_object();
    rules("MatchExpressions", term.match_expressions);
    rules("MatchFields", term.match_fields);
    json.end_object();
  }
  json.end_array();
  return out;
}

std::string shown(const api::DeviceAttribute& attribute) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  const auto member = [&](std::string_view name, const auto& value) {
    json.key(name);
    if (value)
      json.value(*value);
    else
      json.null();
  };
  const auto text = [](const std::optional<Symbol>& symbol) {
    return symbol ? std::optional(symbol->str()) : std::nullopt;
  };
  member("IntValue", attribute.int_);
  member("BoolValue", attribute.bool_);
  member("StringValue", text(attribute.string));
  member("VersionValue", text(attribute.version));
  json.end_object();
  return out;
}

// semver.org's: numbers without leading zeros, then prereleases, then builds.
bool is_version(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto word = [&](char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  const auto number = [&](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, digit) && (part.size() == 1 || part[0] != '0');
  };
  const auto each = [](std::string_view list, const auto& good) {
    for (std::size_t from = 0;;) {
      const std::size_t dot = std::min(list.find('.', from), list.size());
      if (!good(list.substr(from, dot - from))) return false;
      if (dot == list.size()) return true;
      from = dot + 1;
    }
  };
  const std::size_t plus = std::min(text.find('+'), text.size());
  if (plus < text.size() && !each(text.substr(plus + 1), [&](std::string_view part) {
        return !part.empty() && std::ranges::all_of(part, word);
      }))
    return false;
  const std::string_view version = text.substr(0, plus);
  const std::size_t dash = std::min(version.find('-'), version.size());
  if (dash < version.size() && !each(version.substr(dash + 1), [&](std::string_view part) {
        return number(part) ||
               (!part.empty() && std::ranges::all_of(part, word) && !std::ranges::all_of(part, digit));
      }))
    return false;
  const std::string_view core = version.substr(0, dash);
  return std::ranges::count(core, '.') == 2 && each(core, number);
}

void check_attribute(const api::DeviceAttribute& attribute, const FieldPath& path, StatusCauses& errors) {
  if (attribute.string && attribute.string->size() > kLongestValue)
    errors.too_long(path.field("string").text(), kLongestValue);
  if (attribute.version) {
    const FieldPath at = path.field("version");
    if (!is_version(*attribute.version))
      errors.invalid(at.text(), *attribute.version, "must be a string compatible with semver.org spec 2.0.0");
    if (attribute.version->size() > kLongestValue) errors.too_long(at.text(), kLongestValue);
  }
  const int count = attribute.int_.has_value() + attribute.bool_.has_value() + attribute.string.has_value() +
                    attribute.version.has_value();
  constexpr std::string_view kOne = "exactly one value must be specified";
  if (count == 0) errors.invalid(path.text(), "", kOne);
  if (count > 1) errors.invalid_raw(path.text(), shown(attribute), kOne);
}

void check_counters(const api::FlatMap<api::DeviceCounter>& counters, const FieldPath& path,
                    StatusCauses& errors) {
  if (counters.empty()) return errors.required(path.text());
  if (!check_count(counters.size(), kMostCounters, path, errors)) return;
  for (const auto& counter : counters) {
    const std::string key = shortened(counter.key, kLongestLabel);
    check_label(counter.key, path.key(key), errors);
  }
}

/// A counter set's own name, or the one that a device refers to.
void check_counter_name(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  if (name.empty())
    errors.required(path.text());
  else
    check_label(name, path, errors);
}

void check_place(const api::SliceDevice& device, bool by_device, const FieldPath& path,
                 StatusCauses& errors) {
  if (!by_device) {
    if (device.node_name || device.node_selector || device.all_nodes)
      errors.invalid_raw(path.text(), "null",
                         "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                         "`perDeviceNodeSelection` is set to true in the ResourceSlice spec");
    return;
  }
  Choice choice;
  if (device.node_name) {
    const FieldPath at = path.field("nodeName");
    if (device.node_name->empty()) {
      errors.invalid(at.text(), "", "must not be empty");
    } else {
      choice.add("nodeName");
      check_subdomain(*device.node_name, at, errors);
    }
  }
  if (device.node_selector) {
    choice.add("nodeSelector");
    check_node_selector(*device.node_selector, path.field("nodeSelector"), errors);
  }
  check_true(device.all_nodes, "allNodes", path, choice, errors);
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is "
      "set to true in the ResourceSlice spec";
  if (choice.count == 0) errors.required(path.text(), kOne);
  if (choice.count > 1) errors.invalid(path.text(), fmt::format("{{{}}}", choice.names), kOne);
}

void check_device(const api::SliceDevice& device, const api::SliceDevice* old, bool by_device,
                  const FieldPath& path, StatusCauses& errors) {
  check_label(device.name, path.field("name"), errors);
  if (const std::size_t facts = device.attributes.size() + device.capacity.size(); facts > kMostFacts)
    errors.invalid_raw(
        path.text(), fmt::to_string(facts),
        fmt::format("the total number of attributes and capacities must not exceed {}", kMostFacts));
  const FieldPath attributes = path.field("attributes"), capacities = path.field("capacity");
  for (const auto& attribute : device.attributes) {
    if (errors.full()) break;
    const std::string key = shortened(attribute.key, kLongestKey);
    const FieldPath at = attributes.key(key);
    check_qualified(attribute.key, at, errors);
    check_attribute(attribute.value, at, errors);
  }
  for (const auto& capacity : device.capacity) {
    if (errors.full()) break;
    const std::string key = shortened(capacity.key, kLongestKey);
    const FieldPath at = capacities.key(key);
    check_qualified(capacity.key, at, errors);
    check_capacity(capacity.value, device.allow_multiple_allocations.value_or(false), at, errors);
  }
  if (!old || !(old->taints == device.taints))
    check_list(device.taints, kMostTaints, path.field("taints"), errors,
               [&](const api::DeviceTaint& each, const FieldPath& at) { check_taint(each, at, errors); });
  check_set(
      device.consumes_counters, kMostConsumed, path.field("consumesCounters"), errors,
      [&](const api::DeviceCounterConsumption& each, const FieldPath& at) {
        check_counter_name(each.counter_set, at.field("counterSet"), errors);
        check_counters(each.counters, at.field("counters"), errors);
      },
      [](const api::DeviceCounterConsumption& each) { return each.counter_set.view(); });
  check_place(device, by_device, path, errors);
  check_bindings(device.binding_conditions, device.binding_failure_conditions, path, errors);
}

void check_home(const api::ResourceSliceSpec& spec, const FieldPath& path, StatusCauses& errors) {
  Choice choice;
  if (spec.node_name) {
    const FieldPath at = path.field("nodeName");
    if (spec.node_name->empty()) {
      errors.invalid(at.text(), "", "must be either unset or set to a non-empty string");
    } else {
      choice.add("nodeName");
      check_subdomain(*spec.node_name, at, errors);
    }
  }
  if (spec.node_selector) {
    choice.add("nodeSelector");
    const FieldPath at = path.field("nodeSelector");
    check_node_selector(*spec.node_selector, at, errors);
    if (spec.node_selector->node_selector_terms.size() != 1)
      errors.invalid_raw(at.field("nodeSelectorTerms").text(), shown(*spec.node_selector),
                         "must have exactly one node selector term");
  }
  check_true(spec.all_nodes, "allNodes", path, choice, errors);
  check_true(spec.per_device_node_selection, "perDeviceNodeSelection", path, choice, errors);
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (choice.count == 0) errors.required(path.text(), kOne);
  if (choice.count > 1)
    errors.invalid(path.text(), fmt::format("{{{}}}", choice.names),
                   fmt::format("{}, but multiple fields are set", kOne));
}

// `both`: there are lists of counters and of devices, be they empty.
void check_spec(const api::ResourceSliceSpec& spec, const api::ResourceSliceSpec* old, bool both,
                StatusCauses& errors) {
  const FieldPath path("spec"), pool = path.field("pool");
  check_driver(spec.driver, path.field("driver"), errors);
  check_pool(spec.pool.name, pool.field("name"), errors);
  if (spec.pool.resource_slice_count <= 0)
    errors.invalid_raw(pool.field("resourceSliceCount").text(),
                       fmt::to_string(spec.pool.resource_slice_count), "must be greater than zero");
  if (spec.pool.generation < 0)
    errors.invalid_raw(pool.field("generation").text(), fmt::to_string(spec.pool.generation),
                       "must be greater than or equal to zero");
  constexpr std::string_view kImmutable = "field is immutable";
  if (old) {
    if (spec.pool.name != old->pool.name)
      errors.invalid(pool.field("name").text(), spec.pool.name, kImmutable);
    if (spec.driver != old->driver) errors.invalid(path.field("driver").text(), spec.driver, kImmutable);
    if (spec.node_name != old->node_name)
      errors.invalid_raw(path.field("nodeName").text(),
                         spec.node_name ? json::quote(*spec.node_name) : "null", kImmutable);
  }
  check_home(spec, path, errors);
  if (both) errors.invalid(path.text(), "", "only one of `sharedCounters` or `devices` is allowed");
  const bool costly = std::ranges::any_of(spec.devices, [](const api::SliceDevice& each) {
    return !each.taints.empty() || !each.consumes_counters.empty();
  });
  std::unordered_map<std::string_view, const api::SliceDevice*> before;
  if (old)
    for (const api::SliceDevice& each : old->devices) before.emplace(each.name, &each);
  check_set(
      spec.devices, costly ? kMostCostlyDevices : kMostDevices, path.field("devices"), errors,
      [&](const api::SliceDevice& each, const FieldPath& at) {
        const auto was = before.find(each.name);
        check_device(each, was == before.end() ? nullptr : was->second,
                     spec.per_device_node_selection.value_or(false), at, errors);
      },
      [](const api::SliceDevice& each) { return each.name.view(); });
  check_set(
      spec.shared_counters, kMostCounterSets, path.field("sharedCounters"), errors,
      [&](const api::CounterSet& each, const FieldPath& at) {
        check_counter_name(each.name, at.field("name"), errors);
        check_counters(each.counters, at.field("counters"), errors);
      },
      [](const api::CounterSet& each) { return each.name.view(); });
}

Outcome<void> admit(json::Value& object, const json::Value*, Admission& admission) {
  if (json::Value* devices = find(object, "spec", "devices"))
    for (json::Value& device : devices->elements())
      if (json::Value* taints = find(device, "taints"))
        for (json::Value& taint : taints->elements())
          if (taint.is_object())
            set_default(taint, "timeAdded",
                        json::make_text(api::Time(admission.now).to_string(), admission.arena),
                        admission.arena);
  KOORD_PASS(read_as<api::ResourceSlice>(object, admission.kind));
  return {};
}

void validate(const json::Value& object, const json::Value* old, Admission& admission, StatusCauses& errors) {
  const auto slice = read_as<api::ResourceSlice>(object, admission.kind);
  if (!slice) return errors.internal("", slice.error().message);  // refused before
  const json::Value *devices = find(object, "spec", "devices"),
                    *counters = find(object, "spec", "sharedCounters");
  const bool both = devices && devices->is_array() && counters && counters->is_array();
  if (!old) return check_spec(slice->spec, nullptr, both, errors);
  const auto before = read_as<api::ResourceSlice>(*old, admission.kind);
  if (before) check_spec(slice->spec, &before->spec, both, errors);
}

FieldValues fields(const json::Value& object) {
  FieldValues values = {{"spec.driver", std::string(text_at(object, "spec", "driver"))}};
  if (const std::string_view node = text_at(object, "spec", "nodeName"); !node.empty())
    values.emplace_back("spec.nodeName", node);
  return values;
}

}  // namespace

KindRules resource_slice_rules() { return {nullptr, nullptr, admit, validate, fields}; }

}  // namespace koord::sandbox
