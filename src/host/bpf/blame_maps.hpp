// BlameMaps: the maps of the programs that say who ran while others waited, as a WaitBlame.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bpf_object.hpp"
#include "koord/base/file.hpp"
#include "koord/host/wait_blame.hpp"
#include "wait_blame.h"

namespace koord::host {

/// The CPUs that there may ever be, and to which part of the machine each belongs: on one, a task that may
/// run everywhere is expected to find a place anywhere.
struct CpuDomains {
  std::vector<std::uint32_t> of_cpu;
  std::uint32_t count = 1;
  std::uint32_t online = 1;  // CPUs
};
/// By memory node; all in one where that cannot be read.
CpuDomains cpu_domains(const Root& root, std::size_t possible);

class BlameMaps final : public WaitBlame {
 public:
  /// After the object was loaded and before its programs are attached: starts the clocks of the CPUs.
  static Result<std::unique_ptr<BlameMaps>> take(const BpfObject& object, const CpuDomains& domains);

  Result<> name_groups(std::span<const Named> groups) override;
  std::size_t capacity() const override { return koord_max_tiered; }
  Result<> read(State& into) override;
  Result<> groups(std::vector<Group>& into) override;
  Result<Losses> losses() override;
  Result<std::unique_ptr<Stalls>> open_stalls(const Root& root, CgroupVersion version) override;

 private:
  struct Descriptors {
    Fd tiers, clocks, blames, groups, settings, losses;
  };
  BlameMaps(Descriptors held, std::size_t cpus) : held_(std::move(held)), scratch_(cpus) {}
  Result<> start_clocks(const CpuDomains& domains);

  Descriptors held_;
  koord_settings settings_{};
  std::unordered_map<GroupId, std::uint32_t> named_;
  std::vector<koord_blame> scratch_;  // one for each CPU that there may be
};

}  // namespace koord::host
