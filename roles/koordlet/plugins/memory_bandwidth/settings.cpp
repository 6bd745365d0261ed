// The extension's schema.
#include "plugins/memory_bandwidth/settings.hpp"

#include "framework/objects/extensions.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::koordlet::memory_bandwidth {

KOORD_SCHEMA(Settings,
             ROW(enable).doc("Whether best-effort work's bandwidth of the memory follows what "
                             "latency-sensitive work leaves; default false."),
             ROW(capacity_megabytes)
                 .range(0, 100'000'000)
                 .doc("What the memory behind one last-level cache moves at most, in MB/s, as measured on "
                      "such a machine; default 0: not known, and nothing is done."),
             ROW(target_percent)
                 .range(10, 100)
                 .default_json("80")
                 .doc("Of that, what all work together shall use at most while latency-sensitive work needs "
                      "some; default 80."),
             ROW(min_percent)
                 .range(1, 100)
                 .default_json("10")
                 .doc("What best-effort work may use at least, in percent; default 10."));

Result<Settings> read_settings(std::string_view extensions) {
  return read_extension<Settings>(extensions, "memoryBandwidth");
}

}  // namespace koord::koordlet::memory_bandwidth
