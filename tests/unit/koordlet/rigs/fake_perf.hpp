// FakePerf: the processor's counters of cgroups, which count what a test says.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "koord/host/perf.hpp"

namespace koord::koordlet::testing {

/// Counters as a test says, by the last name of the group's folder.
class FakePerf final : public host::PerfEvents {
 public:
  struct State {
    std::map<std::string, host::PerfCounts> counts;
    std::map<std::string, Code> refused, unreadable;
    std::multiset<std::string> open;
    std::vector<std::string> opened;  // in their order
    std::size_t most = 0, cpus = 0;
  };
  explicit FakePerf(std::shared_ptr<State> state) : state_(std::move(state)) {}

  Result<std::unique_ptr<host::PerfCounter>> count(const std::string& folder,
                                                   std::span<const int> cpus) override {
    std::string name = folder;
    while (name.ends_with('/')) name.pop_back();
    name = name.substr(name.rfind('/') + 1);
    if (const auto no = state_->refused.find(name); no != state_->refused.end())
      return Error(no->second, name);
    state_->cpus = cpus.size();
    return std::unique_ptr<host::PerfCounter>(std::make_unique<One>(state_, name));
  }

 private:
  class One final : public host::PerfCounter {
   public:
    One(std::shared_ptr<State> state, std::string name) : state_(std::move(state)), name_(std::move(name)) {
      state_->open.insert(name_);
      state_->opened.push_back(name_);
      state_->most = std::max(state_->most, state_->open.size());
    }
    ~One() override { state_->open.erase(state_->open.find(name_)); }
    Result<host::PerfCounts> read() override {
      if (const auto no = state_->unreadable.find(name_); no != state_->unreadable.end())
        return Error(no->second, name_);
      return state_->counts[name_];
    }

   private:
    std::shared_ptr<State> state_;
    std::string name_;
  };
  std::shared_ptr<State> state_;
};

}  // namespace koord::koordlet::testing
