// Asks: the requests of claims, checked and bound to a node's pools.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/plugins/dynamic_resources/allocate/allocate.hpp"

namespace koord::scheduling::dynamic_resources {

/// Why there is no answer but an error.
using Failure = std::optional<std::pair<Answer::Kind, std::string>>;

/// A request, or one of its subrequests.
struct Ask {
  const api::DeviceRequest* request = nullptr;
  const api::DeviceSubRequest* sub = nullptr;  // nullptr: `request` asks exactly
  const api::DeviceClass* device_class = nullptr;
  const api::List<api::DeviceSelector>* selectors = nullptr;
  const api::List<api::DeviceToleration>* tolerations = nullptr;
  const api::ResourceList* capacity = nullptr;  // nullptr: none is asked for
  bool admin = false;
  bool all = false;                        // every device that matches, and at least one
  std::int64_t count = 0;                  // of devices
  std::vector<std::uint32_t> all_devices;  // of NodePools::devices, if `all`
  std::uint64_t constraints = 0;           // which of the claim's apply, a bit each
  std::vector<std::uint8_t> matches;       // by device: 0 not asked yet, 1 no, 2 yes

  const Symbol& name() const { return sub != nullptr ? sub->name : request->name; }
  /// "NAME" or "NAME/SUBNAME".
  std::string full_name() const;
};

class Asks {
 public:
  struct Request {
    std::uint32_t first = 0, count = 0;  // of asks(): the subrequests, or the one
    bool prioritized = false;
  };
  struct Claim {
    const api::ResourceClaim* object = nullptr;
    std::vector<Request> requests;
  };

  explicit Asks(const Question& question) : question_(question) {}

  /// What is wrong with the claims, in the order in which kube-scheduler looks; before anything else is
  /// called.
  Failure bind();

  const std::vector<Claim>& claims() const { return claims_; }
  Ask& ask(std::uint32_t index) { return asks_[index]; }
  const Ask& ask(std::uint32_t index) const { return asks_[index]; }

  /// Whether the device matches the selectors and is for the node; what is found out is kept.
  bool matches(const api::ResourceClaim& claim, Ask& ask, std::uint32_t device, Failure& failure) const;

 private:
  Failure bind_claim(const api::ResourceClaim& claim);
  Failure bind_ask(const api::ResourceClaim& claim, Ask& ask);
  Failure bind_all(const api::ResourceClaim& claim, Ask& ask) const;
  /// The same of the selectors alone; `device_class` is whose they are, nullptr: the claim's.
  bool select(const api::ResourceClaim& claim, const api::DeviceClass* device_class,
              const api::List<api::DeviceSelector>& selectors, const NodePools::Device& device,
              Failure& failure) const;

  const Question& question_;
  std::vector<Claim> claims_;
  std::vector<Ask> asks_;
};

/// "NAMESPACE/NAME".
std::string name_of(const api::ResourceClaim& claim);

/// Whether others leave enough of the device's capacity; `others` besides the claims that have it.
bool capacity_suffices(const Ask& ask, const NodePools::Device& device, const Taken& taken,
                       const api::ResourceList* others);

}  // namespace koord::scheduling::dynamic_resources
