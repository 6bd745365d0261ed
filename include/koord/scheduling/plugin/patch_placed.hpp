// Writing into what is placed, and binding by it: the loop around a patch.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "koord/async/task.hpp"
#include "koord/base/result.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "koord/scheduling/plugin/placed_kind.hpp"

namespace koord::scheduling {

/// What is said where nothing may be written.
inline constexpr const char* kMayNotWrite = "another scheduler may hold the lease";

/// How often, and after what, a patch is tried again: after a conflict, an overload and a lost connection.
struct PatchEffort {
  int tries = 4;
  nanoseconds first_pause = std::chrono::milliseconds(10);
  int factor = 5;  // of a pause to the one before it
  /// After a time-out and an error of the server's, too, of which nobody knows what became.
  bool though_unknown = false;
  /// The object is asked for at the API server before it is tried again; else what is known of it then is
  /// patched.
  bool reads = false;
};

/// Patches what `context.pod` is or stands for with what `change` says of it as it is known: nothing to
/// change is a success with an empty answer, an error ends it. The answer is the object as the API server
/// sent it. The patch itself says by its preconditions that it is not for an object made under that name
/// since. `kind` outlives it.
Task<Result<std::string>> patch_placed(
    PreBindWork::Context context, const PlacedKind& kind,
    std::function<Result<std::optional<ObjectPatch>>(const kube::Object& now)> change, PatchEffort effort);

/// See placed_objects.hpp.
std::shared_ptr<BindWork> bind_by_patch(
    std::shared_ptr<const PlacedKind> kind,
    std::function<std::optional<ObjectPatch>(const void* now, const Symbol& node, WallTime at)> bound);

}  // namespace koord::scheduling
