// The collector of the node's storage: disks, partitions and logical volumes from /sys/block, volumes of pods
// from the host's mount table. No program is run.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "framework/sampler/collector.hpp"
#include "framework/tick/local_storage.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {

namespace {

/// Whether partitions and mounts are still the same is looked at so often, and at once when pods come or go.
constexpr nanoseconds kPeriod = std::chrono::seconds(10);
/// What neither of these tells: other names of logical volumes, or other disks below them.
constexpr nanoseconds kWhole = std::chrono::minutes(5);
constexpr std::size_t kMaxTable = std::size_t{16} << 20;
constexpr std::string_view kDisks = "block devices", kMounts = "mountinfo";

constexpr metrics::Metric kStatus{.name = "koordlet_collect_node_local_storage_info_status",
                                  .help = "Readings of what the node's local storage is",
                                  .labels = {"status"}};
constexpr metrics::Table kShown = {&kStatus};

class StorageCollector final : public Collector {
 public:
  explicit StorageCollector(const CollectorContext& context)
      : context_(context),
        succeeded_(context.metrics.counters(kStatus).with({"succeeded"})),
        failed_(context.metrics.counters(kStatus).with({"failed"})),
        mounts_(fmt::format("{}1/mountinfo", context.root.proc)),
        partitions_(fmt::format("{}partitions", context.root.proc)) {}

  void follow(const Inventory&) override { due_ = {}; }
  void sample(const TickView& view) override {
    if (view.at < due_) return;
    due_ = view.at + kPeriod;
    std::string_view table;
    const std::size_t partitions = look(partitions_, table), mounts = look(mounts_, table);
    if (view.at < whole_due_ && partitions == partitions_seen_ && mounts == mounts_seen_) return;
    auto devices = host::BlockDevices::read(context_.root);
    if (!devices && devices.error().code() == Code::not_found) devices = host::BlockDevices();
    (devices ? succeeded_ : failed_).inc();
    if (!devices) {
      context_.faults.garbled(kDisks, "", devices.error());
      return;
    }
    partitions_seen_ = partitions;
    mounts_seen_ = mounts;
    whole_due_ = view.at + kWhole;
    auto volumes = host::volume_mounts(table);
    if (storage_.version > 0 && *devices == storage_.devices && volumes == storage_.volumes) return;
    storage_.devices = std::move(*devices);
    storage_.volumes = std::move(volumes);
    ++storage_.version;
  }
  void show(TickView& view) const override {
    if (storage_.version > 0) view.slots.show(&storage_, view.at);
  }

 private:
  /// What stands for the text, which is valid until the next look; 0: there is none. Such files come a page
  /// at a time, which the context's reader takes for the whole.
  std::size_t look(host::HeldFile& file, std::string_view& text) {
    text = {};
    if (!host::exists(file.path())) return 0;
    auto read = file.read(buffer_);
    if (!read && read.error().code() != Code::not_found) context_.faults.garbled(kMounts, "", read.error());
    if (read) text = *read;
    return text.empty() ? 0 : std::hash<std::string_view>{}(text) | 1;
  }

  const CollectorContext& context_;
  metrics::Counter succeeded_, failed_;
  host::ReadBuffer buffer_{kMaxTable};
  host::HeldFile mounts_, partitions_;
  std::size_t mounts_seen_ = 0, partitions_seen_ = 0;
  MonoTime due_{}, whole_due_{};
  LocalStorage storage_;
};

}  // namespace

extern const CollectorEntry kStorage;
const CollectorEntry kStorage{.name = "storage",
                              .gate = "BlkIOReconcile",
                              .metrics = kShown,
                              .make = &make_collector<StorageCollector>};

}  // namespace koord::koordlet
