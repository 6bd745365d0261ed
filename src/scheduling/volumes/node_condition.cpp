// NodeCondition: see node_condition.hpp.
#include "scheduling/volumes/node_condition.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/node.hpp"

namespace koord::scheduling::volumes {

NodeCondition::NodeCondition(const api::NodeSelector& selector, TopologyTable& topology) : restricted_(true) {
  for (const api::NodeSelectorTerm& term : selector.node_selector_terms) add(term, topology);
}

NodeCondition::NodeCondition(const api::List<api::TopologySelectorTerm>& terms, TopologyTable& topology)
    : restricted_(!terms.empty()) {
  for (const api::TopologySelectorTerm& t : terms) {
    api::NodeSelectorTerm term;
    for (const auto& r : t.match_label_expressions) {
      auto& in = term.match_expressions.emplace_back();
      in.key = r.key;
      in.operator_ = "In";
      in.values = r.values;
    }
    add(term, topology);
  }
}

NodeCondition::NodeCondition(const api::LabelSelector& selector, TopologyTable& topology)
    : restricted_(!selector.match_labels.empty() || !selector.match_expressions.empty()) {
  api::NodeSelectorTerm term;
  for (const auto& [key, value] : selector.match_labels) {
    auto& in = term.match_expressions.emplace_back();
    in.key = key;
    in.operator_ = "In";
    in.values.push_back(value);
  }
  for (const auto& r : selector.match_expressions) {
    auto& expression = term.match_expressions.emplace_back();
    expression.key = r.key;
    expression.operator_ = r.operator_;
    expression.values = r.values;
  }
  if (restricted_) add(term, topology);
}

void NodeCondition::add(const api::NodeSelectorTerm& term, TopologyTable& topology) {
  if (const api::CompiledNodeTerm whole(term); whole.empty() || !whole.valid()) return;
  Term made;
  api::NodeSelectorTerm other;
  other.match_fields = term.match_fields;
  for (const api::NodeSelectorRequirement& r : term.match_expressions) {
    if (r.operator_ == "In") {
      NodeCondition::In& in = made.in.emplace_back();
      in.key = topology.key(r.key);
      in.values.assign(r.values.begin(), r.values.end());
      std::ranges::sort(in.values);
    } else {
      other.match_expressions.push_back(r);
    }
  }
  if (!other.match_expressions.empty() || !other.match_fields.empty())
    made.other = std::make_shared<const api::CompiledNodeTerm>(other);
  terms_.push_back(std::move(made));
}

bool NodeCondition::In::holds(Row row) const {
  const DomainId domain = key->domain(row);
  if (domain == kNoDomain) return false;
  return std::ranges::binary_search(values, key->value(domain));
}

bool NodeCondition::holds(const NodeTable& nodes, Row row) const {
  if (!restricted_) return true;
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return std::all_of(term.in.begin(), term.in.end(), [&](const In& in) { return in.holds(row); }) &&
           // By labels alone: a volume knows no node's name.
           (!term.other || term.other->matches(nodes.node(row)->metadata.labels, {}));
  });
}

const NodeCondition::In* NodeCondition::narrowed() const {
  if (terms_.size() != 1 || terms_.front().in.empty()) return nullptr;
  // The label with the most values among the nodes leaves the fewest of them.
  const auto& in = terms_.front().in;
  return &*std::max_element(in.begin(), in.end(),
                            [](const In& a, const In& b) { return a.key->domains() < b.key->domains(); });
}

void Choices::add(const NodeCondition& condition) {
  const auto number = static_cast<std::int32_t>(conditions_.size());
  conditions_.push_back(&condition);
  const NodeCondition::In* in = condition.everywhere() ? nullptr : condition.narrowed();
  sure_.push_back(condition.everywhere() || (in != nullptr && condition.only_narrowed()));
  if (in == nullptr) {
    rest_.push_back(number);
    return;
  }
  auto chain =
      std::find_if(chains_.begin(), chains_.end(), [&](const Chain& c) { return c.key == in->key.get(); });
  if (chain == chains_.end()) {
    const std::vector<std::int32_t> none(in->key->id_limit(), -1);
    chain = chains_.insert(chain, {in->key.get(), none, none});
  }
  for (const Symbol& value : in->values) {
    const DomainId domain = in->key->find(value);
    if (domain == kNoDomain) continue;
    std::int32_t& tail = chain->tails[domain];
    if (tail >= 0 && links_[static_cast<std::size_t>(tail)].number == number) continue;  // a value twice
    const auto link = static_cast<std::int32_t>(links_.size());
    links_.push_back({number, -1});
    (tail >= 0 ? links_[static_cast<std::size_t>(tail)].next : chain->heads[domain]) = link;
    tail = link;
  }
}

void Choices::begin(Row row) const {
  rest_at_ = 0;
  for (Chain& c : chains_) {
    const DomainId domain = c.key->domain(row);
    c.at = domain != kNoDomain ? c.heads[domain] : -1;
  }
}

std::int32_t Choices::next() const {
  std::int32_t least = rest_at_ < rest_.size() ? rest_[rest_at_] : -1;
  Chain* of = nullptr;
  for (Chain& c : chains_)
    if (c.at >= 0)
      if (const std::int32_t number = links_[static_cast<std::size_t>(c.at)].number;
          least < 0 || number < least) {
        least = number;
        of = &c;
      }
  if (of != nullptr) {
    of->at = links_[static_cast<std::size_t>(of->at)].next;
  } else if (least >= 0) {
    ++rest_at_;
  }
  return least;
}

}  // namespace koord::scheduling::volumes
