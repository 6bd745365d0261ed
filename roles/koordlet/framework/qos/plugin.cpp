// What the rows of the table of strategies have in common: see plugin.hpp.
#include "framework/qos/plugin.hpp"

#include <algorithm>

namespace koord::koordlet {

std::vector<PodTermsReader> terms_readers(StrategyTable table) {
  std::vector<PodTermsReader> all;
  for (const StrategyEntry* row : table)
    if (row->terms != nullptr && std::find(all.begin(), all.end(), row->terms) == all.end())
      all.push_back(row->terms);
  return all;
}

}  // namespace koord::koordlet
