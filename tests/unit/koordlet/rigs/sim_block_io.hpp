// Files of block I/O as the kernel keeps them: a line for each device of which something is set, and
// refusals.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace koord::koordlet::testing {

class SimBlockIo {
 public:
  static bool is_file(std::string_view name) {
    return name.starts_with("blkio.") || (name.starts_with("io.") && !name.ends_with(".pressure"));
  }
  /// Disks that the kernel has: others are ENODEV.
  std::set<std::string> disks = {"8:0", "8:16", "253:0", "253:16", "253:32"};

  /// An errno, or 0 and the file as it is then.
  int store(std::string_view name, std::string& file, std::string_view text) const {
    std::istringstream words{std::string(text)};
    std::string device;
    words >> device;
    if (device.find(':') == std::string::npos) return EINVAL;
    if (!disks.contains(device)) return ENODEV;
    std::map<std::string, std::string> lines = split(file);
    std::string& line = lines[device];
    int failure = 0;
    if (name == "io.max")
      failure = set_words(line, words, {"rbps", "wbps", "riops", "wiops"});
    else if (name == "io.latency")
      failure = set_words(line, words, {"target"});
    else if (name.ends_with(".cost.qos"))
      failure =
          set_cost(line, words,
                   "enable=0 ctrl=auto rpct=0.00 rlat=250000 wpct=0.00 wlat=250000 min=1.00 max=10000.00");
    else if (name.ends_with(".cost.model"))
      failure = set_cost(line, words,
                         "ctrl=auto model=linear rbps=488636629 rseqiops=8932 rrandiops=8518 wbps=427891549 "
                         "wseqiops=28755 wrandiops=21940");
    else
      failure = set_number(line, words, name.ends_with("weight"));
    if (failure != 0) return failure;
    if (line.empty()) lines.erase(device);
    file.clear();
    for (const auto& [disk, said] : lines) file += fmt::format("{} {}\n", disk, said);
    return 0;
  }

 private:
  static std::map<std::string, std::string> split(const std::string& file) {
    std::map<std::string, std::string> lines;
    std::istringstream all(file);
    for (std::string line; std::getline(all, line);)
      if (const auto blank = line.find(' '); blank != std::string::npos)
        lines[line.substr(0, blank)] = line.substr(blank + 1);
    return lines;
  }
  static int set_number(std::string& line, std::istringstream& words, bool weight) {
    std::string number;
    words >> number;
    if (weight && number == "default") number = "0";
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return EINVAL;
    const auto value = std::stoull(number);
    if (weight && value > 10'000) return ERANGE;
    line = value == 0 ? "" : number;
    return 0;
  }
  static int set_words(std::string& line, std::istringstream& words, const std::vector<std::string>& names) {
    std::map<std::string, std::string> values;
    std::istringstream had(line);
    for (std::string word; had >> word;)
      values[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
      if (std::find(names.begin(), names.end(), name) == names.end()) return EINVAL;
      const bool max = value == "max" && name != "target";
      if (!max && value.find_first_not_of("0123456789") != std::string::npos) return EINVAL;
      if (value == "0" && name != "target") return ERANGE;
      values[name] = value;
    }
    line.clear();
    bool any = false;
    for (const std::string& name : names) {
      const std::string value = values.contains(name) ? values[name] : "max";
      any = any || (value != "max" && value != "0");
      line += fmt::format("{}{}={}", line.empty() ? "" : " ", name, value);
    }
    if (!any) line.clear();
    return 0;
  }
  /// As iocost does it: any figure makes it the user's, and ctrl=auto brings the kernel's back.
  static int set_cost(std::string& line, std::istringstream& words, const std::string& kernels) {
    std::map<std::string, std::string> values;
    std::vector<std::string> order;
    const auto read = [&](const std::string& text, bool first) {
      std::istringstream all(text);
      for (std::string word; all >> word;) {
        const std::string name = word.substr(0, word.find('='));
        if (first) order.push_back(name);
        values[name] = word.substr(word.find('=') + 1);
      }
    };
    read(kernels, true);
    read(line, false);
    for (std::string word; words >> word;) {
      const std::string name = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
      if (!values.contains(name)) return EINVAL;
      if (name == "ctrl" && value == "auto") {
        const std::string enable = values["enable"];
        const bool has = values.contains("enable");
        read(kernels, false);
        if (has) values["enable"] = enable;
      } else if (name != "enable" && name != "ctrl") {
        values["ctrl"] = "user";
      }
      values[name] = name.ends_with("pct") && value.find('.') == std::string::npos ? value + ".00" : value;
    }
    line.clear();
    for (const std::string& name : order)
      line += fmt::format("{}{}={}", line.empty() ? "" : " ", name, values[name]);
    return 0;
  }
};

}  // namespace koord::koordlet::testing
