// BpfObject: a compiled eBPF object from the binary into the kernel. Only descriptors stay afterwards: what
// libbpf needs for loading (the kernel's BTF, megabytes) is freed with the object.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/file.hpp"
#include "koord/host/root.hpp"

struct bpf_object;

namespace koord::host {

class BpfObject {
 public:
  /// Nothing is loaded yet. `elf` has to stay. Code::unsupported if the kernel gives no BTF below root.sys.
  static Result<BpfObject> open(const Root& root, const char* name, std::span<const char> elf);

  struct Program {
    const char* name;
    const char* tracepoint;
  };
  /// The programs that will be loaded; the others are left out, also where the kernel could not run them.
  Result<> choose(std::span<const Program> programs);
  Result<> resize(const char* map, std::uint32_t entries);
  /// Has a map of another object's instead of one of its own. Before load().
  Result<> share(const char* map, const Fd& with);
  /// Code::forbidden if the process lacks the right, otherwise Code::unsupported with libbpf's first
  /// warning.
  Result<> load();

  /// Descriptors of one's own, which outlive the object. After load().
  Result<Fd> map(const char* name) const;
  Result<Fd> program(const char* name) const;

 private:
  struct Close {
    void operator()(bpf_object* object) const;
  };
  explicit BpfObject(bpf_object* object) : object_(object) {}

  std::unique_ptr<bpf_object, Close> object_;
};

/// Attached as long as the descriptor is open, again and again. `tracepoint` is null for a typed program,
/// which knows its own; `name` is for messages.
Result<Fd> attach_program(const Fd& program, const char* name, const char* tracepoint);

/// Of an entry that has a number for each CPU that there may be: room for them is in `scratch`.
Result<std::uint64_t> sum_over_cpus(const Fd& map, std::uint32_t place, std::vector<std::uint64_t>& scratch);

}  // namespace koord::host
