// Validation of metadata.
#include "sandbox/admission/metadata.hpp"

#include <fmt/format.h>

namespace koord::sandbox {
namespace {

constexpr std::string_view kSubdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabel =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kDns1035 =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kLabelValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kNamePart =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kTooLong253 = "must be no more than 253 bytes";
constexpr std::string_view kTooLong63 = "must be no more than 63 bytes";
constexpr std::size_t kMaxAnnotationBytes = std::size_t{256} * 1024;

bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool low_alnum(char c) { return lower(c) || digit(c); }
bool alnum(char c) { return low_alnum(c) || (c >= 'A' && c <= 'Z'); }

bool label_form(std::string_view s) {
  if (s.empty() || !low_alnum(s.front()) || !low_alnum(s.back())) return false;
  for (char c : s)
    if (!low_alnum(c) && c != '-') return false;
  return true;
}

bool word_form(std::string_view s) {
  if (s.empty() || !alnum(s.front()) || !alnum(s.back())) return false;
  for (char c : s)
    if (!alnum(c) && c != '-' && c != '_' && c != '.') return false;
  return true;
}

}  // namespace

std::string_view check_subdomain(std::string_view name) {
  if (name.size() > 253) return kTooLong253;
  for (std::size_t start = 0; start <= name.size();) {
    std::size_t dot = std::min(name.find('.', start), name.size());
    if (!label_form(name.substr(start, dot - start))) return kSubdomain;
    start = dot + 1;
  }
  return {};
}

std::string_view check_label_name(std::string_view name) {
  if (name.size() > 63) return kTooLong63;
  return label_form(name) ? std::string_view{} : kLabel;
}

std::string_view check_dns1035(std::string_view name) {
  if (name.size() > 63) return kTooLong63;
  return label_form(name) && lower(name.front()) ? std::string_view{} : kDns1035;
}

std::string_view check_path_segment(std::string_view name) {
  if (name == ".") return "may not be '.'";
  if (name == "..") return "may not be '..'";
  if (name.find('/') != name.npos) return "may not contain '/'";
  if (name.find('%') != name.npos) return "may not contain '%'";
  return {};
}

std::string_view check_label_value(std::string_view value) {
  if (value.size() > 63) return kTooLong63;
  return value.empty() || word_form(value) ? std::string_view{} : kLabelValue;
}

std::string check_qualified_name(std::string_view name) {
  std::string complaint;
  auto add = [&](std::string_view text) {
    if (!complaint.empty()) complaint += "; ";
    complaint += text;
  };
  std::size_t slash = name.find('/');
  if (slash != name.npos) {
    std::string_view prefix = name.substr(0, slash);
    name.remove_prefix(slash + 1);
    if (name.find('/') != name.npos)
      return "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and "
             "end with "
             "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
             "validation is "
             "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
             "(e.g. "
             "'example.com/MyName')";
    if (prefix.empty())
      add("prefix part must be non-empty");
    else if (std::string_view why = check_subdomain(prefix); !why.empty())
      add("prefix part " + std::string(why));
  }
  if (name.empty())
    add("name part must be non-empty");
  else if (name.size() > 63)
    add("name part must be no more than 63 bytes");
  if (!word_form(name)) add(kNamePart);
  return complaint;
}

void validate_labels(const Json* labels, std::string_view path, FieldErrors& errors) {
  if (!labels || labels->IsNull()) return;
  if (!labels->IsObject())
    return errors.wrong_type(std::string(path), write_json(*labels), "must be a map of strings");
  for (const auto& label : labels->GetObject()) {
    if (std::string why = check_qualified_name(view(label.name)); !why.empty())
      errors.invalid(std::string(path), view(label.name), why);
    if (!label.value.IsString())
      errors.wrong_type(fmt::format("{}.{}", path, view(label.name)), write_json(label.value),
                        "must be a string");
    else if (std::string_view why = check_label_value(view(label.value)); !why.empty())
      errors.invalid(std::string(path), view(label.value), why);
  }
}

void validate_metadata(const Json& object, const Kind& kind, FieldErrors& errors) {
  const Json* meta = find(object, "metadata");
  if (!meta) return errors.required("metadata.name", "name or generateName is required");
  std::string_view name = text_at(*meta, "name");
  if (name.empty()) {
    errors.required("metadata.name", "name or generateName is required");
  } else {
    std::string_view why = check_path_segment(name);
    if (why.empty()) switch (kind.names) {
        case NameRule::subdomain: why = check_subdomain(name); break;
        case NameRule::label: why = check_label_name(name); break;
        case NameRule::dns1035: why = check_dns1035(name); break;
        case NameRule::path_segment: break;
      }
    if (!why.empty()) errors.invalid("metadata.name", name, why);
  }
  validate_labels(find(*meta, "labels"), "metadata.labels", errors);
  if (const Json* annotations = find(*meta, "annotations"); annotations && annotations->IsObject()) {
    std::size_t total = 0;
    for (const auto& entry : annotations->GetObject()) {
      std::string key(view(entry.name));
      for (char& c : key)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (std::string why = check_qualified_name(key); !why.empty())
        errors.invalid("metadata.annotations", view(entry.name), why);
      total += entry.name.GetStringLength() + (entry.value.IsString() ? entry.value.GetStringLength() : 0);
    }
    if (total > kMaxAnnotationBytes) errors.too_long("metadata.annotations", kMaxAnnotationBytes);
  }
  if (const Json* finalizers = find(*meta, "finalizers"); finalizers && finalizers->IsArray())
    for (const auto& finalizer : finalizers->GetArray())
      if (finalizer.IsString())
        if (std::string why = check_qualified_name(view(finalizer)); !why.empty())
          errors.invalid("metadata.finalizers", view(finalizer), why);
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
