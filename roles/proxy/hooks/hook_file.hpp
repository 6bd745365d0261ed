// A file of the hook servers' folder: whom to ask when, and what is done if that one does not answer.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/rpc/hooks.hpp"

namespace koord::proxy {

struct HookServer {
  std::string file;      // its name in the folder: "koordlet.json"
  std::string endpoint;  // an absolute path of a socket
  bool fail = false;     // refuse what it cannot be asked about; else that goes on without it
  std::bitset<rpc::hooks::kStages> stages;

  bool has(rpc::hooks::Stage stage) const { return stages.test(static_cast<std::size_t>(stage)); }
  friend bool operator==(const HookServer&, const HookServer&) = default;
};

/// Whether a file of the folder is one of these: its name ends in "json", with or without a dot before it.
bool is_hook_file(std::string_view name);

/// Errors name `file` and the field. `notes`: what is not as it should be, but does not matter.
Result<HookServer> parse_hook_file(std::string_view file, std::string_view text,
                                   std::vector<std::string>& notes);

}  // namespace koord::proxy
