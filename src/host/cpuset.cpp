#include "koord/host/cpuset.hpp"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <initializer_list>

#include "koord/host/text.hpp"

namespace koord::host {

namespace {
constexpr std::size_t kBits = 64;

bool parse_cpu(std::string_view text, int& cpu) {
  return to_number(text, cpu) && cpu >= 0 && cpu <= CpuSet::kMaxCpu;
}
}  // namespace

CpuSet::CpuSet(std::initializer_list<int> cpus) {
  for (const int cpu : cpus) add(cpu);
}

Result<CpuSet> CpuSet::parse(std::string_view text) {
  CpuSet set;
  std::string_view rest = trimmed(text);
  const auto malformed = [list = rest.substr(0, 64)] {
    return Error(Code::parse, fmt::format("not a list of CPUs such as 0-3,8: \"{}\"", list));
  };
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (comma == std::string_view::npos) {
      rest = {};
    } else {
      rest = rest.substr(comma + 1);
      if (rest.empty()) return malformed();  // "0,"
    }
    const auto dash = item.find('-');
    int first = 0;
    int last = 0;
    if (!parse_cpu(item.substr(0, dash), first)) return malformed();
    last = first;
    if (dash != std::string_view::npos && !parse_cpu(item.substr(dash + 1), last)) return malformed();
    if (last < first) return malformed();
    set = set | range(first, last);
  }
  return set;
}

/// Word by word: a list of 64 KiB may name all CPUs ten thousand times.
CpuSet CpuSet::range(int first, int last) {
  assert(first >= 0 && last <= kMaxCpu);
  CpuSet set;
  if (last < first) return set;
  const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(last);
  for (std::size_t at = from / kBits; at <= to / kBits; ++at) {
    std::uint64_t bits = ~std::uint64_t{0};
    if (at == from / kBits) bits &= ~std::uint64_t{0} << (from % kBits);
    if (at == to / kBits) bits &= ~std::uint64_t{0} >> (kBits - 1 - to % kBits);
    set.room_for(at) |= bits;
  }
  return set;
}

std::uint64_t CpuSet::word(std::size_t at) const {
  if (at < near_.size()) return near_[at];
  return at < words() ? far_[at - near_.size()] : 0;
}

std::uint64_t& CpuSet::room_for(std::size_t word) {
  if (word < near_.size()) return near_[word];
  if (word >= words()) far_.resize(word - near_.size() + 1);
  return far_[word - near_.size()];
}

void CpuSet::add(int cpu) {
  assert(cpu >= 0 && cpu <= kMaxCpu);
  const auto at = static_cast<std::size_t>(cpu);
  room_for(at / kBits) |= std::uint64_t{1} << (at % kBits);
}

void CpuSet::remove(int cpu) {
  const auto at = static_cast<std::size_t>(cpu);
  if (contains(cpu)) room_for(at / kBits) &= ~(std::uint64_t{1} << (at % kBits));
}

bool CpuSet::contains(int cpu) const {
  const auto at = static_cast<std::size_t>(cpu);
  return cpu >= 0 && ((word(at / kBits) >> (at % kBits)) & 1U) != 0;
}

bool CpuSet::empty() const { return is_subset_of({}); }

int CpuSet::size() const {
  int count = 0;
  for (std::size_t i = 0; i < words(); ++i) count += std::popcount(word(i));
  return count;
}

std::vector<int> CpuSet::cpus() const {
  std::vector<int> cpus;
  cpus.reserve(static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < words(); ++i)
    for (std::uint64_t bits = word(i); bits != 0; bits &= bits - 1)
      cpus.push_back(static_cast<int>(i * kBits) + std::countr_zero(bits));
  return cpus;
}

std::string CpuSet::to_string() const {
  std::string text;
  const std::vector<int> all = cpus();
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end + 1 < all.size() && all[end + 1] == all[end] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(all[i]);
    if (end > i) text += '-' + std::to_string(all[end]);
    i = end + 1;
  }
  return text;
}

bool CpuSet::is_subset_of(const CpuSet& other) const {
  for (std::size_t i = 0; i < words(); ++i)
    if ((word(i) & ~other.word(i)) != 0) return false;
  return true;
}

CpuSet operator|(const CpuSet& a, const CpuSet& b) {
  CpuSet set = a.words() >= b.words() ? a : b;
  const CpuSet& smaller = a.words() >= b.words() ? b : a;
  for (std::size_t i = 0; i < smaller.words(); ++i) set.room_for(i) |= smaller.word(i);
  return set;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet set = a;
  for (std::size_t i = 0; i < set.words(); ++i) set.room_for(i) &= b.word(i);
  return set;
}

CpuSet operator-(const CpuSet& a, const CpuSet& b) {
  CpuSet set = a;
  for (std::size_t i = 0; i < set.words(); ++i) set.room_for(i) &= ~b.word(i);
  return set;
}

bool operator==(const CpuSet& a, const CpuSet& b) { return a.is_subset_of(b) && b.is_subset_of(a); }

Result<int> count_cpus(std::string_view list) {
  std::string_view rest = trimmed(list);
  int count = 0;
  int previous = -1;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto dash = item.find('-');
    int first = 0;
    int last = 0;
    if (!parse_cpu(item.substr(0, dash), first) ||
        !parse_cpu(dash == std::string_view::npos ? item : item.substr(dash + 1), last) ||
        first <= previous || last < first || (comma != std::string_view::npos && rest.empty()))
      return Error(Code::parse, "not a list of CPUs such as 0-3,8");
    count += last - first + 1;
    previous = last;
  }
  return count;
}

}  // namespace koord::host
