// What containers, and pods as a whole, may ask for: kube-apiserver's validateResourceRequirements, in its
// words.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/json/index.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

constexpr std::string_view kHugePages = "hugepages-", kQuotas = "requests.";
/// What has no domain and can be counted somewhere, in a container or in a quota.
constexpr std::array<std::string_view, 3> kContainers = {"cpu", "memory", "ephemeral-storage"};
constexpr std::array<std::string_view, 20> kStandard = {"cpu",
                                                        "memory",
                                                        "ephemeral-storage",
                                                        "requests.cpu",
                                                        "requests.memory",
                                                        "requests.ephemeral-storage",
                                                        "limits.cpu",
                                                        "limits.memory",
                                                        "limits.ephemeral-storage",
                                                        "pods",
                                                        "resourcequotas",
                                                        "services",
                                                        "replicationcontrollers",
                                                        "secrets",
                                                        "configmaps",
                                                        "persistentvolumeclaims",
                                                        "storage",
                                                        "requests.storage",
                                                        "services.nodeports",
                                                        "services.loadbalancers"};

bool is_huge_page(std::string_view resource) { return resource.starts_with(kHugePages); }
bool has_domain(std::string_view resource) { return resource.find('/') != std::string_view::npos; }
/// Kubernetes takes whatever has no domain or one with "kubernetes.io/" in it for its own, so
/// kubernetes.io/batch-cpu too.
bool is_native(std::string_view resource) {
  return !has_domain(resource) || resource.find("kubernetes.io/") != std::string_view::npos;
}
/// A request may be below its limit, or without one.
bool may_be_overcommitted(std::string_view resource) {
  return is_native(resource) && !is_huge_page(resource);
}
bool is_standard(std::string_view resource) {
  return std::ranges::find(kStandard, resource) != kStandard.end() || is_huge_page(resource) ||
         resource.starts_with("requests.hugepages-");
}

void check_name(std::string_view name, const std::string& at, bool of_pod, StatusCauses& errors) {
  bool wrong = add_errors(api::check_qualified_name(name), at, name, errors);
  if (!wrong && !has_domain(name) && !is_standard(name)) {
    errors.invalid(at, name, "must be a standard resource type or fully qualified");
    wrong = true;
  }
  if (of_pod) {
    if (!wrong && !api::is_pod_level_resource(name))
      errors.unsupported(at, name, {"cpu", "hugepages-", "memory"});
  } else if (!has_domain(name)) {
    if (std::ranges::find(kContainers, name) == kContainers.end() && !is_huge_page(name))
      errors.invalid(at, name, "must be a standard resource for containers");
  } else if (!is_native(name) && !is_extended_resource(name)) {
    errors.invalid(at, name, "doesn't follow extended resource name standard");
  }
}

/// A quantity as it stands in a document.
std::string quantity_text(const json::Value& value) {
  return value.is_string() ? std::string(value.text()) : json::to_text(value);
}

bool is_whole_pages(std::string_view name, const api::Quantity& amount) {
  const auto page = api::Quantity::parse(name.substr(kHugePages.size()));
  if (!page || page->sign() <= 0 || page->milli_value() % 1000 != 0) return false;
  return amount.value() % page->value() == 0;
}

void check_amount(std::string_view name, const api::Quantity& amount, const std::string& at,
                  StatusCauses& errors) {
  const std::string text = amount.to_string();
  if (amount.sign() < 0) errors.invalid(at, text, "must be greater than or equal to 0");
  if (is_extended_resource(name) && amount.milli_value() % 1000 != 0)
    errors.invalid(at, text, "must be an integer");
  if (is_huge_page(name) && !is_whole_pages(name, amount))
    errors.invalid(at, text, fmt::format("{} is not positive integer multiple of {}", text, name));
}

}  // namespace

bool is_extended_resource(std::string_view name) {
  return !is_native(name) && !name.starts_with(kQuotas) &&
         api::is_qualified_name(fmt::format("{}{}", kQuotas, name));
}

void validate_resources(const json::Value& resources, const FieldPath& path, bool of_pod,
                        StatusCauses& errors) {
  static const json::Value kNone;
  const json::Value* all_limits = find(resources, "limits");
  const json::Members limits(all_limits ? *all_limits : kNone);
  bool computes = false, huge_pages = false;
  for (const std::string_view part : {"limits", "requests"}) {
    const json::Value* list = find(resources, part);
    if (!list || !list->is_object()) continue;
    const FieldPath list_at = path.field(part);
    for (const auto& entry : list->members()) {
      const std::string_view name = entry.key();
      const std::string at = list_at.key(name).text();
      computes = computes || name == "cpu" || name == "memory";
      huge_pages = huge_pages || is_huge_page(name);
      check_name(name, at, of_pod, errors);
      const std::string text = quantity_text(entry.value);
      const auto amount = api::Quantity::parse(text);
      if (!amount) {
        errors.invalid(at, text, amount.error().message());
        continue;
      }
      check_amount(name, *amount, at, errors);
      if (part == "limits") continue;
      const json::Value* limit = limits.find(name);
      const bool overcommits = may_be_overcommitted(name);
      if (!limit) {
        if (!overcommits)
          errors.required(path.field("limits").text(), "Limit must be set for non overcommitable resources");
        continue;
      }
      const auto most = api::Quantity::parse(quantity_text(*limit));
      if (!most) continue;
      if (!overcommits && *amount != *most)
        errors.invalid(list_at.text(), amount->to_string(),
                       fmt::format("must be equal to {} limit of {}", name, most->to_string()));
      else if (*amount > *most)
        errors.invalid(list_at.text(), amount->to_string(),
                       fmt::format("must be less than or equal to {} limit of {}", name, most->to_string()));
    }
  }
  if (huge_pages && !computes) errors.forbidden(path.text(), "HugePages require cpu or memory");
}

}  // namespace koord::sandbox
