// ImageLocality: prefers nodes that have the pod's images already, the more so the more nodes have them.
#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace image_locality {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
/// Of the images' sizes, each times the share of nodes that have it: below the one a node gets nothing, above
/// the other for each container it gets all.
constexpr std::int64_t kLeast = 23 * kMiB, kMostEach = 1000 * kMiB;

/// As a container runtime names it.
Symbol full_name(std::string_view image) {
  const auto last = [&](char c) { return static_cast<std::ptrdiff_t>(image.rfind(c)); };  // none: -1
  if (last(':') > last('/')) return image;
  return std::string(image).append(":latest");
}

/// Which images are where.
class Census final : public ClusterObserver {
 public:
  struct Image {
    std::int64_t size = 0;      // as the first node said of those that have it
    std::size_t rows = 0;       // that have it
    std::uint64_t changed = 0;  // another number whenever the others change

    /// Which of the 64 rows from 64 * block on have it, a bit each.
    std::uint64_t rows_of(Row block) const {
      const auto it = blocks_.find(block);
      return it == blocks_.end() ? 0 : it->second;
    }
    bool has(Row row) const { return (rows_of(row / 64) >> (row % 64) & 1) != 0; }
    /// It had it not, or had it.
    void put(Row row, bool now) {
      std::uint64_t& block = blocks_[row / 64];
      block ^= std::uint64_t{1} << (row % 64);
      rows = now ? rows + 1 : rows - 1;
      if (block == 0) blocks_.erase(row / 64);
    }

   private:
    std::unordered_map<Row, std::uint64_t> blocks_;
  };

  /// nullptr: no node has it.
  const Image* find(const Symbol& name) const {
    const auto it = images_.find(name);
    return it == images_.end() ? nullptr : &it->second;
  }
  std::uint32_t nodes() const { return nodes_; }

  void pod_added(Row, const PodInfo&) override {}
  void pod_removed(Row, const PodInfo&) override {}
  void node_changed(Row row, const api::Node* before, const api::Node* now) override {
    nodes_ += (now != nullptr) - (before != nullptr);
    if (before != nullptr && now != nullptr && before->status.images == now->status.images) return;
    const Sizes old = sizes(before), present = sizes(now);
    for (const auto& [name, size] : old)
      if (!present.contains(name)) take_out(name, row);
    for (const auto& [name, size] : present) put(name, row, size);
  }

 private:
  using Sizes = std::unordered_map<Symbol, std::int64_t>;
  static Sizes sizes(const api::Node* node) {
    Sizes all;
    if (node == nullptr) return all;
    for (const api::ContainerImage& image : node->status.images)
      for (const Symbol& name : image.names) all.try_emplace(name, image.size_bytes);
    return all;
  }
  void put(const Symbol& name, Row row, std::int64_t size) {
    Image& image = images_[name];
    const bool there = image.has(row);
    const bool alone = image.rows == (there ? 1 : 0);
    if (there && (!alone || image.size == size)) return;
    if (alone) image.size = size;
    if (!there) image.put(row, true);
    image.changed = ++changes_;
  }
  void take_out(const Symbol& name, Row row) {
    const auto it = images_.find(name);
    it->second.put(row, false);
    it->second.changed = ++changes_;
    if (it->second.rows == 0) images_.erase(it);
  }

  std::unordered_map<Symbol, Image> images_;
  std::uint32_t nodes_ = 0;
  std::uint64_t changes_ = 0;
};

struct State final : PodState {
  std::vector<Symbol> images;  // of init containers and containers, with repetitions
};

template <class F>
void each_image(const api::Pod& pod, F&& f) {
  for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers})
    for (const api::Container& c : *list) f(c.image);
}

class ImageLocality final : public Plugin, public ScorePlugin {
 public:
  explicit ImageLocality(const PluginContext& context) { context.observe(census_); }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(
        static_cast<std::int64_t>(pod.pod->spec.init_containers.size() + pod.pod->spec.containers.size()));
    each_image(*pod.pod, [&](const Symbol& image) { signature.add(image.view()); });
    return true;
  }

  Depends score_depends() const override { return Depends::node; }
  Prepared prepare_score(const PodInfo& pod) override {
    auto state = std::make_unique<State>();
    each_image(*pod.pod, [&](const Symbol& image) { state->images.push_back(full_name(image)); });
    return {std::move(state), false};
  }
  /// On how many of the nodes its images are.
  std::uint64_t score_version(const PodState* state) const override {
    std::uint64_t version = 0;
    bool any = false;
    for (const Symbol& name : static_cast<const State*>(state)->images) {
      const Census::Image* image = census_.find(name);
      any = any || image != nullptr;
      version = version * 0x9e3779b97f4a7c15 + (image == nullptr ? 0 : image->changed);
    }
    return any ? version * 0x9e3779b97f4a7c15 + census_.nodes() : 0;
  }
  void score(PodState* state, const NodeTable&, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const std::vector<Symbol>& images = static_cast<State*>(state)->images;
    sums_.assign(rows.size(), 0);
    const std::int64_t most = kMostEach * static_cast<std::int64_t>(images.size());
    for (const Symbol& name : images) {
      const Census::Image* image = census_.find(name);
      if (image == nullptr || rows.empty()) continue;
      const double share = static_cast<double>(image->rows) / static_cast<double>(census_.nodes());
      const auto part = std::min(static_cast<std::int64_t>(static_cast<double>(image->size) * share), most);
      Row block = kNoRow;
      std::uint64_t there = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] / 64 != block) there = image->rows_of(block = rows[i] / 64);
        if ((there >> (rows[i] % 64) & 1) != 0) sums_[i] += part;
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t sum = sums_[i] < kLeast ? kLeast : std::min(sums_[i], most);
      out[i] = static_cast<std::int32_t>(100 * (sum - kLeast) / (most - kLeast));
    }
  }

 private:
  Census census_;
  mutable std::vector<std::int64_t> sums_;  // of score(), by row
};

}  // namespace
}  // namespace image_locality

extern const PluginEntry kImageLocality{.name = "ImageLocality",
                                        .make = &make<image_locality::ImageLocality>};

}  // namespace koord::scheduling
