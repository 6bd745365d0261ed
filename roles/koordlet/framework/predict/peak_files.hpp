// Peak files: models that outlive the agent, one file each, in the original's format: either agent goes on
// where the other one ended.
//   {"UID":...,"CPU":{"referenceTimestamp":...,"bucketWeights":{"BUCKET":WEIGHT},"totalWeight":...},
//    "Memory":{...},"LastUpdated":...}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/predict/models.hpp"

namespace koord::koordlet {

/// A node's model, or a uid as Kubernetes gives them: other names are of something else that somebody put
/// into the folder, and are neither written nor read.
bool is_model_name(std::string_view name);

struct SavedModel {
  SavedHistogram cpu, memory;
};

/// Appends the text of a file to `out`.
void write_peaks(std::string_view uid, const PeakModel& model, WallTime wall, std::string& out);
/// Code::parse: it is none. Whether a histogram would take it is not looked at.
Result<SavedModel> read_peaks(std::string_view text);

/// What restoring came to.
struct RestoredPeaks {
  std::size_t models = 0;
  /// The first few files that are of no use, with the reason.
  std::vector<Error> refused;
  std::size_t more_refused = 0;
};
/// Reads the files of `folder` (with a slash at its end) into models that are as good as new. Those of a
/// model's name that are of no use, and what a crash left half written, are removed; what is no file of the
/// agent's is passed over. Blocks. Code::not_found: there is no such folder.
Result<RestoredPeaks> restore_peaks(const std::string& folder, PeakModels& models, MonoTime now,
                                    WallTime wall);

}  // namespace koord::koordlet
