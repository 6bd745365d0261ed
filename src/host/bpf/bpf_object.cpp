#include "bpf_object.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <string_view>
#include <system_error>

namespace koord::host {
namespace {
constexpr const char* kLooksAt = "/sys/kernel/btf/vmlinux";  // libbpf, for the types of the kernel

// libbpf tells its reasons through one callback of the process, without an argument of ours.
std::mutex printing;
std::string* warning = nullptr;

int note(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN || warning == nullptr || !warning->empty()) return 0;
  char line[256];
  if (std::vsnprintf(line, sizeof line, format, arguments) <= 0) return 0;
  std::string_view text = line;
  text = text.substr(0, text.find('\n'));
  if (text.starts_with("libbpf: ")) text.remove_prefix(8);
  *warning = text;
  return 0;
}

/// While it lives, the first warning goes into `text` and none to stderr.
class WarningCapture {
 public:
  explicit WarningCapture(std::string& text) : lock_(printing) {
    warning = &text;
    libbpf_set_print(note);
  }
  ~WarningCapture() { warning = nullptr; }
  WarningCapture(const WarningCapture&) = delete;
  WarningCapture& operator=(const WarningCapture&) = delete;

 private:
  std::scoped_lock<std::mutex> lock_;
};

Error bpf_error(int errnum, std::string_view what, const std::string& reason) {
  std::string message(what);
  message += ": ";
  // A program that the verifier rejects is EACCES or EINVAL; EPERM is a missing right.
  if (errnum == EPERM) {
    message += "not permitted (CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, are needed)";
    return Error(Code::forbidden, message);
  }
  if (!reason.empty()) message += reason + ": ";
  message += std::generic_category().message(errnum);
  return Error(Code::unsupported, message);
}
}  // namespace

void BpfObject::Close::operator()(bpf_object* object) const { bpf_object__close(object); }

Result<BpfObject> BpfObject::open(const Root& root, const char* name, std::span<const char> elf) {
  const std::string btf = root.sys + "kernel/btf/vmlinux";
  if (!exists(btf))
    return Error(Code::unsupported, fmt::format("this kernel gives no BTF: {} is not there", btf));
  std::string reason;
  const WarningCapture capture(reason);
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.object_name = name;
  std::error_code error;
  if (!std::filesystem::equivalent(btf, kLooksAt, error)) options.btf_custom_path = btf.c_str();
  bpf_object* object = bpf_object__open_mem(elf.data(), elf.size(), &options);
  if (object == nullptr) return bpf_error(errno, "opening eBPF programs", reason);
  return BpfObject(object);
}

Result<> BpfObject::choose(std::span<const Program> programs) {
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object_.get(), program)) != nullptr) {
    const std::string_view name = bpf_program__name(program);
    const bool chosen = std::any_of(programs.begin(), programs.end(),
                                    [name](const Program& wanted) { return wanted.name == name; });
    if (const int status = bpf_program__set_autoload(program, chosen); status != 0)
      return Error(Code::internal, "an eBPF program is loaded already");
  }
  return {};
}

Result<> BpfObject::resize(const char* map, std::uint32_t entries) {
  bpf_map* found = bpf_object__find_map_by_name(object_.get(), map);
  if (found == nullptr || bpf_map__set_max_entries(found, entries) != 0)
    return Error(Code::internal, std::string("no eBPF map to resize: ") + map);
  return {};
}

Result<> BpfObject::share(const char* map, const Fd& with) {
  bpf_map* found = bpf_object__find_map_by_name(object_.get(), map);
  if (found == nullptr || bpf_map__reuse_fd(found, with.get()) != 0)
    return Error(Code::internal, std::string("no eBPF map to share: ") + map);
  return {};
}

Result<> BpfObject::load() {
  std::string reason;
  const WarningCapture capture(reason);
  const int status = bpf_object__load(object_.get());
  if (status != 0) return bpf_error(-status, "loading eBPF programs", reason);
  return {};
}

Result<Fd> BpfObject::map(const char* name) const {
  const bpf_map* found = bpf_object__find_map_by_name(object_.get(), name);
  if (found == nullptr) return Error(Code::internal, std::string("no eBPF map ") + name);
  Fd copy(fcntl(bpf_map__fd(found), F_DUPFD_CLOEXEC, 3));
  if (!copy) return errno_error(errno, name);
  return copy;
}

Result<Fd> BpfObject::program(const char* name) const {
  const bpf_program* found = bpf_object__find_program_by_name(object_.get(), name);
  if (found == nullptr) return Error(Code::internal, fmt::format("no eBPF program {}", name));
  Fd copy(fcntl(bpf_program__fd(found), F_DUPFD_CLOEXEC, 3));
  if (!copy) return errno_error(errno, name);
  return copy;
}

Result<Fd> attach_program(const Fd& program, const char* name, const char* tracepoint) {
  const int link = bpf_raw_tracepoint_open(tracepoint, program.get());
  if (link == -ENOENT && tracepoint != nullptr)
    return Error(Code::unsupported, fmt::format("this kernel has no tracepoint {}", tracepoint));
  if (link < 0) return bpf_error(-link, fmt::format("attaching eBPF program {}", name), {});
  return Fd(link);
}

Result<std::uint64_t> sum_over_cpus(const Fd& map, std::uint32_t place, std::vector<std::uint64_t>& scratch) {
  if (bpf_map_lookup_elem(map.get(), &place, scratch.data()) != 0) return errno_error(errno, "eBPF map");
  return std::accumulate(scratch.begin(), scratch.end(), std::uint64_t{0});
}

}  // namespace koord::host
