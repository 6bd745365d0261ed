// Resctrl: how much of the caches and of the memory's bandwidth groups of tasks may use, as the kernel says
// it in /sys/fs/resctrl: what the machine can, and the texts of its files. Intel's RDT, AMD's QoS, Arm's
// MPAM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/root.hpp"

namespace koord::host {

/// The folder of groups, with a slash at its end.
std::string resctrl_folder(const Root& root);

/// A control of caches, which has a line of its own in `schemata`: "L3", or "L3CODE" and "L3DATA" where code
/// and data are told apart.
struct ResctrlCache {
  std::string name;
  std::uint64_t full = 0;  // a bit for each part of the cache, from bit 0 on, all of them
  int least_bits = 1;      // a group has at least so many
  std::vector<int> ids;    // of the caches, ascending; there may be gaps
};

/// What numbers in the line "MB" mean.
enum class BandwidthScale : std::uint8_t {
  percent,    // Intel, Arm: of what there is; the hardware holds back by delays
  units,      // AMD: eighths of a GB/s, of which the greatest value is "no limit"
  megabytes,  // the kernel's own loop (mount option mba_MBps); what all of it would be nobody knows
};

struct ResctrlBandwidth {
  BandwidthScale scale = BandwidthScale::percent;
  std::int64_t least = 1, step = 1, most = 100;
  std::vector<int> ids;  // as a cache's: those of the caches behind which the memory is
};

/// What this machine and its kernel can.
struct ResctrlInfo {
  std::vector<ResctrlCache> caches;           // of the last level; none: it cannot be divided
  std::optional<ResctrlBandwidth> bandwidth;  // nothing: it cannot be limited
  int groups = 0;                             // at most, that of all who are in no other included
  bool occupancy = false, local_bytes = false, total_bytes = false;  // what is counted
};

/// Reads `info` and the root's `schemata`; neither the vendor nor the model is asked for. Code::not_found: it
/// is not mounted, or the kernel has none. Code::parse: a file says what none of the kernel's says; it is
/// named.
Result<ResctrlInfo> read_resctrl_info(const Root& root);

/// A line of `schemata`: "    L3:0=0ff;8=0ff".
struct SchemataLine {
  struct Field {
    int id = 0;
    std::uint64_t value = 0;  // a mask of a cache, of "MB" a number
    friend bool operator==(const Field&, const Field&) = default;
  };
  std::string name;
  std::vector<Field> fields;  // ascending by id
  friend bool operator==(const SchemataLine&, const SchemataLine&) = default;
};
/// Of the lines whose values are understood, L3's (L3CODE's, L3DATA's) and MB's; others, as L2's or Arm's,
/// are left out. Code::parse for one of them that is no such line, or names an id twice.
Result<std::vector<SchemataLine>> parse_schemata(std::string_view text);
/// "L3:0=ff;8=ff;\n", as upstream writes it; "" where there is no field.
std::string print_schemata(const SchemataLine& line);

/// The numbers of tasks in a file of them, one a line. Code::parse for anything else.
Result<std::vector<std::int32_t>> parse_tasks(std::string_view text);

/// The parts of a cache from `start` to `end` percent, both rounded up to whole parts, as upstream has it;
/// more than that where the kernel wants more at least. Code::invalid unless 0 <= start < end <= 100 and
/// `full` has all bits from bit 0 on.
Result<std::uint64_t> cache_mask(std::uint64_t full, int least_bits, std::int64_t start_percent,
                                 std::int64_t end_percent);
/// What is written for so many percent of the bandwidth: percents are rounded up to what the kernel takes. Of
/// units 100% is no limit, and less of it of what one set of cores was seen to reach (20 GB/s where the
/// greatest value is 2048, more where it is more). Nothing outside of [1, 100], and for megabytes.
std::optional<std::int64_t> bandwidth_value(const ResctrlBandwidth& bandwidth, std::int64_t percent);
/// The percentage for which that is written, from 1 to 100; of other values the closest one that is not less.
/// Nothing for megabytes, and for values that are none.
std::optional<std::int64_t> bandwidth_percent(const ResctrlBandwidth& bandwidth, std::int64_t value);

}  // namespace koord::host
