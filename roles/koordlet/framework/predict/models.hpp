// PeakModels: what pods, classes of pods, the system and the node have used in the last days, each as two
// histograms, and what they are predicted to peak at.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/predict/histogram.hpp"
#include "framework/series/series.hpp"

namespace koord::koordlet {

/// What models other than pods' are called, in memory and as files: the original's names.
inline constexpr std::string_view kNodeModel = "__node__";
inline constexpr std::string_view kSystemModel = "__node-sys__";
std::string_view model_of(PriorityClass priority_class);
/// Whether it is one of them, or may have been of another version: no pod's.
bool is_node_model(std::string_view uid);

/// CPU from 25 thousandths of a CPU to 1024 CPUs, memory from 5 MiB to 2 TiB, 5% apart.
const Buckets& cpu_buckets();
const Buckets& memory_buckets();

/// An amount of CPU, in thousandths, and of memory, in bytes.
struct Amounts {
  std::int64_t cpu = 0, memory = 0;
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

struct PeakModel {
  DecayingHistogram cpu, memory;
  MonoTime updated;               // by a sample, or when it was restored
  std::optional<MonoTime> saved;  // nothing: never by this agent

  /// The 95th percentile of CPU and the 98th of memory, cut to whole units; nothing before any sample.
  std::optional<Amounts> peak() const;
};

/// 3.0 KiB a model. A name that was there needs no memory to be found, nor has a sample need of any.
class PeakModels {
 public:
  struct Limits {
    nanoseconds cpu_half_life = std::chrono::hours(12), memory_half_life = std::chrono::hours(24);
    nanoseconds expiration = std::chrono::minutes(30);  // of a model without a sample
    std::size_t most = 2'048;                           // 6 MiB
  };
  explicit PeakModels(Limits limits) : limits_(limits) {}

  /// One sample: CPUs and bytes. Where there are as many models as may be, a pod's new one takes the place of
  /// the pod's that has been without a sample for longest; false: all of them had one at this time.
  bool add(std::string_view uid, double cpu, double memory, MonoTime now, WallTime wall);
  /// A model that was saved, as if it had its last sample now. Code::invalid: it makes no sense, and is not
  /// there; Code::too_large: there are enough.
  Result<> restore(std::string_view uid, const SavedHistogram& cpu, const SavedHistogram& memory,
                   MonoTime now, WallTime wall);
  const PeakModel* find(std::string_view uid) const;
  std::size_t size() const { return models_.size(); }

  /// Ends what has had no sample for too long.
  void expire(MonoTime now);
  /// The names of those that ended since the last call.
  std::vector<std::string> take_ended() { return std::exchange(ended_, {}); }
  /// Up to `most` models that were never saved or `interval` ago, those first that wait for longest; they
  /// count as saved now. Valid until a model comes or goes.
  using Due = std::vector<std::pair<std::string_view, const PeakModel*>>;
  Due take_due(MonoTime now, nanoseconds interval, std::size_t most);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Map = std::unordered_map<std::string, PeakModel, Hash, std::equal_to<>>;
  PeakModel fresh(MonoTime now) const;
  bool make_room(MonoTime now);

  Limits limits_;
  Map models_;
  std::vector<std::string> ended_;
};

/// One round of samples: of each pod that runs, of each class of pods (nothing of a class that has none), of
/// the node and of what is in no pod. A sample is the 90th percentile of the last `window`; who was not
/// measured in it gets none. Gives how many pods found no room.
std::size_t train(PeakModels& models, const SeriesStore& series, const Inventory& inventory, MonoTime now,
                  WallTime wall, nanoseconds window);

}  // namespace koord::koordlet
