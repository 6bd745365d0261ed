// The table behind Symbol: shards of a hash set, each under its own mutex.
#include "koord/base/symbol.hpp"

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>

namespace koord {

struct SymbolTable {
  using Entry = Symbol::Entry;
  struct Key {
    std::string_view text;
    std::size_t hash;
  };
  struct Hash {
    using is_transparent = void;
    using is_avalanching = void;  // std::hash of a text needs no further mixing
    std::size_t operator()(const Entry* e) const { return e->hash; }
    std::size_t operator()(const Key& k) const { return k.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Entry* a, const Entry* b) const { return a == b; }
    bool operator()(const Key& k, const Entry* e) const {
      return k.hash == e->hash && k.text == std::string_view(e->text(), e->size);
    }
    bool operator()(const Entry* e, const Key& k) const { return (*this)(k, e); }
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    boost::unordered_flat_set<Entry*, Hash, Equal> entries;  // no node an entry: there are many
  };

  static constexpr std::size_t kShards = 32;
  std::array<Shard, kShards> shards;

  // Not by the highest bits nor the lowest eight: the sets place by those.
  Shard& shard(std::size_t hash) { return shards[(hash >> 8) % kShards]; }

  /// Never destroyed: Symbols with static storage may outlive any order of destruction.
  static SymbolTable& instance() {
    static auto* table = new SymbolTable;
    return *table;
  }
};

Symbol::Entry* Symbol::intern(std::string_view text) {
  if (text.size() > UINT32_MAX) throw std::length_error("Symbol: the text is too long");
  const std::size_t hash = std::hash<std::string_view>{}(text);
  SymbolTable::Shard& shard = SymbolTable::instance().shard(hash);
  const std::lock_guard lock(shard.mutex);
  const auto it = shard.entries.find(SymbolTable::Key{text, hash});
  if (it != shard.entries.end()) {
    (*it)->refs.fetch_add(1, std::memory_order_relaxed);
    return *it;
  }
  void* memory = ::operator new(sizeof(Entry) + text.size());
  auto* entry = new (memory) Entry{1, static_cast<std::uint32_t>(text.size()), hash};
  std::memcpy(entry + 1, text.data(), text.size());
  try {
    shard.entries.insert(entry);
  } catch (...) {
    ::operator delete(memory);
    throw;
  }
  return entry;
}

void Symbol::release(Entry* entry) noexcept {
  // Only a holder of the shard's mutex may take the last reference away; otherwise two threads could
  // both find zero after a third one had revived the entry in between.
  std::uint32_t refs = entry->refs.load(std::memory_order_relaxed);
  while (refs > 1) {
    if (entry->refs.compare_exchange_weak(refs, refs - 1, std::memory_order_acq_rel)) return;
  }
  SymbolTable::Shard& shard = SymbolTable::instance().shard(entry->hash);
  const std::lock_guard lock(shard.mutex);
  if (entry->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  shard.entries.erase(entry);
  entry->~Entry();
  ::operator delete(entry);
}

std::size_t Symbol::live() {
  std::size_t n = 0;
  for (auto& shard : SymbolTable::instance().shards) {
    const std::lock_guard lock(shard.mutex);
    n += shard.entries.size();
  }
  return n;
}

}  // namespace koord
