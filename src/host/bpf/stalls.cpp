// Stalls: see koord/host/stalls.hpp.
#include "koord/host/stalls.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "blame_maps.hpp"
#include "bpf_object.hpp"
#include "run_queue_latency.h"
#include "stalls.h"
#include "stalls.skel.h"

namespace koord::host {
namespace {

static_assert(Stalls::kTiers == koord_tiers && int{Stalls::reclaim} == koord_stall_reclaim &&
              int{Stalls::block_io} == koord_stall_io);

Error call_error(int errnum) { return errno_error(errnum, "stalls map"); }

class Collector final : public Stalls {
 public:
  struct Descriptors {
    Fd stalls, oom_kills, losses;
    std::vector<Fd> links;
    std::array<std::string, kKinds> missing;
  };
  Collector(Descriptors held, std::size_t cpus) : held_(std::move(held)), scratch_(cpus), numbers_(cpus) {}

  const std::string& missing(Kind kind) const override { return held_.missing[kind]; }

  Result<> read(State& into) override {
    into = {};
    for (std::uint32_t tier = 0; tier < kTiers; ++tier) {
      KOORD_CHECK(add(reclaim, tier, into.reclaim[tier]));
      KOORD_CHECK(add(block_io, tier, into.block_io[tier]));
      KOORD_CHECK(get(held_.oom_kills, tier, into.oom_kills[tier]));
    }
    KOORD_CHECK(get(held_.oom_kills, koord_tiers, into.other_oom_kills));
    KOORD_TRY(reclaiming, sum_over_cpus(held_.losses, koord_lost_tasks, numbers_));
    KOORD_TRY(requests, sum_over_cpus(held_.losses, koord_lost_groups, numbers_));
    into.lost = reclaiming + requests;
    return {};
  }

 private:
  Result<> add(Kind kind, std::uint32_t tier, Stalled& sum) {
    const std::uint32_t place = std::uint32_t{kind} * koord_tiers + tier;
    if (bpf_map_lookup_elem(held_.stalls.get(), &place, scratch_.data()) != 0) return call_error(errno);
    for (const koord_stalls& one : scratch_) {
      sum.ns += one.ns;
      for (std::size_t i = 0; i < FineHistogram::kBuckets; ++i) sum.histogram.counts[i] += one.counts[i];
    }
    return {};
  }
  static Result<> get(const Fd& map, std::uint32_t place, std::uint64_t& value) {
    if (bpf_map_lookup_elem(map.get(), &place, &value) != 0) return call_error(errno);
    return {};
  }

  Descriptors held_;
  std::vector<koord_stalls> scratch_;   // one for each CPU that there may be
  std::vector<std::uint64_t> numbers_;  // the same
};

struct Row {
  Stalls::Kind kind;
  BpfObject::Program program;
};

/// What ends a stall before what begins it.
std::vector<Row> rows(CgroupVersion version) {
  const bool v2 = version == CgroupVersion::v2;
  return {{Stalls::reclaim, {v2 ? "reclaim_end_v2" : "reclaim_end_v1", "mm_vmscan_direct_reclaim_end"}},
          {Stalls::reclaim,
           {v2 ? "group_reclaim_end_v2" : "group_reclaim_end_v1", "mm_vmscan_memcg_reclaim_end"}},
          {Stalls::reclaim, {"reclaim_begin", "mm_vmscan_direct_reclaim_begin"}},
          {Stalls::reclaim, {"group_reclaim_begin", "mm_vmscan_memcg_reclaim_begin"}},
          {Stalls::block_io, {"io_done", "block_io_done"}},
          {Stalls::block_io, {v2 ? "io_start_v2" : "io_start_v1", "block_io_start"}},
          {Stalls::oom_kills, {v2 ? "oom_kill_v2" : "oom_kill_v1", "mark_victim"}}};
}

Result<std::unique_ptr<Stalls>> open(const Root& root, CgroupVersion version, const Fd& tiers) {
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return errno_error(-cpus, "the number of CPUs");
  std::size_t size = 0;
  const void* elf = stalls_bpf__elf_bytes(&size);
  KOORD_TRY(object, BpfObject::open(root, "stalls", {static_cast<const char*>(elf), size}));
  std::vector<BpfObject::Program> programs;
  for (const Row& row : rows(version)) programs.push_back(row.program);
  KOORD_CHECK(object.choose(programs));
  KOORD_CHECK(object.share("tiers", tiers));
  KOORD_CHECK(object.load());
  Collector::Descriptors held;
  const std::pair<const char*, Fd*> maps[] = {
      {"stalls", &held.stalls}, {"oom_kills", &held.oom_kills}, {"losses", &held.losses}};
  for (const auto& [name, place] : maps) {
    KOORD_TRY(map, object.map(name));
    *place = std::move(map);
  }
  for (const Row& row : rows(version)) {
    KOORD_TRY(program, object.program(row.program.name));
    auto link = attach_program(program, row.program.name, row.program.tracepoint);
    if (link)
      held.links.push_back(std::move(*link));
    else if (held.missing[row.kind].empty())
      held.missing[row.kind] = link.error().message();
  }
  return std::unique_ptr<Stalls>(
      std::make_unique<Collector>(std::move(held), static_cast<std::size_t>(cpus)));
}

}  // namespace

Result<std::unique_ptr<Stalls>> BlameMaps::open_stalls(const Root& root, CgroupVersion version) {
  auto opened = open(root, version, held_.tiers);
  malloc_trim(0);  // the kernel's BTF was read: megabytes, once
  return opened;
}

}  // namespace koord::host
