// Complaints: what objects say that nobody can use, told once.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace koord::api {
struct ObjectMeta;
}

namespace koord::scheduling {

/// Anybody writes annotations and specs: who cannot use one goes on without it, and says so here, by name.
/// The same of the same object is told once, whoever says it how often; of the last kMost objects that is
/// remembered. One for all plugins (SharedParts). Belongs to the engine's thread.
class Complaints {
 public:
  static constexpr std::size_t kMost = 4096;
  static constexpr std::size_t kMostText = 512;
  /// Called on the engine's thread, with at most kMostText bytes of `what`.
  using Tell =
      std::function<void(std::string_view kind, const api::ObjectMeta& object, std::string_view what)>;

  /// From now on. Without it nobody hears of anything.
  void tell(Tell tell) { tell_ = std::move(tell); }
  /// `what` names the key or the field, what was expected there, and what becomes of the object.
  void say(std::string_view kind, const api::ObjectMeta& object, std::string_view what);

 private:
  Tell tell_;
  std::unordered_map<std::string, std::size_t> said_;  // by kind and uid: the last text's hash
  std::deque<std::string> order_;                      // of said_: the oldest first
};

}  // namespace koord::scheduling
