// PodSelectors: see pod_selectors.hpp.
#include "koord/scheduling/cluster/pod_selectors.hpp"

#include <algorithm>
#include <optional>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling {

namespace {

/// A selector that asks for more values or namespaces than this is looked up by less of it.
constexpr std::size_t kMostNamespaces = 8, kMostAnchors = 64;

void mix(std::size_t& seed, std::size_t hash) {
  seed ^= hash + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2);
}

/// Takes what stands at `place` out of a list whose elements know their places.
template <class T, class Moved>
void take_out(std::vector<T>& list, std::uint32_t place, Moved&& moved) {
  if (place + 1 != list.size()) {
    list[place] = list.back();
    moved(list[place]);
  }
  list.pop_back();
}

bool is_label(const api::SelectorRequirement& r) {
  return r.op == api::SelectorOp::equals || r.op == api::SelectorOp::in;
}

void write(std::string& key, std::string_view text) {
  const std::uint64_t size = text.size();
  key.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}
void write(std::string& key, const api::Selector& selector) {
  key.push_back(selector.is_nothing() ? '0' : '1');
  write(key, selector.to_string());
}

}  // namespace

void intrusive_ptr_add_ref(LabelSet* set) { ++set->users_; }
void intrusive_ptr_release(LabelSet* set) {
  if (--set->users_ == 0) set->owner_.release(*set);
}

void intrusive_ptr_add_ref(PodSelector* selector) { ++selector->users_; }
void intrusive_ptr_release(PodSelector* selector) {
  if (--selector->users_ == 0) selector->owner_.release(*selector);
}

// Where selectors and label sets look for one another

std::size_t PodSelector::AnchorHash::operator()(const Anchor& a) const {
  std::size_t hash = static_cast<std::size_t>(a.by) * 2 + a.any_namespace;
  for (const Symbol* part : {&a.namespace_, &a.key, &a.value}) mix(hash, part->hash());
  return hash;
}

/// All terms must hold, so one of them will do, and of it the requirement that the fewest pods meet: an equal
/// label, else a label that is there.
void PodSelector::find_anchors() {
  const auto of_term = [](const Term& term) {
    std::vector<Anchor> anchors;
    const bool none =
        term.labels.is_nothing() || (term.namespaces.empty() && term.of_namespaces.is_nothing());
    if (none) return anchors;
    if (term.of_namespaces.is_nothing() && term.namespaces.size() <= kMostNamespaces) {
      for (const Symbol& name : term.namespaces) anchors.push_back({Anchor::By::none, false, name, {}, {}});
    } else {
      anchors.push_back({Anchor::By::none, true, {}, {}, {}});
    }
    const api::SelectorRequirement* best = nullptr;
    for (const api::SelectorRequirement& r : term.labels.requirements()) {
      const bool negative = r.op == api::SelectorOp::not_equals || r.op == api::SelectorOp::not_in ||
                            r.op == api::SelectorOp::does_not_exist;
      if (negative) continue;
      const bool narrow = is_label(r) && r.values.size() * anchors.size() <= kMostAnchors;
      if (best == nullptr || (narrow && (!is_label(*best) || r.values.size() < best->values.size())))
        best = &r;
    }
    if (best == nullptr) return anchors;
    std::vector<Anchor> narrower;
    const bool by_label = is_label(*best) && best->values.size() * anchors.size() <= kMostAnchors;
    for (Anchor& a : anchors) {
      a.key = best->key;
      a.by = by_label ? Anchor::By::label : Anchor::By::key;
      if (!by_label) continue;
      for (const Symbol& value : best->values) {
        if (&value != best->values.data() && value == *(&value - 1)) continue;
        a.value = value;
        narrower.push_back(a);
      }
    }
    return by_label ? narrower : anchors;
  };
  const auto worth = [](const std::vector<Anchor>& anchors) {
    return anchors.empty() ? 3 : static_cast<int>(anchors.front().by);
  };
  for (const Term& term : terms_) {
    std::vector<Anchor> anchors = of_term(term);
    if (&term == terms_.data() || worth(anchors) > worth(anchors_)) anchors_ = std::move(anchors);
    if (anchors_.empty()) return;  // it selects nothing
  }
}

std::size_t PodSelectors::LabelHash::operator()(const Label& label) const {
  std::size_t hash = label.key.hash();
  mix(hash, label.value.hash());
  return hash;
}

std::size_t PodSelectors::SetHash::operator()(const SetKey& key) const {
  std::size_t hash = key.namespace_.hash();
  for (const auto& [name, value] : key.labels) mix(hash, LabelHash{}({name, value}));
  return hash;
}

/// Calls f with each selector that may select the set, once.
template <class F>
void PodSelectors::each_candidate(const LabelSet& set, F&& f) const {
  const auto at = [&](Anchor::By by, const Symbol& key, const Symbol& value) {
    for (const bool any : {false, true}) {
      const auto it = anchored_.find({by, any, any ? Symbol() : set.namespace_, key, value});
      if (it == anchored_.end()) continue;
      for (PodSelector* selector : it->second) f(*selector);
    }
  };
  if (anchored_.empty()) return;
  for (const auto& [key, value] : set.labels_) {
    if (!anchored_keys_.contains(key)) continue;
    at(Anchor::By::label, key, value);
    at(Anchor::By::key, key, {});
  }
  at(Anchor::By::none, {}, {});
}

/// Calls f with each label set that the selector may select, once.
template <class F>
void PodSelectors::each_candidate(const PodSelector& selector, F&& f) const {
  for (const Anchor& a : selector.anchors_) {
    const Sets* sets = nullptr;
    if (a.by == Anchor::By::label) {
      const auto it = sets_of_label_.find({a.key, a.value});
      if (it == sets_of_label_.end()) continue;
      sets = &it->second;
    }
    if (!a.any_namespace) {
      const auto it = sets_of_namespace_.find(a.namespace_);
      if (it == sets_of_namespace_.end()) continue;
      if (sets == nullptr || it->second.size() < sets->size()) sets = &it->second;
    }
    const auto each = [&](const Sets& all) {
      for (LabelSet* set : all) {
        if (!a.any_namespace && set->namespace_ != a.namespace_) continue;
        if (a.by != Anchor::By::none) {
          const Symbol* value = set->labels_.find(a.key.view());
          if (value == nullptr || (a.by == Anchor::By::label && *value != a.value)) continue;
        }
        f(*set);
      }
    };
    if (sets != nullptr) {
      each(*sets);
    } else {
      for (const auto& [name, all] : sets_of_namespace_) each(all);
    }
  }
}

// Label sets

const LabelSet& PodSelectors::label_set(const PodInfo& pod) {
  LabelSetRef& kept = pod.labels.set;
  if (kept) return *kept;
  const api::ObjectMeta& meta = pod.pod->metadata;
  auto it = sets_.find(SetKey{meta.namespace_, meta.labels});
  if (it == sets_.end()) {
    it = sets_.insert(std::unique_ptr<LabelSet>(new LabelSet(*this, meta.namespace_, meta.labels))).first;
    LabelSet& set = **it;
    list(set);
    set.version_ = ++versions_;
    each_candidate(set, [&](PodSelector& selector) {
      if (selects(selector, set)) connect(selector, set);
    });
  }
  kept = LabelSetRef(it->get());
  return *kept;
}

void PodSelectors::list(LabelSet& set) {
  const auto add = [&](Sets& sets) {
    sets.push_back(&set);
    return static_cast<std::uint32_t>(sets.size() - 1);
  };
  set.place_ = add(sets_of_namespace_[set.namespace_]);
  set.places_.reserve(set.labels_.size());
  for (const auto& [key, value] : set.labels_) set.places_.push_back(add(sets_of_label_[{key, value}]));
}

void PodSelectors::unlist(LabelSet& set) {
  const auto own = sets_of_namespace_.find(set.namespace_);
  take_out(own->second, set.place_, [&](LabelSet* moved) { moved->place_ = set.place_; });
  if (own->second.empty()) sets_of_namespace_.erase(own);
  for (std::size_t i = 0; i < set.places_.size(); ++i) {
    const auto& [key, value] = set.labels_.at_index(i);
    const auto it = sets_of_label_.find({key, value});
    take_out(it->second, set.places_[i], [&](LabelSet* moved) {
      std::size_t index = 0;
      while (moved->labels_.at_index(index).key != key) ++index;
      moved->places_[index] = set.places_[i];
    });
    if (it->second.empty()) sets_of_label_.erase(it);
  }
}

void PodSelectors::release(LabelSet& set) {
  while (!set.selected_.empty()) disconnect(*set.selected_.back().by, set);
  unlist(set);
  sets_.erase(sets_.find(SetKey{set.namespace_, set.labels_}));
}

// Selectors

Result<PodSelectorRef> PodSelectors::selector(std::span<const Term> terms) {
  auto made = std::unique_ptr<PodSelector>(new PodSelector(*this));
  std::vector<std::string> keys;
  for (const Term& term : terms) {
    PodSelector::Term& t = made->terms_.emplace_back();
    t.namespaces = term.namespaces;
    std::sort(t.namespaces.begin(), t.namespaces.end());
    t.namespaces.erase(std::unique(t.namespaces.begin(), t.namespaces.end()), t.namespaces.end());
    KOORD_TRY(labels, api::Selector::from(term.labels));
    KOORD_TRY(of_namespaces, api::Selector::from(term.namespace_selector));
    t.labels = std::move(labels);
    t.of_namespaces = std::move(of_namespaces);
    t.known_only = term.known_only && t.reads_namespaces();
    std::string& key = keys.emplace_back();
    write(key, t.labels);
    write(key, t.of_namespaces);
    key.push_back(t.known_only ? '1' : '0');
    for (const Symbol& name : t.namespaces) write(key, name.view());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::string all;
  for (const std::string& key : keys) write(all, key);
  auto [it, added] = selectors_.try_emplace(std::move(all), nullptr);
  if (!added) return PodSelectorRef(&*it->second);
  it->second = std::move(made);
  PodSelector& selector = *it->second;
  selector.key_ = &it->first;
  if (free_ids_.empty()) {
    selector.id_ = next_id_++;
  } else {
    selector.id_ = free_ids_.back();
    free_ids_.pop_back();
  }
  selector.find_anchors();
  for (const Anchor& a : selector.anchors_) {
    anchored_[a].push_back(&selector);
    if (a.by != Anchor::By::none) ++anchored_keys_[a.key];
  }
  if (std::any_of(selector.terms_.begin(), selector.terms_.end(),
                  [](const PodSelector::Term& t) { return t.reads_namespaces(); }))
    reading_namespaces_.push_back(&selector);
  each_candidate(selector, [&](LabelSet& set) {
    if (selects(selector, set)) connect(selector, set);
  });
  return PodSelectorRef(&selector);
}

void PodSelectors::release(PodSelector& selector) {
  while (!selector.sets_.empty()) disconnect(selector, *selector.sets_.back().set);
  for (const Anchor& a : selector.anchors_) {
    const auto it = anchored_.find(a);
    std::erase(it->second, &selector);
    if (it->second.empty()) anchored_.erase(it);
    if (a.by == Anchor::By::none) continue;
    const auto key = anchored_keys_.find(a.key);
    if (--key->second == 0) anchored_keys_.erase(key);
  }
  std::erase(reading_namespaces_, &selector);
  free_ids_.push_back(selector.id_);
  selectors_.erase(selectors_.find(*selector.key_));
}

/// nullptr: it is not known.
const api::SymbolMap* PodSelectors::namespace_labels(const Symbol& name) const {
  const auto it = namespaces_.find(name);
  return it == namespaces_.end() ? nullptr : &it->second;
}

bool PodSelectors::in_namespace(const PodSelector::Term& term, const Symbol& name,
                                const api::SymbolMap* labels) const {
  static const api::SymbolMap kNone;
  if (std::binary_search(term.namespaces.begin(), term.namespaces.end(), name)) return true;
  if (labels == nullptr && term.known_only) return term.of_namespaces.is_everything();
  return term.of_namespaces.matches(labels != nullptr ? *labels : kNone);
}

bool PodSelectors::selects(const PodSelector& selector, const Symbol& name_of_namespace,
                           const api::SymbolMap& labels) const {
  const api::SymbolMap* of_namespace = namespace_labels(name_of_namespace);
  return std::all_of(selector.terms_.begin(), selector.terms_.end(), [&](const PodSelector::Term& term) {
    return in_namespace(term, name_of_namespace, of_namespace) && term.labels.matches(labels);
  });
}

void PodSelectors::connect(PodSelector& selector, LabelSet& set) {
  const auto of_set = static_cast<std::uint32_t>(set.selected_.size());
  const auto of_selector = static_cast<std::uint32_t>(selector.sets_.size());
  set.selected_.push_back({&selector, of_selector});
  selector.sets_.push_back({&set, of_set});
  set.version_ = ++versions_;
}

void PodSelectors::disconnect(PodSelector& selector, LabelSet& set) {
  const auto found = std::find_if(set.selected_.rbegin(), set.selected_.rend(),
                                  [&](const LabelSet::Selected& s) { return s.by == &selector; });
  const auto of_set = static_cast<std::uint32_t>(set.selected_.rend() - found - 1);
  const std::uint32_t of_selector = found->place;
  take_out(set.selected_, of_set,
           [&](const LabelSet::Selected& moved) { moved.by->sets_[moved.place].place = of_set; });
  take_out(selector.sets_, of_selector,
           [&](const PodSelector::Selects& moved) { moved.set->selected_[moved.place].place = of_selector; });
  set.version_ = ++versions_;
}

// What changes

void PodSelectors::set_namespace(const Symbol& name, const api::SymbolMap* labels) {
  std::optional<api::SymbolMap> before, now;
  if (const api::SymbolMap* known = namespace_labels(name)) before = *known;
  if (labels != nullptr) now = *labels;
  if (before == now) return;
  if (now) {
    namespaces_[name] = *now;
  } else {
    namespaces_.erase(name);
  }
  const auto sets = sets_of_namespace_.find(name);
  if (sets == sets_of_namespace_.end()) return;
  for (PodSelector* selector : reading_namespaces_) {
    const bool same = std::none_of(selector->terms_.begin(), selector->terms_.end(), [&](const auto& term) {
      return in_namespace(term, name, before ? &*before : nullptr) !=
             in_namespace(term, name, now ? &*now : nullptr);
    });
    if (same) continue;
    for (LabelSet* set : sets->second) {
      const bool selected = std::any_of(set->selected_.begin(), set->selected_.end(),
                                        [&](const LabelSet::Selected& s) { return s.by == selector; });
      if (selected == selects(*selector, *set)) continue;
      if (selected) {
        disconnect(*selector, *set);
        tell(*selector, *set, -1);
      } else {
        connect(*selector, *set);
        tell(*selector, *set, 1);
      }
    }
  }
}

void PodSelectors::pod_added(Row row, const PodInfo& pod) {
  label_set(pod);
  LabelSet& set = *pod.labels.set;
  const bool terminating = pod.pod->metadata.deletion_timestamp.has_value();
  pod.labels.place = static_cast<std::uint32_t>(set.pods_.size());
  set.pods_.push_back({&pod, row, terminating});
  tell(set, row, {1, terminating});
}

void PodSelectors::pod_removed(Row row, const PodInfo& pod) {
  LabelSet& set = *pod.labels.set;
  const std::uint32_t place = pod.labels.place;
  const bool terminating = set.pods_[place].terminating;
  take_out(set.pods_, place, [&](const LabelSet::Placed& moved) { moved.pod->labels.place = place; });
  tell(set, row, {-1, -static_cast<std::int32_t>(terminating)});
}

void PodSelectors::tell(const LabelSet& set, Row row, PodCount by) {
  for (const LabelSet::Selected& selected : set.selected_)
    for (SelectionObserver* observer : selected.by->observers_)
      observer->selection_changed(*selected.by, row, by);
}

void PodSelectors::tell(const PodSelector& selector, const LabelSet& set, std::int32_t sign) {
  for (SelectionObserver* observer : selector.observers_)
    for (const LabelSet::Placed& placed : set.pods_)
      observer->selection_changed(selector, placed.row, {sign, sign * placed.terminating});
}

}  // namespace koord::scheduling
