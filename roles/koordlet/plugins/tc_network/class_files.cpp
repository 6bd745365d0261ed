// Walking net_cls: see class_files.hpp.
#include "plugins/tc_network/class_files.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <optional>

#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "koord/host/group_classes.hpp"

namespace koord::koordlet::tc_network {
namespace {

using host::TcHandle;

constexpr std::string_view kFile = "net_cls.classid";
constexpr std::size_t kMostText = 64, kMostGroups = 100'000;
constexpr int kDeepest = 32;

bool is_ours(TcHandle handle) { return handle >> 16 == host::kClassMajor; }

Result<TcHandle> read_class(const std::string& folder) {
  KOORD_TRY(text, read_file(fmt::format("{}/{}", folder, kFile), kMostText));
  TcHandle handle = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), handle);
  if (read.ec != std::errc())
    return Error(Code::parse, fmt::format("{}/{}: expected a number", folder, kFile));
  return handle;
}

Result<> write_class(const std::string& folder, TcHandle handle) {
  return host::write_file(fmt::format("{}/{}", folder, kFile), fmt::format("{}", handle));
}

/// The group itself and those below it, those above first. Who goes meanwhile is left out.
class Walk {
 public:
  using Visit = std::function<Result<>(const std::string& group, const std::string& folder)>;
  Walk(const std::string& root, Visit visit) : root_(root), visit_(std::move(visit)) {}

  Result<> go(const std::string& group, int depth = 0) {
    if (++seen_ > kMostGroups || depth > kDeepest)
      return Error(Code::too_large, fmt::format("{}: too many groups", root_));
    const std::string folder = group.empty() ? root_ : fmt::format("{}/{}", root_, group);
    if (auto visited = visit_(group, folder); !visited && visited.error().code() != Code::not_found)
      return visited;
    if (host::is_leaf_folder(folder)) return {};
    const auto below = host::list_folders(folder);
    if (!below && below.error().code() == Code::not_found) return {};
    KOORD_CHECK(below);
    for (const std::string& name : *below)
      KOORD_CHECK(go(group.empty() ? name : fmt::format("{}/{}", group, name), depth + 1));
    return {};
  }

 private:
  const std::string& root_;
  Visit visit_;
  std::size_t seen_ = 0;
};

/// The wanted group that it is, or is below.
std::optional<std::string> wanted_above(const std::map<std::string, TcHandle>& wanted, std::string group) {
  while (!wanted.contains(group)) {
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos) return std::nullopt;
    group.resize(slash);
  }
  return group;
}

}  // namespace

Result<ClassFiles::State> ClassFiles::read(const std::map<std::string, TcHandle>& wanted) {
  if (!host::exists(fmt::format("{}/{}", folder_, kFile)))
    return Error(Code::not_found, fmt::format("{}: the hierarchy net_cls is not mounted there", folder_));
  State state;
  for (const auto& [group, of_class] : wanted)
    if (!host::exists(fmt::format("{}/{}", folder_, group))) state.absent.insert(group);
  std::set<std::string> lacking;
  KOORD_CHECK(Walk(folder_, [&](const std::string& group, const std::string& folder) -> Result<> {
                KOORD_TRY(is, read_class(folder));
                const auto above = wanted_above(wanted, group);
                if (!above) {
                  if (is_ours(is)) state.groups[group] = is;
                  return {};
                }
                const TcHandle shall = wanted.find(*above)->second;
                state.groups.emplace(*above, shall);
                if (is != shall && (is == 0 || is_ours(is))) lacking.insert(*above);
                return {};
              }).go({}));
  // A class of koord's that it shall not have: whichever, it is put right.
  for (const std::string& group : lacking) state.groups[group] = host::tc_handle(host::kClassMajor, 0);
  return state;
}

Result<> ClassFiles::put(const std::string& group, TcHandle of_class) {
  const std::string own = fmt::format("{}/{}", folder_, group);
  KOORD_CHECK(read_class(own));
  return Walk(folder_,
              [of_class](const std::string&, const std::string& folder) -> Result<> {
                KOORD_TRY(is, read_class(folder));
                if (is == of_class || (is != 0 && !is_ours(is))) return {};
                return write_class(folder, of_class);
              })
      .go(group);
}

Result<> ClassFiles::forget(const std::string& group) {
  return Walk(folder_,
              [](const std::string&, const std::string& folder) -> Result<> {
                KOORD_TRY(is, read_class(folder));
                return is_ours(is) ? write_class(folder, 0) : Result<>();
              })
      .go(group);
}

}  // namespace koord::koordlet::tc_network
