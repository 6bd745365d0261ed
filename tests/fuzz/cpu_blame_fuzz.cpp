// The extension cpuBlame as somebody wrote it: what is taken is within its limits and the same as the manager
// writes it, what is not is named by its path.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "koord/json/value.hpp"
#include "plugins/cpu_blame/settings.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto settings = cpu_blame::read_settings(text);
  if (!settings) {
    check(settings.error().message().starts_with("extensions"));
  } else if (settings->target_microseconds != 0) {
    check(settings->target_microseconds >= 50 && settings->target_microseconds <= 1'000'000);
    check(!settings->min_percent || (*settings->min_percent >= 0 && *settings->min_percent <= 100));
  } else {
    check(!settings->enable);
  }
  if (const auto document = json::parse(text); !document || !document->is_object()) return 0;
  const auto wrapped = cpu_blame::read_settings(R"({"Object":)" + text + "}");
  if (text.find("Object") != std::string::npos) return 0;
  if (text.starts_with("\xEF\xBB\xBF")) return 0;  // a mark of byte order may only be in front
  check(wrapped.has_value() == settings.has_value());
  if (!settings) return 0;
  check(wrapped->enable == settings->enable && wrapped->idle == settings->idle &&
        wrapped->min_percent == settings->min_percent &&
        wrapped->target_microseconds == settings->target_microseconds);
  return 0;
}
