#include "koord/host/cpuset.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  const Error malformed(Code::parse,
                        fmt::format("not a list of CPUs such as 0-3,8: \"{}\"", rest.substr(0, 64)));
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (comma == std::string_view::npos) {
      rest = {};
    } else {
      rest = rest.substr(comma + 1);
      if (rest.empty()) return malformed;  // "0,"
    }
    const auto dash = item.find('-');
    int first = 0;
    int last = 0;
    if (!parse_cpu(item.substr(0, dash), first)) return malformed;
    last = first;
    if (dash != std::string_view::npos && !parse_cpu(item.substr(dash + 1), last)) return malformed;
    if (last < first) return malformed;
    for (int cpu = first; cpu <= last; ++cpu) set.add(cpu);
  }
  return set;
}

CpuSet CpuSet::range(int first, int last) {
  CpuSet set;
  for (int cpu = first; cpu <= last; ++cpu) set.add(cpu);
  return set;
}

void CpuSet::add(int cpu) {
  assert(cpu >= 0 && cpu <= kMaxCpu);
  const std::size_t word = static_cast<std::size_t>(cpu) / kBits;
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (static_cast<std::size_t>(cpu) % kBits);
}

void CpuSet::remove(int cpu) {
  if (contains(cpu))
    words_[static_cast<std::size_t>(cpu) / kBits] &=
        ~(std::uint64_t{1} << (static_cast<std::size_t>(cpu) % kBits));
}

bool CpuSet::contains(int cpu) const {
  const std::size_t word = static_cast<std::size_t>(cpu) / kBits;
  return cpu >= 0 && word < words_.size() &&
         ((words_[word] >> (static_cast<std::size_t>(cpu) % kBits)) & 1U) != 0;
}

bool CpuSet::empty() const {
  return std::all_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word == 0; });
}

int CpuSet::size() const {
  int count = 0;
  for (const std::uint64_t word : words_) count += std::popcount(word);
  return count;
}

std::vector<int> CpuSet::cpus() const {
  std::vector<int> cpus;
  cpus.reserve(static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < words_.size(); ++i)
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
      cpus.push_back(static_cast<int>(i * kBits) + std::countr_zero(word));
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
  for (std::size_t i = 0; i < words_.size(); ++i)
    if ((words_[i] & ~(i < other.words_.size() ? other.words_[i] : 0)) != 0) return false;
  return true;
}

CpuSet operator|(const CpuSet& a, const CpuSet& b) {
  CpuSet set = a.words_.size() >= b.words_.size() ? a : b;
  const CpuSet& smaller = a.words_.size() >= b.words_.size() ? b : a;
  for (std::size_t i = 0; i < smaller.words_.size(); ++i) set.words_[i] |= smaller.words_[i];
  return set;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet set = a;
  set.words_.resize(std::min(a.words_.size(), b.words_.size()));
  for (std::size_t i = 0; i < set.words_.size(); ++i) set.words_[i] &= b.words_[i];
  return set;
}

CpuSet operator-(const CpuSet& a, const CpuSet& b) {
  CpuSet set = a;
  for (std::size_t i = 0; i < std::min(a.words_.size(), b.words_.size()); ++i) set.words_[i] &= ~b.words_[i];
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
