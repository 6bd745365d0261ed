// RequestMix: which requests the pods that come make, and how often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace koord::scheduling::device_share {

/// What a pod asks for where GPUs are packed.
struct PackedRequest {
  std::int64_t cpu = 0;     // milli
  std::int64_t memory = 0;  // bytes
  std::int32_t gpus = 0;    // 0: it asks for none
  std::int32_t share = 0;   // per mille of each of them

  friend bool operator==(const PackedRequest&, const PackedRequest&) = default;
};

/// Learned from pods as they come: one that came so many pods ago as `half_life` weighs half of one that
/// comes now. Follows from the pods and their order alone, not from time. Belongs to one thread.
class RequestMix {
 public:
  struct Entry {
    PackedRequest request;
    double weight = 0;  // of all entries 1 in all
  };

  /// What is computed by the entries is computed anew when they change: drift by less is not worth that.
  static constexpr double kUsualTolerance = 0.1;

  /// `half_life` at least 1. Of more than `most` different requests the rarest are forgotten. `tolerance`:
  /// the sum of what the weights differ by, 0 to 2, up to which the entries stay as they are.
  explicit RequestMix(std::size_t half_life, std::size_t most = 512, double tolerance = 0);

  /// A pod comes. The entries change from time to time only, as what is computed by them is to be computed
  /// again then: when so many have come as are an eighth of the half life, or as had come before. True: they
  /// did.
  bool observe(const PackedRequest& request);

  /// As of the last change; in the order in which the requests came first.
  std::span<const Entry> entries() const { return entries_; }
  /// All that is observed counts now, unless that is within the tolerance. True: it does.
  bool settle();

 private:
  struct Counted {
    PackedRequest request;
    double count = 0;  // in units of one pod that comes now, times scale_
  };

  double difference(std::span<const Entry> to) const;

  double decay_;  // a pod
  std::size_t settle_every_, most_, since_ = 0, settled_ = 0;
  double tolerance_;
  double scale_ = 1;
  std::vector<Counted> counted_;
  std::vector<Entry> entries_;
};

}  // namespace koord::scheduling::device_share
