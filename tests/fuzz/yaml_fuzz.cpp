// YAML: what is taken becomes JSON that is itself YAML of the same meaning; a configuration that is read
// prints and reads to the same; what is refused names file and line.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/json/value.hpp"
#include "koord/json/yaml.hpp"
#include "koord/runtime/config.hpp"

namespace {

using namespace koord;

void check(bool holds) {
  if (!holds) std::abort();
}

int line_number(std::string_view message) {
  check(!message.empty() && std::isdigit(static_cast<unsigned char>(message.front())));
  return std::atoi(std::string(message).c_str());
}

void read_configuration(std::string_view text) {
  api::PriorityClass object;
  const auto read = runtime::read_config(text, "f", api::schema<api::PriorityClass>(), &object);
  if (!read) {
    check(read.error().message().starts_with("f:"));
    check(line_number(std::string_view(read.error().message()).substr(2)) >= 1);
    return;
  }
  const std::string printed = api::encode(object);
  api::PriorityClass again;
  const auto reread = runtime::read_config(printed, "f", api::schema<api::PriorityClass>(), &again);
  check(reread.has_value() && api::encode(again) == printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::LineMap lines;
  const auto json = json::yaml_to_json(text, &lines);
  if (!json) {
    check(json.error().code() == Code::parse && line_number(json.error().message()) >= 1);
  } else {
    const auto document = json::parse(*json);
    check(document.has_value());
    for (const auto& [path, line] : lines) check(line >= 1 && line <= static_cast<int>(size) + 1);
    const auto again = json::yaml_to_json(*json);
    // yaml-cpp wants a key to end within 1,024 characters.
    if (json->size() < 1000) {
      check(again.has_value());
      const auto reread = json::parse(*again);
      check(reread.has_value() && *reread == *document);
    }
  }
  read_configuration(text);
  return 0;
}
