// FreeVolumes: the volumes of a storage class that nobody has, found by where they can be used.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "scheduling/volumes/node_condition.hpp"

namespace koord::scheduling::volume_binding {

/// Volumes of one shape suit the same claims: they are as large, and have the same modes, labels and class of
/// attributes. Small numbers, which are used again.
using ShapeId = std::uint32_t;

/// A volume, as it is assumed to be.
struct KnownVolume {
  std::shared_ptr<const api::PersistentVolume> object;
  api::Quantity capacity;
  volumes::NodeCondition where;
  /// Of a volume whose plugin has moved to a CSI driver: where it can be used on nodes that know that.
  unsigned migrated = 0;  // as in MigratedNodes
  volumes::NodeCondition migrated_where;

  // FreeVolumes': the part of `where` by whose values it is found (nullptr: it is looked at on all rows).
  const volumes::NodeCondition::In* found_by = nullptr;
  ShapeId shape = 0;
};

/// Whether a claim that fits both takes `a`: by capacity, then by name.
bool smaller(const KnownVolume& a, const KnownVolume& b);

/// One for each storage class. A row's volumes are found without a look at other rows' (thousands of local
/// ones cost a row what is on its node), and most are told from those that do not suit without a look at
/// them. Belongs to the engine's thread.
class FreeVolumes {
 public:
  struct Entry {
    const KnownVolume* volume = nullptr;
    ShapeId shape = 0;
    bool sure = false;  // can be used on all rows that it is found by
  };
  struct Smaller {
    bool operator()(const Entry& a, const Entry& b) const { return smaller(*a.volume, *b.volume); }
  };
  /// Volumes come and go in an order that others choose, so none moves for another.
  using List = std::set<Entry, Smaller>;

  /// The volume stays as it is until it is taken out.
  void insert(KnownVolume& volume);
  void erase(KnownVolume& volume);
  bool empty() const { return size_ == 0; }
  /// All shapes' numbers are below.
  ShapeId shape_limit() const { return static_cast<ShapeId>(shapes_.size()); }
  /// Adds the lists that together have all volumes that can be used on the row, and few others. They hold
  /// until the next change.
  void of_row(Row row, std::vector<const List*>& lists) const;

 private:
  /// Those that are found by one label.
  class Values final : TopologyKey::Observer {
   public:
    explicit Values(TopologyRef key) : key_(std::move(key)) { key_->observe(*this); }
    ~Values() override { key_->forget(*this); }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;
    bool empty() const { return lists_.empty(); }
    template <class Use>
    void each_list(const KnownVolume& volume, Use&& use);
    const List* of(Row row) const;

   private:
    void domain_changed(const TopologyKey& key, Row row, DomainId from, DomainId to) override;
    void place(const Symbol& value, const List* list);

    TopologyRef key_;
    std::unordered_map<Symbol, List> lists_;
    std::vector<const List*> by_domain_;  // of the values that nodes have
  };
  struct Shape {
    std::string text;
    std::size_t volumes = 0;
  };
  template <class Use>
  void each_list(const KnownVolume& volume, Use&& use);
  ShapeId shape_of(const KnownVolume& volume);
  void release(ShapeId shape);

  std::unordered_map<const TopologyKey*, Values> values_;  // of the labels that volumes are found by
  List rest_;
  std::size_t size_ = 0;
  std::vector<Shape> shapes_;
  std::vector<ShapeId> free_shapes_;
  std::unordered_map<std::string, ShapeId> shape_ids_;
};

}  // namespace koord::scheduling::volume_binding
