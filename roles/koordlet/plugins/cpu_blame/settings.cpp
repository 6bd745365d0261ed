// The extension's schema and where it stands.
#include "plugins/cpu_blame/settings.hpp"

#include "framework/objects/extensions.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::koordlet::cpu_blame {

// Above what idle and least-weighted groups cost others where that works (10 to 160 us, measured beside
// spinners on two CPUs), below what it costs where it does not (320 us and more, beside memory streamers and
// forkers).
KOORD_SCHEMA(
    Settings,
    ROW(enable).doc("Whether best-effort work is held back by the waiting that it causes; default "
                    "false."),
    ROW(target_microseconds)
        .range(50, 1'000'000)
        .default_json("250")
        .doc("The p99 of waiting for a CPU while best-effort work ran that is allowed; default 250."),
    ROW(min_percent)
        .range(0, 100)
        .doc("Of the node's CPUs, what best-effort work keeps at least; default "
             "cpuSuppressMinPercent, or 5."),
    ROW(idle).default_json("true").doc(
        "Whether best-effort groups get cpu.idle, where the kernel has it; default true."),
    ROW(quota).doc(
        "Whether best-effort work gets a quota where the target is still passed; default: only where "
        "its groups do not get cpu.idle, beside which a quota costs more than it was seen to help."));

Result<Settings> read_settings(std::string_view extensions) {
  return read_extension<Settings>(extensions, "cpuBlame");
}

}  // namespace koord::koordlet::cpu_blame
