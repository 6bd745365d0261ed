// AttemptLog: the last attempts of pods, for people who ask why one waits or where it went.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/values/time.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/symbol.hpp"
#include "koord/scheduling/engine/decision.hpp"

namespace koord::scheduling {

struct RefusalRecord {
  std::string plugin;
  std::vector<std::string> reasons;
  std::int64_t nodes = 0;
  std::vector<std::string> examples;
  KOORD_STRUCT(RefusalRecord);
};

struct ScoreRecord {
  std::string plugin;
  std::int64_t score = 0, weight = 0;
  KOORD_STRUCT(ScoreRecord);
};

struct AttemptRecord {
  api::Time first, last;     // of attempts with this outcome in a row
  std::int64_t times = 0;    // how many
  std::int64_t attempt = 0;  // the number of the last
  std::string outcome;       // bind, waiting, unschedulable, error, gated, skipped
  std::string node, message, nominated;
  double seconds = 0;  // that the last took
  std::int64_t evaluated_nodes = 0, feasible_nodes = 0;
  std::string prefilter_message, postfilter_message;
  std::vector<RefusalRecord> refused;
  std::vector<ScoreRecord> scores;  // of the node
  std::vector<std::string> victims;
  KOORD_STRUCT(AttemptRecord);
};

struct AttemptsRecord {
  std::string pod;  // namespace/name, of a placeholder its name
  std::string uid, profile;
  std::vector<AttemptRecord> attempts;  // the oldest first
  KOORD_STRUCT(AttemptsRecord);
};

/// Of so many pods, those whose attempts are the latest; of each the last kPerPod different outcomes, with
/// texts as long as an event's note. Most pods are bound at once, with nothing to tell: they take some 300
/// bytes, and the records are made when they are asked for. The event loop's thread.
class AttemptLog {
 public:
  static constexpr std::size_t kPerPod = 4, kList = 16;
  explicit AttemptLog(std::size_t pods) : limit_(pods) {}

  void record(const Decision& decision, WallTime now);
  /// Of a placeholder by its name alone.
  std::optional<AttemptsRecord> of(std::string_view ns, std::string_view name) const;
  std::size_t size() const { return pods_.size(); }

 private:
  /// What few attempts have.
  struct Story {
    std::string message, nominated;
    std::string prefilter_message, postfilter_message;
    std::vector<RefusalRecord> refused;
    std::vector<std::string> victims;
    bool empty() const;
  };
  struct Score {
    Symbol plugin;
    std::int32_t weight = 0;
    std::int32_t score = 0;
  };
  struct Attempt {
    WallTime first, last;
    std::int64_t times = 0;
    Symbol node;
    nanoseconds took{};
    std::uint32_t number = 0;
    std::uint32_t evaluated_nodes = 0, feasible_nodes = 0;
    Decision::Kind outcome{};
    std::uint8_t scored = 0;          // so many `scores`
    std::unique_ptr<Score[]> scores;  // of the node; many that were bound have no other story
    std::unique_ptr<Story> story;     // nullptr: an empty one
  };
  struct Entry {
    std::string uid;
    Symbol profile;
    std::vector<Attempt> attempts;
    std::list<const std::string*>::iterator age;
  };
  static Attempt describe(const Decision& d);
  static AttemptRecord record_of(const Attempt& attempt);

  std::size_t limit_;
  std::map<std::string, Entry, std::less<>> pods_;
  std::list<const std::string*> by_age_;  // the longest unheard of first
};

}  // namespace koord::scheduling
