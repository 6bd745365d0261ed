// Terms of pod affinity and their counts: see terms.hpp.
#include "scheduling/plugins/inter_pod_affinity/terms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/rules/error_texts.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::inter_pod_affinity {

namespace {

void sign(const api::LabelSelector* selector, Signature& out) {
  if (selector == nullptr) return out.add(-1);
  out.add(static_cast<std::int64_t>(selector->match_labels.size()));
  for (const auto& [key, value] : selector->match_labels) {
    out.add(key.view());
    out.add(value.view());
  }
  out.add(static_cast<std::int64_t>(selector->match_expressions.size()));
  for (const api::LabelSelectorRequirement& r : selector->match_expressions) {
    out.add(r.key.view());
    out.add(r.operator_.view());
    out.add(static_cast<std::int64_t>(r.values.size()));
    for (const Symbol& value : r.values) out.add(value.view());
  }
}

/// Which labels are to match is in the selectors: the API server has merged matchLabelKeys and
/// mismatchLabelKeys into them.
void sign(const api::PodAffinityTerm& term, Signature& out) {
  out.add(term.topology_key.view());
  out.add(static_cast<std::int64_t>(term.namespaces.size()));
  for (const Symbol& name : term.namespaces) out.add(name.view());
  sign(term.label_selector.get(), out);
  sign(term.namespace_selector.get(), out);
}

void sign(const api::PodAffinity* affinity, Signature& out) {
  out.add(affinity == nullptr ? 0 : static_cast<std::int64_t>(affinity->required.size()));
  out.add(affinity == nullptr ? 0 : static_cast<std::int64_t>(affinity->preferred.size()));
  if (affinity == nullptr) return;
  for (const api::PodAffinityTerm& term : affinity->required) sign(term, out);
  for (const api::WeightedPodAffinityTerm& term : affinity->preferred) {
    out.add(term.weight);
    sign(term.pod_affinity_term, out);
  }
}

bool has_terms(const api::PodAffinity* affinity) {
  return affinity != nullptr && !(affinity->required.empty() && affinity->preferred.empty());
}

/// Without a word about namespaces a term means the pod's own. kube-scheduler looks for namespaces among
/// those that it knows when it places the pod, and at the labels of the others' when it places others.
PodSelectors::Term selector_of(const api::PodAffinityTerm& term, const Symbol& own_namespace,
                               bool carried = false) {
  PodSelectors::Term out{{}, term.namespace_selector.get(), term.label_selector.get(), !carried};
  out.namespaces.assign(term.namespaces.begin(), term.namespaces.end());
  if (term.namespaces.empty() && !term.namespace_selector) out.namespaces.push_back(own_namespace);
  return out;
}

/// Each Counted once, in the order in which they were made.
void merge(std::vector<AffinityTerms::Part>& parts) {
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.counted->serial < b.counted->serial; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (kept > 0 && &*parts[kept - 1].counted == &*parts[i].counted) {
      parts[kept - 1].amount += parts[i].amount;
    } else if (kept++ != i) {
      parts[kept - 1] = std::move(parts[i]);
    }
  }
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(kept), parts.end());
}

}  // namespace

CountedRef::~CountedRef() {
  if (counted_ != nullptr && --counted_->users == 0) table_->release(*counted_);
}

AffinityTerms::~AffinityTerms() { table_.release(*this); }

const AffinityTerms::Wanted& AffinityTerms::wanted() const {
  if (wanted_) return *wanted_;
  wanted_ = std::make_unique<Wanted>();
  for (const Term& t : affinity_) table_.add(wanted_->affinity, all_, t.key, Counts::selected, 1);
  for (const Term& t : anti_affinity_)
    table_.add(wanted_->anti_affinity, t.selector, t.key, Counts::selected, 1);
  for (const Term& t : preferred_)
    table_.add(wanted_->preferred, t.selector, t.key, Counts::selected, t.weight);
  for (auto* parts : {&wanted_->affinity, &wanted_->anti_affinity, &wanted_->preferred}) merge(*parts);
  return *wanted_;
}

TermTable::TermTable(const PluginContext& context)
    : nodes_(context.nodes), topology_(context.topology), selectors_(context.selectors) {
  context.observe(*this);
  context.objects.watch<api::Namespace>().on_change(
      [this](const api::Namespace* before, const api::Namespace* now) {
        const api::ObjectMeta& meta = now != nullptr ? now->metadata : before->metadata;
        selectors_.set_namespace(Symbol(meta.name), now != nullptr ? &meta.labels : nullptr);
      });
}

TermTable::~TermTable() = default;

// Terms

std::shared_ptr<const AffinityTerms> TermTable::of(const PodInfo& pod) {
  const api::Box<api::Affinity>& affinity = pod.pod->spec.affinity;
  if (!affinity) return nullptr;
  if (!has_terms(affinity->pod_affinity.get()) && !has_terms(affinity->pod_anti_affinity.get()))
    return nullptr;
  std::shared_ptr<const AffinityTerms> terms = pod.read.share<const AffinityTerms>();
  if (terms == nullptr) pod.read.put(terms = read(*pod.pod));
  return terms;
}

std::shared_ptr<const AffinityTerms> TermTable::read(const api::Pod& pod) {
  const api::PodAffinity* affinity = pod.spec.affinity->pod_affinity.get();
  const api::PodAffinity* anti_affinity = pod.spec.affinity->pod_anti_affinity.get();
  const Symbol& own_namespace = pod.metadata.namespace_;
  Signature signature;
  signature.add(own_namespace.view());
  sign(affinity, signature);
  sign(anti_affinity, signature);
  const auto [it, added] = terms_.try_emplace(signature.bytes());
  if (!added)
    if (auto known = it->second.lock()) return known;
  auto terms = std::make_shared<AffinityTerms>(*this);
  it->second = terms;
  terms->signature_ = &it->first;
  terms->serial_ = ++serials_;

  api::ErrorTexts errors;
  const auto take = [&](std::vector<Term>& list, const api::PodAffinityTerm& term, std::int32_t weight,
                        std::string_view name) {
    const PodSelectors::Term asked = selector_of(term, own_namespace);
    auto selector = selectors_.selector({&asked, 1});
    if (!selector) {
      errors.add([&] { return fmt::format("{}: {}", name, selector.error().message()); });
      return false;
    }
    const PodSelectors::Term by_others = selector_of(term, own_namespace, true);
    PodSelectorRef carried =
        term.namespace_selector ? selectors_.selector({&by_others, 1}).value() : *selector;
    list.push_back({std::move(*selector), std::move(carried), term.topology_key, weight});
    return true;
  };
  const auto required = [&](const api::PodAffinity* from, std::vector<Term>& list, std::string_view name) {
    if (from == nullptr) return;
    for (const api::PodAffinityTerm& term : from->required)
      if (!take(list, term, 1, name)) return list.clear();
  };
  const auto preferred = [&](const api::PodAffinity* from, std::int32_t sign, std::string_view name) {
    if (from == nullptr) return;
    std::vector<Term> list;
    for (const api::WeightedPodAffinityTerm& term : from->preferred)
      if (!take(list, term.pod_affinity_term, sign * term.weight, name)) return;
    terms->preferred_.insert(terms->preferred_.end(), list.begin(), list.end());
  };
  required(affinity, terms->affinity_, "requiredAffinityTerms");
  required(anti_affinity, terms->anti_affinity_, "requiredAntiAffinityTerms");
  preferred(affinity, 1, "preferredAffinityTerms");
  preferred(anti_affinity, -1, "preferredAntiAffinityTerms");
  if (!errors.empty()) terms->error_ = errors.aggregate();

  if (!terms->affinity_.empty()) {
    std::vector<PodSelectors::Term> all;
    for (const api::PodAffinityTerm& term : affinity->required)
      all.push_back(selector_of(term, own_namespace));
    terms->all_ = selectors_.selector(all).value();
  }
  for (const Term& t : terms->anti_affinity_) add(terms->carried_, t.carried, t.key, Counts::repelling, 1);
  for (const Term& t : terms->affinity_) add(terms->carried_, t.carried, t.key, Counts::attracting, 1);
  for (const Term& t : terms->preferred_) add(terms->carried_, t.carried, t.key, Counts::liking, t.weight);
  merge(terms->carried_);
  return terms;
}

void TermTable::release(const AffinityTerms& terms) { terms_.erase(terms_.find(*terms.signature_)); }

// Counts

void TermTable::add(std::vector<Part>& parts, const PodSelectorRef& selector, const Symbol& key, Counts of,
                    std::int64_t amount) {
  parts.push_back({hold(find(selector, key, of)), amount});
}

Counted& TermTable::find(const PodSelectorRef& selector, const Symbol& key, Counts of) {
  const std::uint32_t id = selector->id();
  if (by_selector_.size() <= id) by_selector_.resize(id + 1);
  const auto [it, added] = by_name_.try_emplace({id, of, key}, nullptr);
  if (!added) return *it->second;
  OfSelector& mine = by_selector_[id];
  auto made = std::make_unique<Counted>(Counted{selector, topology_.key(key), of, {}, ++serials_});
  made->place = static_cast<std::uint32_t>(mine.all.size());
  if (observed_keys_[key]++ == 0) made->key->observe(*this);
  if (of == Counts::selected) {
    if (mine.selected++ == 0) selector->observe(*this);
    selector->each_row([&](Row row, PodCount n) { made->counts.add(made->key->domain(row), n.all); });
  } else {
    version_ = ++serials_;
    if (of == Counts::repelling) ++repelling_keys_[key];
  }
  mine.all.push_back(made.get());
  return *(it->second = made.release());
}

void TermTable::release(Counted& counted) {
  const std::unique_ptr<Counted> gone(&counted);
  const Symbol key = counted.key->name();
  OfSelector& mine = by_selector_[counted.selector->id()];
  Counted* const last = mine.all.back();
  mine.all[last->place = counted.place] = last;
  mine.all.pop_back();
  if (mine.all.empty()) mine.all = {};
  by_name_.erase({counted.selector->id(), counted.of, key});
  const auto drop = [&](auto& keys) {
    const auto it = keys.find(key);
    if (--it->second != 0) return false;
    keys.erase(it);
    return true;
  };
  if (drop(observed_keys_)) counted.key->forget(*this);
  if (counted.of == Counts::selected) {
    if (--mine.selected == 0) counted.selector->forget(*this);
  } else {
    version_ = ++serials_;
    if (counted.of == Counts::repelling) drop(repelling_keys_);
  }
}

void TermTable::carry(Row row, const PodInfo& pod, std::int64_t sign) {
  const std::shared_ptr<const AffinityTerms> terms = of(pod);
  if (!terms) return;
  for (const Part& part : terms->carried()) {
    Counted& counted = *part.counted;
    counted.counts.add(counted.key->domain(row), sign * part.amount);
  }
}

void TermTable::selection_changed(const PodSelector& selector, Row row, PodCount by) {
  for (Counted* c : of_selector(selector))
    if (c->of == Counts::selected) c->counts.add(c->key->domain(row), by.all);
}

void TermTable::domain_changed(const TopologyKey& key, Row row, DomainId from, DomainId to) {
  const auto move = [&](Counted& counted, std::int64_t amount) {
    if (&*counted.key != &key) return;
    counted.counts.add(from, -amount);
    counted.counts.add(to, amount);
  };
  for (const PodInfo* pod : nodes_.pods(row)) {
    for (const LabelSet::Selected& selected : selectors_.label_set(*pod).selected())
      for (Counted* c : of_selector(*selected.by))
        if (c->of == Counts::selected) move(*c, 1);
    if (const auto terms = of(*pod))
      for (const Part& part : terms->carried()) move(*part.counted, part.amount);
  }
}

}  // namespace koord::scheduling::inter_pod_affinity
