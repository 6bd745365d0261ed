// BlameMaps: the maps of the programs that say who ran while others waited, as a WaitBlame.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bpf_object.hpp"
#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "koord/host/wait_blame.hpp"
#include "run_queue_latency.h"
#include "wait_blame.h"

namespace koord::host {

class BlameMaps final : public WaitBlame {
 public:
  /// After the object was loaded. `possible`: how many CPUs there may ever be; their numbers are below
  /// `numbers`.
  static Result<std::unique_ptr<BlameMaps>> take(const BpfObject& object, const Root& root,
                                                 std::size_t possible, std::size_t numbers);
  /// Each time before the programs are attached: nobody knows who runs.
  Result<> restart();

  Result<> name_groups(std::span<const Named> groups) override;
  std::size_t capacity() const override { return koord_max_tiered; }
  Result<> read(State& into) override;
  Result<> groups(std::vector<Group>& into) override;
  Result<Losses> losses() override;
  Result<std::unique_ptr<Stalls>> open_stalls(const Root& root, CgroupVersion version) override;

 private:
  struct Descriptors {
    Fd tiers, clocks, blames, groups, settings, domains, losses;
  };
  BlameMaps(Descriptors held, const Root& root, std::size_t possible, std::size_t clocks)
      : held_(std::move(held)),
        online_(root.sys + "devices/system/cpu/online"),
        scratch_(possible),
        numbers_(possible),
        clocks_(clocks) {}
  /// CPUs come and go. Where it cannot be read, a task may use all if it may use all that may ever be.
  Result<> count_cpus();
  Result<> put_settings();

  Descriptors held_;
  HeldFile online_;
  ReadBuffer buffer_;
  koord_settings settings_{};
  std::unordered_map<GroupId, std::uint32_t> named_;
  std::vector<koord_blame> scratch_;    // one for each CPU that there may be
  std::vector<std::uint64_t> numbers_;  // the same
  std::size_t clocks_;
  std::vector<koord_group_key> keys_;  // of one call
  std::vector<koord_group_blame> blames_;
  std::unordered_map<GroupId, std::size_t> places_;
};

}  // namespace koord::host
