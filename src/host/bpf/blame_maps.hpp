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

class BlameMaps final : public WaitBlame {
 public:
  /// After the object was loaded and before its programs are attached: starts the clocks of the CPUs.
  static Result<std::unique_ptr<BlameMaps>> take(const BpfObject& object, std::size_t cpus);

  Result<> name_groups(std::span<const Named> groups) override;
  std::size_t capacity() const override { return koord_max_tiered; }
  Result<> read(State& into) override;
  Result<> groups(std::vector<Group>& into) override;
  Result<Losses> losses() override;
  Result<std::unique_ptr<Stalls>> open_stalls(const Root& root, CgroupVersion version) override;

 private:
  struct Descriptors {
    Fd tiers, clocks, blames, groups, generation, losses;
  };
  BlameMaps(Descriptors held, std::size_t cpus) : held_(std::move(held)), scratch_(cpus) {}
  Result<> start_clocks();

  Descriptors held_;
  std::uint32_t generation_ = 0;
  std::unordered_map<GroupId, std::uint32_t> named_;
  std::vector<koord_blame> scratch_;  // one for each CPU that there may be
};

}  // namespace koord::host
