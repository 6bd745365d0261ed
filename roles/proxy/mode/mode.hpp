// Mode: one way of standing between a kubelet and its container runtime; and what every way is given.
#pragma once

#include <memory>

#include "hooks/dispatcher.hpp"
#include "koord/async/task.hpp"
#include "koord/runtime/role.hpp"
#include "options/flags.hpp"

namespace koord::proxy {

/// All of it outlives the mode.
struct ModeParts {
  runtime::RoleContext& context;
  const Options& options;
  Dispatcher& hooks;
  rpc::Engine& engine;
};

class Mode {
 public:
  virtual ~Mode() = default;
  /// Opens the socket and serves it until it is cancelled; the back end may come later, and go.
  virtual Task<Result<>> run() = 0;
  /// Whether the back end answered when it was asked last; for /readyz.
  virtual Result<> backend() const = 0;
};

}  // namespace koord::proxy
