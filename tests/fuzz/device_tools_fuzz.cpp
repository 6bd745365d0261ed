// What vendors' tools print: the first line names the vendor, what follows are the answers in the order in
// which they are asked for, a line "--" between them. Whatever devices come of it are such as the file may
// have.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/json/value.hpp"
#include "support/run_task.hpp"
#include "told_programs.hpp"
#include "vendors/output.hpp"
#include "vendors/vendor.hpp"

namespace {

using namespace koord::device_daemon;

void check(bool holds) {
  if (!holds) std::abort();
}

struct Tools final : koord::test::ToldPrograms {
  using ToldPrograms::ToldPrograms;
  koord::Task<koord::Result<std::string>> ask(std::string_view program,
                                              std::vector<std::string> arguments) override {
    // What a tool said is never more than an argument to the next one, and a short one.
    for (const std::string& argument : arguments) check(argument.size() < 128);
    return ToldPrograms::ask(program, std::move(arguments));
  }
};

void check(const koord::api::XpuDevice& device) {
  check(koord::host::parse_bus_id(device.topology->bus_id) == device.topology->bus_id);
  check(device.model == model_name(device.model));
  check(whole_number(device.minor).has_value());
  check(device.uuid.size() <= 300);
  const std::string* const memory = device.resources.find("koordinator.sh/gpu-memory");
  check(memory != nullptr && (memory->ends_with("Mi") || memory->ends_with("Gi")) &&
        positive_number(memory->substr(0, memory->size() - 2)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  for (const Vendor& vendor : all_vendors()) {
    if (vendor.name != text.substr(0, line)) continue;
    Tools tools(text.substr(std::min(line + 1, text.size())));
    const Machine machine{tools, "/nowhere", "/nowhere/"};
    koord::test::Loop loop;
    const auto found = koord::test::run_task(loop, vendor.look(machine));
    if (!found) return 0;
    check(found->devices.size() + found->failures.size() <= kMostCards);
    for (const auto& device : found->devices) check(device);
    const auto written = koord::json::parse(koord::api::xpu_devices_text(found->devices));
    check(written.has_value() && written->is_array() && written->elements().size() == found->devices.size());
  }
  return 0;
}
