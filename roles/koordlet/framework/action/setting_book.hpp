// SettingBook: what a pass over processes does, and what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/plan/action.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// Used by one thread at a time; it blocks for as long as the kernel takes.
class SettingBook {
 public:
  struct Outcome {
    struct Container {
      std::size_t set = 0;           // processes that have got it now,
      std::size_t have = 0;          // and those that had it
      std::int64_t value = 0;        // what they have
      std::optional<Error> refused;  // why not all of them have it
    };
    struct Returned {
      std::string group;
      std::size_t processes = 0;
    };
    std::vector<Container> containers;  // as they were named
    std::vector<Returned> returned;     // processes that have again what they had
    std::optional<Error> not_returned;  // tried again with the next pass
    std::optional<Error> not_saved;
    /// The kernel has no such thing: nothing was looked at, and nothing changed.
    std::optional<Error> unavailable;
  };

  virtual ~SettingBook() = default;
  /// What an earlier agent of this boot has set. After an error nothing was taken over.
  virtual Result<> load() = 0;
  /// Sets what is wanted of the processes that are in the groups now, and gives back what is not wanted any
  /// more. Each is written down before it is done.
  virtual Outcome pass(std::span<const ProcessSetting> settings) = 0;
  virtual bool empty() const = 0;
};

}  // namespace koord::koordlet
