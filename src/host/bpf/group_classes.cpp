// Group classes: see koord/host/group_classes.hpp.
#include "koord/host/group_classes.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <malloc.h>

#include <cerrno>
#include <cstring>

#include "bpf_object.hpp"
#include "group_classes.h"
#include "group_classes.skel.h"

namespace koord::host {

static_assert(kClassMajor == koord_class_major && kMostGroupClasses == koord_most_group_classes);

Result<std::uint64_t> group_number(const std::string& folder) {
  struct {
    file_handle handle;
    std::uint64_t number;
  } of{};
  of.handle.handle_bytes = sizeof of.number;
  int mount = 0;
  if (::name_to_handle_at(AT_FDCWD, folder.c_str(), &of.handle, &mount, 0) != 0)
    return errno_error(errno, folder);
  std::uint64_t number = 0;
  std::memcpy(&number, of.handle.f_handle, sizeof number);
  return number;
}

Result<std::unique_ptr<GroupClasses>> GroupClasses::load(const Root& root, CgroupVersion version) {
  std::size_t size = 0;
  const void* elf = group_classes_bpf__elf_bytes(&size);
  KOORD_TRY(object, BpfObject::open(root, "group_classes", {static_cast<const char*>(elf), size}));
  const char* const name = version == CgroupVersion::v2 ? "classes_v2" : "classes_v1";
  const BpfObject::Program chosen[] = {{name, nullptr}};
  KOORD_CHECK(object.choose(chosen));
  const Result<> loaded = object.load();
  malloc_trim(0);  // the kernel's BTF may have been read: megabytes, once
  KOORD_CHECK(loaded);
  KOORD_TRY(program, object.program(name));
  KOORD_TRY(map, object.map("group_classes"));
  bpf_prog_info info{};
  __u32 length = sizeof info;
  if (bpf_obj_get_info_by_fd(program.get(), &info, &length) != 0) return errno_error(errno, name);
  return std::unique_ptr<GroupClasses>(new GroupClasses(std::move(program), std::move(map), info.id));
}

Result<> GroupClasses::put(std::uint64_t group, std::uint32_t of_class) {
  if (bpf_map_update_elem(map_.get(), &group, &of_class, BPF_ANY) != 0)
    return errno_error(errno, "classes of groups");
  return {};
}

Result<> GroupClasses::forget(std::uint64_t group) {
  if (bpf_map_delete_elem(map_.get(), &group) != 0 && errno != ENOENT)
    return errno_error(errno, "classes of groups");
  return {};
}

}  // namespace koord::host
