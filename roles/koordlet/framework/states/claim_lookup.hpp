// ClaimLookup: which PersistentVolumes claims of this node's pods have, one question to the API server a
// claim. A watch of all claims of the cluster, as the original has it on each node, would cost every node all
// of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "framework/model/claim_volumes.hpp"
#include "framework/model/inventory.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"

namespace koord::kube {
class Client;
}

namespace koord::koordlet {

/// What is to be asked when; without a network. A claim that has a volume keeps it for ever: it is asked for
/// until then, every half minute, and forgotten with the last pod that names it.
class ClaimBook {
 public:
  void want(ClaimKeys wanted);
  /// Null: nothing is due.
  const ClaimKeys::value_type* due(MonoTime now) const;
  /// `volume`: empty: it has none, or nobody says.
  void note(const ClaimKeys::value_type& claim, std::string volume, MonoTime now);
  const ClaimVolumes& known() const { return known_; }

 private:
  ClaimKeys wanted_;
  ClaimVolumes known_;
  std::map<ClaimKeys::value_type, MonoTime> again_;
};

/// On the event loop's thread.
class ClaimLookup {
 public:
  struct Parts {
    Clock& clock;
    Logger& log;
    kube::Client& client;
    InventoryHub& hub;
  };
  using Wanted = std::function<ClaimKeys(const Inventory&)>;
  using Publish = std::function<void(std::shared_ptr<const ClaimVolumes>)>;
  ClaimLookup(Parts parts, Wanted wanted, Publish publish);
  /// Until it is cancelled.
  Task<Result<>> run();

 private:
  Task<Result<>> ask();
  const ClaimKeys::value_type* next();
  void publish();

  Parts parts_;
  Wanted wanted_;
  Publish publish_;
  ClaimBook book_;
  std::map<ClaimKeys::value_type, std::string> told_;  // what was wrong, of each that was asked for
  Event changed_;
};

}  // namespace koord::koordlet
