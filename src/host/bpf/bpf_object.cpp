#include "bpf_object.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <system_error>

namespace koord::host {
namespace {
// libbpf tells its reasons through one callback of the process, without an argument of ours.
std::mutex printing;
std::string* complaint = nullptr;

int note(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN || complaint == nullptr || !complaint->empty()) return 0;
  char line[256];
  if (std::vsnprintf(line, sizeof line, format, arguments) <= 0) return 0;
  std::string_view text = line;
  text = text.substr(0, text.find('\n'));
  if (text.starts_with("libbpf: ")) text.remove_prefix(8);
  *complaint = text;
  return 0;
}

/// While it lives, the first warning goes into `text` and none to stderr.
class Listening {
 public:
  explicit Listening(std::string& text) : lock_(printing) {
    complaint = &text;
    libbpf_set_print(note);
  }
  ~Listening() { complaint = nullptr; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

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
  if (!exists(btf)) return Error(Code::unsupported, "this kernel gives no BTF: " + btf + " is not there");
  std::string reason;
  const Listening listening(reason);
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.object_name = name;
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
  const Listening listening(reason);
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

Result<Fd> BpfObject::attach(const char* program, const char* tracepoint) const {
  const bpf_program* found = bpf_object__find_program_by_name(object_.get(), program);
  if (found == nullptr) return Error(Code::internal, std::string("no eBPF program ") + program);
  const int link = bpf_raw_tracepoint_open(tracepoint, bpf_program__fd(found));
  if (link == -ENOENT && tracepoint != nullptr)
    return Error(Code::unsupported, std::string("this kernel has no tracepoint ") + tracepoint);
  if (link < 0) return bpf_error(-link, std::string("attaching eBPF program ") + program, {});
  return Fd(link);
}

}  // namespace koord::host
