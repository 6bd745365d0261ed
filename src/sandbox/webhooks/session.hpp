// Session: the reviews of one request, from its first run to its last.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sandbox/webhooks/hooks.hpp"

namespace koord::sandbox {

/// One thread. A request is run, what it asks for is in pending(), decide() each, begin_run(), and so on
/// until nothing is pending.
class Session final : public Gate {
 public:
  Session(Hooks& hooks, const Registry& registry) : hooks_(hooks), registry_(registry) {}

  Outcome<void> pass(Stage stage, Attempt& attempt) override;
  bool waiting() const override { return !pending_.empty(); }
  bool first_run() const override { return runs_ == 0; }

  /// What mutating webhooks have been asked about one attempt, for those who want to be asked again.
  struct Memory {
    std::string output;                  // the object after the last one
    std::set<std::string> asked, again;  // uids: of those who may be asked again, of those who have to
    void someone_changed_it() { again.merge(std::exchange(asked, {})); }
  };
  struct Question {
    std::string key;
    Stage stage = Stage::mutate;
    Subject subject;
  };
  struct Decision {
    std::optional<Failure> refusal;
    std::optional<std::string> object;  // JSON, if it has changed
  };

  /// Those that came up in the last run; the run is over.
  std::vector<Question> take_pending();
  void decide(const std::string& key, Decision decision) { decisions_[key] = std::move(decision); }
  Memory& memory(const Question& question) { return memories_[question.key.substr(1)]; }
  Hooks& hooks() const { return hooks_; }
  const Registry& registry() const { return registry_; }

  /// For the answer's Warning headers: each once.
  void warn(const std::vector<std::string>& texts);
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// All but the objects.
  Subject describe(const Attempt& attempt) const;
  /// Whether anybody may want to be asked, and whether somebody does.
  bool someone_may_ask(Stage stage, const Subject& subject) const;
  bool someone_asks(Stage stage, const std::string& key, const Subject& subject);
  const std::vector<HookPtr>& list(Stage stage) const;

  Hooks& hooks_;
  const Registry& registry_;
  std::map<std::string, Decision> decisions_;  // keys begin with the stage's digit
  std::map<std::string, Memory> memories_;
  std::vector<Question> pending_;
  std::vector<std::string> warnings_;
  int runs_ = 0;
};

}  // namespace koord::sandbox
