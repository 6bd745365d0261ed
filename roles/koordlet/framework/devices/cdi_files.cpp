// CdiFiles: see cdi_files.hpp.
#include "framework/devices/cdi_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/file.hpp"
#include "koord/base/ownership.hpp"
#include "koord/host/file.hpp"
#include "koord/host/text.hpp"
#include "koord/json/value.hpp"
#include "koord/json/yaml.hpp"

namespace koord::koordlet {

namespace cdi {

/// As CDI's specification has them; what is not described is the runtime's alone.
struct Node {
  std::string path, host_path;  // the second empty: the same
  KOORD_STRUCT(Node);
};
struct Edits {
  std::vector<Node> device_nodes;
  KOORD_STRUCT(Edits);
};
struct Device {
  std::string name;
  Edits container_edits;
  KOORD_STRUCT(Device);
};
struct File {
  std::string kind;
  std::vector<Device> devices;
  Edits container_edits;  // with each of the devices
  KOORD_STRUCT(File);
};

KOORD_SCHEMA(Node, ROW(path), ROW(host_path));
KOORD_SCHEMA(Edits, ROW(device_nodes));
KOORD_SCHEMA(Device, ROW(name), ROW(container_edits));
KOORD_SCHEMA(File, ROW(kind), ROW(devices), ROW(container_edits));

}  // namespace cdi

namespace {

constexpr std::string_view kGpuKind = "nvidia.com/gpu", kGpuPath = "/dev/nvidia",
                           kPartPath = "/dev/nvidia-caps/", kVerbsPath = "/dev/infiniband/uverbs";
constexpr std::size_t kLongest = 253;  // of a name

/// Begins with a letter (or a digit), ends with either, has `more` between.
bool is_word(std::string_view text, bool digit_first, std::string_view more) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > kLongest) return false;
  if (!letter(text.front()) && !(digit_first && digit(text.front()))) return false;
  return (letter(text.back()) || digit(text.back())) && std::ranges::all_of(text, [&](char c) {
           return letter(c) || digit(c) || more.find(c) != std::string_view::npos;
         });
}

bool is_kind(std::string_view kind) {
  const std::size_t slash = kind.find('/');
  return slash != std::string_view::npos && is_word(kind.substr(0, slash), false, "_-.") &&
         is_word(kind.substr(slash + 1), false, "_-");
}

bool is_name(std::string_view name) { return is_word(name, true, "_-.:"); }

/// The number after `before`; -1: there is none.
std::int32_t number_after(std::string_view path, std::string_view before) {
  std::int32_t number = -1;
  if (!path.starts_with(before) || !host::to_number(path.substr(before.size()), number)) return -1;
  return number;
}

bool is_card(std::string_view path) {
  return number_after(path, kGpuPath) >= 0 || number_after(path, kVerbsPath) >= 0;
}

const std::string& on_host(const cdi::Node& node) {
  return node.host_path.empty() ? node.path : node.host_path;
}

bool is_same(const struct stat& status, std::uint64_t inode, std::uint64_t size,
             const std::timespec& changed) {
  return status.st_ino == inode && static_cast<std::uint64_t>(status.st_size) == size &&
         status.st_mtim.tv_sec == changed.tv_sec && status.st_mtim.tv_nsec == changed.tv_nsec;
}

Result<std::vector<CdiDevice>> read_file_at(const std::string& path) {
  KOORD_TRY(text, read_file(path, CdiFiles::kMostBytes));
  return read_cdi_file(text);
}

}  // namespace

Result<std::vector<CdiDevice>> read_cdi_file(std::string_view text) {
  KOORD_TRY(document, json::yaml_to_json(text));
  KOORD_TRY(file, api::decode<cdi::File>(document));
  if (!is_kind(file.kind))
    return Error(Code::invalid,
                 fmt::format("kind: \"{}\" is no VENDOR/CLASS of CDI", file.kind.substr(0, kLongest)));
  if (file.devices.size() > CdiFiles::kMostDevices)
    return Error(Code::too_large, fmt::format("devices: more than {}", CdiFiles::kMostDevices));
  for (const cdi::Node& node : file.container_edits.device_nodes)
    if (is_card(on_host(node)))
      return Error(Code::invalid,
                   fmt::format("containerEdits: every device of the file would bring {}", on_host(node)));
  std::vector<CdiDevice> devices;
  for (const cdi::Device& from : file.devices) {
    if (!is_name(from.name))
      return Error(Code::invalid, fmt::format("devices[{}].name: \"{}\" is no name of CDI", devices.size(),
                                              from.name.substr(0, kLongest)));
    CdiDevice& to = devices.emplace_back(CdiDevice{.kind = file.kind, .name = from.name, .cards = {}});
    for (const cdi::Node& node : from.container_edits.device_nodes) {
      const std::string& path = on_host(node);
      to.is_part = to.is_part || path.starts_with(kPartPath);
      if (is_card(path) && std::ranges::find(to.cards, path) == to.cards.end()) to.cards.push_back(path);
    }
  }
  return devices;
}

CdiNames cdi_names(const std::vector<CdiDevice>& devices) {
  CdiNames names;
  for (const CdiDevice& device : devices) {
    // "all" is whatever the file has when the runtime looks: one card today, perhaps two then.
    if (device.cards.size() != 1 || device.is_part || device.name == "all") continue;
    const std::string& card = device.cards.front();
    if (const std::int32_t minor = number_after(card, kGpuPath); minor >= 0) {
      // Other kinds with a GPU's file are of one claim or one purpose.
      if (device.kind != kGpuKind) continue;
      std::string& name = names.gpus[minor];
      // By its UUID, where it has several names: a number is the driver's, and may be another one tomorrow.
      if (name.empty() || device.name.starts_with(kGpuUuid)) name = device.name;
    } else {
      const std::string verbs = card.substr(card.rfind('/') + 1);
      names.rdma.try_emplace(device.name,
                             CdiNames::Rdma{fmt::format("{}={}", device.kind, device.name), verbs});
    }
  }
  for (auto& [minor, name] : names.gpus) name = fmt::format("{}={}", kGpuKind, name);
  return names;
}

CdiFiles::CdiFiles(std::string root, std::vector<std::string> folders) {
  constexpr std::string_view kLink = "/var/run/";  // to /run, which is the host's only below its root
  for (std::string& folder : folders) {
    if (!root.empty() && folder.starts_with(kLink)) folder.erase(0, kLink.find("/run"));
    folders_.push_back(fmt::format("{}{}{}", root, folder, folder.ends_with('/') ? "" : "/"));
  }
}

const CdiFiles::Kept* CdiFiles::look(const std::string& path, std::vector<std::string>& problems) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return nullptr;
  if (const auto safe = check_ownership(status, path); !safe) {
    problems.push_back(safe.error().message());
    return nullptr;
  }
  const auto [place, is_new] = kept_.try_emplace(path);
  Kept& kept = place->second;
  if (is_new || !is_same(status, kept.inode, kept.size, kept.changed)) {
    kept = {.inode = status.st_ino,
            .size = static_cast<std::uint64_t>(status.st_size),
            .changed = status.st_mtim,
            .devices = {},
            .problem = {}};
    auto read = read_file_at(path);
    if (read)
      kept.devices = std::move(*read);
    else
      kept.problem = fmt::format("{}: its devices have no names of CDI: {}", path, read.error().message());
  }
  if (!kept.problem.empty()) problems.push_back(kept.problem);
  return &kept;
}

CdiNames CdiFiles::read(std::vector<std::string>& problems) {
  std::map<std::string, CdiDevice> all;  // by the whole name
  std::set<std::string> seen;
  for (const std::string& folder : folders_) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) {  // most hosts have one of them at most
      if (errno != ENOENT && errno != ENOTDIR)
        problems.push_back(fmt::format("{}: {}", folder, std::strerror(errno)));
      continue;
    }
    if (const auto safe = check_ownership(status, folder); !safe) {
      problems.push_back(safe.error().message());
      continue;
    }
    auto names = host::list_folder(folder);
    if (!names) {
      problems.push_back(names.error().message());
      continue;
    }
    std::erase_if(*names, [](const std::string& name) {
      return name.starts_with('.') || !(name.ends_with(".json") || name.ends_with(".yaml"));
    });
    if (names->size() > kMostFiles) {
      problems.push_back(fmt::format("{}: more than {} files; the first ones count", folder, kMostFiles));
      names->resize(kMostFiles);
    }
    std::map<std::string, CdiDevice> here;
    std::set<std::string> twice;
    for (const std::string& name : *names) {
      const std::string path = folder + name;
      const Kept* const file = look(path, problems);
      if (file == nullptr) continue;
      seen.insert(path);
      for (const CdiDevice& device : file->devices) {
        const std::string whole = fmt::format("{}={}", device.kind, device.name);
        if (here.try_emplace(whole, device).second || !twice.insert(whole).second) continue;
        problems.push_back(
            fmt::format("{}: another file has {}, too; no runtime takes that name", path, whole));
      }
    }
    for (auto& [name, device] : here) {
      if (twice.contains(name))
        all.erase(name);
      else
        all.insert_or_assign(name, std::move(device));
    }
  }
  std::erase_if(kept_, [&seen](const auto& one) { return !seen.contains(one.first); });
  std::vector<CdiDevice> devices;
  devices.reserve(all.size());
  for (auto& [name, device] : all) devices.push_back(std::move(device));
  return cdi_names(devices);
}

}  // namespace koord::koordlet
