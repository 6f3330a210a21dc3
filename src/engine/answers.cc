#include "engine/answers.h"

#include <algorithm>

namespace phalanx::engine {

Status read_answers(std::string_view output, const Marks& marks,
                    const std::function<void(std::string_view key, std::string_view value)>& read) {
  const size_t begin = output.rfind(marks.begin);
  const size_t end = begin == output.npos ? begin : output.find(marks.end, begin);
  if (end == output.npos) return Error{Code::invalid, "its shell did not run the questions to their end"};
  std::string_view text = output.substr(begin + marks.begin.size(), end - begin - marks.begin.size());
  while (!text.empty()) {
    const size_t stop = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, stop);
    text.remove_prefix(std::min(stop + 1, text.size()));
    if (const size_t equals = line.find('='); equals != line.npos)
      read(line.substr(0, equals), line.substr(equals + 1));
  }
  return Done{};
}

}  // namespace phalanx::engine
