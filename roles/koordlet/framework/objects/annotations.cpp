// Reading annotations: see annotations.hpp.
#include "framework/objects/annotations.hpp"

#include <fmt/format.h>

#include <utility>

#include "framework/objects/pod_info.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/writer.hpp"

namespace koord::koordlet {

namespace {

std::optional<std::int64_t> quantity(const json::Value* value, std::string_view key, int scale,
                                     std::string_view name, std::vector<std::string>& complaints) {
  if (!value || value->is_null()) return std::nullopt;
  const std::string text = value->is_string() ? std::string(value->text()) : json::to_text(*value);
  if (text.empty()) return std::nullopt;
  const auto quantity = api::Quantity::parse(text);
  if (quantity && quantity->sign() >= 0) return quantity->scaled_value(scale);
  complaints.push_back(fmt::format("{}: {}: \"{}\" is no quantity", name, key, text.substr(0, 64)));
  return std::nullopt;
}

}  // namespace

std::int64_t milli(const api::ResourceList& list, std::string_view name) {
  const api::Quantity* const found = list.find(name);
  return found != nullptr ? bounded(found->milli_value(), kMaxMilli) : 0;
}
std::int64_t plain(const api::ResourceList& list, std::string_view name, std::int64_t max) {
  const api::Quantity* const found = list.find(name);
  return found != nullptr ? bounded(found->value(), max) : 0;
}

std::optional<json::Document> annotation(const api::ObjectMeta& meta, std::string_view name,
                                         std::vector<std::string>& complaints) {
  const Symbol* const text = meta.annotations.find(name);
  if (text == nullptr || text->empty()) return std::nullopt;
  if (text->size() > kMaxAnnotation) {
    complaints.push_back(fmt::format("{}: longer than 64 KiB", name));
    return std::nullopt;
  }
  auto document = json::parse(*text);
  if (!document) {
    complaints.push_back(fmt::format("{}: {}", name, document.error().message()));
    return std::nullopt;
  }
  if (document->is_null()) return std::nullopt;
  if (!document->is_object()) {
    complaints.push_back(fmt::format("{}: expected an object", name));
    return std::nullopt;
  }
  return std::move(*document);
}

host::CpuSet cpu_list(std::string_view text, std::string_view name, std::vector<std::string>& complaints) {
  auto cpus = host::CpuSet::parse(text);
  if (cpus) return std::move(*cpus);
  complaints.push_back(fmt::format("{}: {}", name, cpus.error().message()));
  return {};
}

std::optional<std::int64_t> quantity_at(const json::Value& document, std::string_view path, int scale,
                                        std::string_view name, std::vector<std::string>& complaints) {
  return quantity(json::find_path(document, path), path, scale, name, complaints);
}
std::optional<std::int64_t> quantity_of(const json::Value& object, std::string_view key, int scale,
                                        std::string_view name, std::vector<std::string>& complaints) {
  return quantity(json::find(object, key), key, scale, name, complaints);
}

std::optional<std::int64_t> integer_of(const json::Value& document, std::string_view key,
                                       std::string_view name, std::vector<std::string>& complaints) {
  const json::Value* value = json::find(document, key);
  if (!value || value->is_null()) return std::nullopt;
  if (const auto number = value->to_int()) return *number;
  complaints.push_back(fmt::format("{}: /{}: expected a whole number", name, key));
  return std::nullopt;
}

}  // namespace koord::koordlet
