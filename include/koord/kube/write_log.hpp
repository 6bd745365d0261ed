// WriteLog: who is told of each write of a client, before it goes and after its answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/result.hpp"

namespace koord::net {
struct Request;
}

namespace koord::kube {

/// On whose behalf something is written, for people who ask later.
struct Initiator {
  std::string profile;  // of the configuration; empty: none in particular
  std::string plugin;   // or the controller that does it
  /// The objects that ask for it, the outermost first: "DrainNodeGroup/a", "DrainNode/a-n1".
  std::vector<std::string> wanted_by;
  std::string reason;
};
/// nullptr: it is not known.
using By = std::shared_ptr<const Initiator>;
inline By by(Initiator who) { return std::make_shared<const Initiator>(std::move(who)); }

/// Of one client: every request but GET and HEAD, whoever makes it. The event loop's thread.
class WriteLog {
 public:
  enum class Outcome : std::uint8_t {
    done,      // the server has carried it out
    refused,   // the server has answered with an error
    not_sent,  // it never went over the wire
    unknown,   // it went, and nobody knows what came of it
  };
  virtual ~WriteLog() = default;
  /// It has not been sent yet, and is not if this is an error. Returns what end() is told; 0: nothing is to
  /// be told. A task that is cut off in between is never heard of again.
  virtual Task<Result<std::uint64_t>> begin(const net::Request& request, const Initiator* by) = 0;
  /// `error` is nullptr where it is done.
  virtual void end(std::uint64_t number, Outcome outcome, const Error* error) = 0;
};

}  // namespace koord::kube
