// Validation of metadata.
#include "sandbox/admission/metadata.hpp"

#include <fmt/format.h>

#include "koord/json/writer.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMaxAnnotationBytes = std::size_t{256} * 1024;

api::NameErrors check_name(NameRule rule, std::string_view name) {
  api::NameErrors reasons = api::check_path_segment(name);
  if (!reasons.empty()) return reasons;
  switch (rule) {
    case NameRule::subdomain: return api::check_dns1123_subdomain(name);
    case NameRule::label: return api::check_dns1123_label(name);
    case NameRule::dns1035: return api::check_dns1035_label(name);
    case NameRule::path_segment: return {};
  }
  return {};
}

}  // namespace

bool add_errors(const api::NameErrors& reasons, const std::string& path, std::string_view value,
                StatusCauses& errors) {
  for (const std::string& why : reasons) errors.invalid(path, value, why);
  return !reasons.empty();
}

void validate_labels(const json::Value* labels, std::string_view path, StatusCauses& errors) {
  if (!labels || labels->is_null()) return;
  if (!labels->is_object())
    return errors.wrong_type(std::string(path), json::to_text(*labels), "must be a map of strings");
  for (const auto& label : labels->members()) {
    add_errors(api::check_qualified_name(label.key()), std::string(path), label.key(), errors);
    if (!label.value.is_string())
      errors.wrong_type(fmt::format("{}.{}", path, label.key()), json::to_text(label.value),
                        "must be a string");
    else
      add_errors(api::check_label_value(label.value.text()), std::string(path), label.value.text(), errors);
  }
}

void validate_metadata(const json::Value& object, const Kind& kind, StatusCauses& errors) {
  const json::Value* meta = find(object, "metadata");
  if (!meta) return errors.required("metadata.name", "name or generateName is required");
  std::string_view name = text_at(*meta, "name");
  if (name.empty()) {
    errors.required("metadata.name", "name or generateName is required");
  } else {
    add_errors(check_name(kind.names, name), "metadata.name", name, errors);
  }
  validate_labels(find(*meta, "labels"), "metadata.labels", errors);
  if (const json::Value* annotations = find(*meta, "annotations"); annotations && annotations->is_object()) {
    std::size_t total = 0;
    for (const auto& entry : annotations->members()) {
      std::string key(entry.key());
      for (char& c : key)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      add_errors(api::check_qualified_name(key), "metadata.annotations", entry.key(), errors);
      total += entry.name.text().size() + (entry.value.is_string() ? entry.value.text().size() : 0);
    }
    if (total > kMaxAnnotationBytes) errors.too_long("metadata.annotations", kMaxAnnotationBytes);
  }
  if (const json::Value* finalizers = find(*meta, "finalizers"); finalizers && finalizers->is_array())
    for (const auto& finalizer : finalizers->elements())
      if (finalizer.is_string())
        add_errors(api::check_qualified_name(finalizer.text()), "metadata.finalizers", finalizer.text(),
                   errors);
  const json::Value* owners = find(*meta, "ownerReferences");
  if (!owners || !owners->is_array()) return;
  int controllers = 0;
  for (std::size_t i = 0; i < owners->size(); ++i) {
    const json::Value& owner = (*owners)[i];
    for (const char* field : {"apiVersion", "kind", "name", "uid"})
      if (text_at(owner, field).empty())
        errors.invalid(fmt::format("metadata.ownerReferences.{}", field), "", "must not be empty");
    controllers += true_at(owner, "controller");
  }
  if (controllers > 1)
    errors.invalid_raw("metadata.ownerReferences", json::to_text(*owners),
                       "Only one reference can have Controller set to true. Found \"true\" in references");
}

}  // namespace koord::sandbox
