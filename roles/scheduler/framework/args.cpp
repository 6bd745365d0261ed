// Plugin arguments: see args.hpp.
#include "framework/args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "koord/api/schema/codec.hpp"
#include "koord/base/text.hpp"

namespace koord::scheduler {

void FieldErrors::invalid(const std::string& path, const std::string& value, std::string_view why) {
  add(fmt::format("{}: Invalid value: {}: {}", path, value, why));
}

void FieldErrors::required(const std::string& path, std::string_view why) {
  add(fmt::format("{}: Required value{}{}", path, why.empty() ? "" : ": ", why));
}

void FieldErrors::duplicate(const std::string& path, const std::string& value) {
  add(fmt::format("{}: Duplicate value: {}", path, value));
}

void FieldErrors::not_supported(const std::string& path, const std::string& value,
                                std::span<const std::string_view> supported) {
  std::vector<std::string> list;
  for (std::string_view s : supported) list.push_back(quote(s));
  add(fmt::format("{}: Unsupported value: {}: supported values: {}", path, quote(value),
                  fmt::join(list, ", ")));
}

std::string FieldErrors::text() const {
  std::vector<std::string> once;
  for (const std::string& e : errors_)
    if (std::find(once.begin(), once.end(), e) == once.end()) once.push_back(e);
  return once.size() == 1 ? once.front() : fmt::format("[{}]", fmt::join(once, ", "));
}

std::shared_ptr<void> ArgsType::make_default() const {
  std::shared_ptr<void> args = create();
  set_defaults(args.get());
  return args;
}

void ArgsType::set_defaults(void* args) const {
  if (auto done = api::apply_defaults(args, schema()); !done) throw std::logic_error(done.error().message());
}

const PluginEntry* find_plugin(PluginTable table, std::string_view name) {
  auto row = std::find_if(table.begin(), table.end(), [&](const PluginEntry* e) { return e->name == name; });
  return row == table.end() ? nullptr : *row;
}

}  // namespace koord::scheduler
