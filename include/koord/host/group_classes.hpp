// Group classes: an eBPF filter of traffic control that says of packets which class they are of, by the
// control group of the socket that sends them. Of those alone whose socket the host's network sees: pods of
// the host's network, and devices that leave a packet its socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "koord/base/file.hpp"
#include "koord/base/result.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/root.hpp"

namespace koord::host {

/// The major of koord's qdisc.
inline constexpr std::uint16_t kClassMajor = 0x6b6f;
/// How many groups can have a class.
inline constexpr std::size_t kMostGroupClasses = 8192;

/// The number of a group that the kernel calls it by. Code::not_found: it is not there.
Result<std::uint64_t> group_number(const std::string& folder);

/// A filter that is attached stays when this goes, with what it was told last. One thread at a time.
class GroupClasses {
 public:
  /// In cgroup v1 the groups' net_cls.classid says it, and nobody is told here. Code::forbidden without
  /// CAP_BPF (CAP_SYS_ADMIN before Linux 5.8), Code::unsupported if the kernel does not take it.
  static Result<std::unique_ptr<GroupClasses>> load(const Root& root, CgroupVersion version);

  int program() const { return program_.get(); }
  /// As filters of traffic control name it.
  std::uint32_t program_number() const { return number_; }

  Result<> put(std::uint64_t group, std::uint32_t of_class);
  /// One that is not there is none to forget.
  Result<> forget(std::uint64_t group);

 private:
  GroupClasses(Fd program, Fd map, std::uint32_t number)
      : program_(std::move(program)), map_(std::move(map)), number_(number) {}

  Fd program_, map_;
  std::uint32_t number_;
};

}  // namespace koord::host
