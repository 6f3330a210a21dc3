// words.h - the words by which job files name what a JobSpec has as enumerations: one table for each. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/job_spec.h"

namespace phalanx::spec {

template <class Enum>
using Word = std::pair<Enum, const char*>;

template <class Enum>
inline constexpr std::array<Word<Enum>, 0> kWords{};

template <>
inline constexpr std::array<Word<Framework>, 5> kWords<Framework> = {{
    {Framework::none, ""},  // said by leaving it out
    {Framework::pytorch, "pytorch"},
    {Framework::mpi, "mpi"},
    {Framework::tensorflow, "tensorflow"},
    {Framework::ray, "ray"},
}};

template <>
inline constexpr std::array<Word<Launch>, 3> kWords<Launch> = {{
    {Launch::process, "process"},
    {Launch::node, "node"},
    {Launch::head, "head"},
}};

template <>
inline constexpr std::array<Word<Isolation>, 5> kWords<Isolation> = {{
    {Isolation::automatic, "auto"},
    {Isolation::pid_namespace, "namespace"},
    {Isolation::user_namespace, "user_namespace"},
    {Isolation::cgroup, "cgroup"},
    {Isolation::plain, "plain"},
}};

template <>
inline constexpr std::array<Word<Unit>, 3> kWords<Unit> = {{
    {Unit::node, "node"},
    {Unit::core, "core"},
    {Unit::gpu, "gpu"},
}};

template <class Enum>
constexpr const char* word_of(Enum value) {
  for (const auto& [known, word] : kWords<Enum>)
    if (known == value) return word;
  return "";
}

template <class Enum>
constexpr std::optional<Enum> from_word(std::string_view text) {
  for (const auto& [known, word] : kWords<Enum>)
    if (text == word) return known;
  return std::nullopt;
}

// All that can be written, in the order of the table.
template <class Enum>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (const auto& [known, word] : kWords<Enum>)
    if (*word != '\0') words.emplace_back(word);
  return words;
}

}  // namespace phalanx::spec
