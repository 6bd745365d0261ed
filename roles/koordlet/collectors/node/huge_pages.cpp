// The collector of huge pages: what of those that the node and its memory nodes have is in use.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/sampler/collector.hpp"
#include "framework/tick/huge_use.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kFile = "huge pages";

class HugePagesCollector final : public Collector {
 public:
  explicit HugePagesCollector(const CollectorContext& context) : context_(context) {}

  void sample(const TickView& view) override {
    good_ = false;
    if (!view.facts) return;
    if (view.facts != facts_) follow_facts(view.facts);
    use_.node = {};
    for (std::size_t i = 0; i < all_.size(); i += 2) {
      HugePages used;
      if (!read(i, kTwoMib, used.two_mib) || !read(i + 1, kOneGib, used.one_gib)) return;
      use_.node.two_mib += used.two_mib;
      use_.node.one_gib += used.one_gib;
      if (i / 2 < use_.numa.size()) use_.numa[i / 2].used = used;
    }
    good_ = true;
    read_at_ = view.at;
  }
  void show(TickView& view) const override { view.slots.show(good_ ? &use_ : nullptr, read_at_); }

 private:
  static constexpr std::uint64_t kTwoMib = 2ULL << 20, kOneGib = 1ULL << 30;

  void follow_facts(const std::shared_ptr<const NodeFacts>& facts) {
    facts_ = facts;
    all_ = huge_page_files(context_.root, facts->numa_memory);
    free_ = huge_page_files(context_.root, facts->numa_memory, "free_hugepages");
    use_.numa.clear();
    for (const NumaMemory& node : facts->numa_memory) use_.numa.push_back({.id = node.id});
  }
  /// The bytes in use of the size of the i-th files; of one that the kernel does not have none. False where
  /// that cannot be known.
  bool read(std::size_t i, std::uint64_t size, std::uint64_t& used) {
    std::uint64_t all = 0, free = 0;
    if (const Outcome outcome = read_pages(all_[i], all); outcome != Outcome::good)
      return outcome == Outcome::absent;
    if (all > 0 && read_pages(free_[i], free) != Outcome::good) return false;
    used = (all - std::min(all, free)) * size;  // a page may have come between the two readings
    return true;
  }
  Outcome read_pages(const std::string& path, std::uint64_t& pages) {
    std::string_view text;
    Fd once;
    const Outcome outcome = context_.reader.read(once, path, text);
    context_.reader.released(once);
    if (outcome == Outcome::failed) context_.faults.failed(kFile, "", context_.reader.last_errno());
    if (outcome != Outcome::good) return outcome;
    auto parsed = parse_huge_pages(text);
    if (!parsed) {
      context_.faults.garbled(kFile, "", std::move(parsed).error().context(path));
      return Outcome::failed;
    }
    pages = *parsed;
    return Outcome::good;
  }

  const CollectorContext& context_;
  std::shared_ptr<const NodeFacts> facts_;
  std::vector<std::string> all_, free_;  // of both sizes of each memory node
  HugeUse use_;
  bool good_ = false;
  MonoTime read_at_{};
};

}  // namespace

extern const CollectorEntry kHugePages;
const CollectorEntry kHugePages{.name = "huge_pages",
                                .gate = "HugePageReport",
                                .period = std::chrono::seconds(10),
                                .make = &make_collector<HugePagesCollector>};

}  // namespace koord::koordlet
