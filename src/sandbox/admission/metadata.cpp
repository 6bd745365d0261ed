// Validation of metadata.
#include "sandbox/admission/metadata.hpp"

#include <fmt/format.h>

namespace koord::sandbox {
namespace {

constexpr std::size_t kMaxAnnotationBytes = std::size_t{256} * 1024;

api::NameErrors check_name(NameRule rule, std::string_view name) {
  api::NameErrors complaints = api::check_path_segment(name);
  if (!complaints.empty()) return complaints;
  switch (rule) {
    case NameRule::subdomain: return api::check_dns1123_subdomain(name);
    case NameRule::label: return api::check_dns1123_label(name);
    case NameRule::dns1035: return api::check_dns1035_label(name);
    case NameRule::path_segment: return {};
  }
  return {};
}

}  // namespace

bool complain(const api::NameErrors& complaints, const std::string& path, std::string_view value,
              FieldErrors& errors) {
  for (const std::string& why : complaints) errors.invalid(path, value, why);
  return !complaints.empty();
}

void validate_labels(const Json* labels, std::string_view path, FieldErrors& errors) {
  if (!labels || labels->IsNull()) return;
  if (!labels->IsObject())
    return errors.wrong_type(std::string(path), write_json(*labels), "must be a map of strings");
  for (const auto& label : labels->GetObject()) {
    complain(api::check_qualified_name(view(label.name)), std::string(path), view(label.name), errors);
    if (!label.value.IsString())
      errors.wrong_type(fmt::format("{}.{}", path, view(label.name)), write_json(label.value),
                        "must be a string");
    else
      complain(api::check_label_value(view(label.value)), std::string(path), view(label.value), errors);
  }
}

void validate_metadata(const Json& object, const Kind& kind, FieldErrors& errors) {
  const Json* meta = find(object, "metadata");
  if (!meta) return errors.required("metadata.name", "name or generateName is required");
  std::string_view name = text_at(*meta, "name");
  if (name.empty()) {
    errors.required("metadata.name", "name or generateName is required");
  } else {
    complain(check_name(kind.names, name), "metadata.name", name, errors);
  }
  validate_labels(find(*meta, "labels"), "metadata.labels", errors);
  if (const Json* annotations = find(*meta, "annotations"); annotations && annotations->IsObject()) {
    std::size_t total = 0;
    for (const auto& entry : annotations->GetObject()) {
      std::string key(view(entry.name));
      for (char& c : key)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      complain(api::check_qualified_name(key), "metadata.annotations", view(entry.name), errors);
      total += entry.name.GetStringLength() + (entry.value.IsString() ? entry.value.GetStringLength() : 0);
    }
    if (total > kMaxAnnotationBytes) errors.too_long("metadata.annotations", kMaxAnnotationBytes);
  }
  if (const Json* finalizers = find(*meta, "finalizers"); finalizers && finalizers->IsArray())
    for (const auto& finalizer : finalizers->GetArray())
      if (finalizer.IsString())
        complain(api::check_qualified_name(view(finalizer)), "metadata.finalizers", view(finalizer), errors);
  const Json* owners = find(*meta, "ownerReferences");
  if (!owners || !owners->IsArray()) return;
  int controllers = 0;
  for (rapidjson::SizeType i = 0; i < owners->Size(); ++i) {
    const Json& owner = (*owners)[i];
    for (const char* field : {"apiVersion", "kind", "name", "uid"})
      if (text_at(owner, field).empty())
        errors.invalid(fmt::format("metadata.ownerReferences.{}", field), "", "must not be empty");
    controllers += true_at(owner, "controller");
  }
  if (controllers > 1)
    errors.invalid_raw("metadata.ownerReferences", write_json(*owners),
                       "Only one reference can have Controller set to true. Found \"true\" in references");
}

}  // namespace koord::sandbox
