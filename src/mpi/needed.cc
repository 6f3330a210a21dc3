#include "mpi/needed.h"

#include <elf.h>

#include <bit>
#include <cstring>
#include <optional>

namespace phalanx::mpi {

namespace {

constexpr uint64_t kMost = 4096;  // entries of a table: real programs have tens

// A record at an offset, if it lies within the file.
template <class Record>
std::optional<Record> at(std::string_view elf, uint64_t offset) {
  if (offset > elf.size() || elf.size() - offset < sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, elf.data() + offset, sizeof record);
  return record;
}

template <class Use>
void for_each_segment(std::string_view elf, const Elf64_Ehdr& header, Use use) {
  if (header.e_phoff > elf.size() || header.e_phentsize < sizeof(Elf64_Phdr)) return;
  for (uint64_t i = 0; i < header.e_phnum; ++i)
    if (const auto segment = at<Elf64_Phdr>(elf, header.e_phoff + i * header.e_phentsize)) use(*segment);
}

// Where in the file something lies that is found by its address in memory.
uint64_t offset_of(std::string_view elf, const Elf64_Ehdr& header, uint64_t address) {
  uint64_t offset = elf.size();
  for_each_segment(elf, header, [&](const Elf64_Phdr& segment) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      offset = segment.p_offset + (address - segment.p_vaddr);
  });
  return offset;
}

std::string text_at(std::string_view elf, uint64_t offset) {
  if (offset >= elf.size()) return "";
  const std::string_view rest = elf.substr(offset, 4096);
  return std::string(rest.substr(0, rest.find('\0')));
}

}  // namespace

std::vector<std::string> needed_libraries(std::string_view elf) {
  const auto header = at<Elf64_Ehdr>(elf, 0);
  constexpr unsigned char kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != kOrder)
    return {};
  Elf64_Phdr dynamic{};
  for_each_segment(elf, *header, [&](const Elf64_Phdr& segment) {
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
  });
  std::vector<uint64_t> names;
  uint64_t strings = elf.size();
  for (uint64_t i = 0; i < std::min(dynamic.p_filesz / sizeof(Elf64_Dyn), kMost); ++i) {
    const auto entry = at<Elf64_Dyn>(elf, dynamic.p_offset + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) strings = offset_of(elf, *header, entry->d_un.d_ptr);
  }
  std::vector<std::string> needed;
  for (const uint64_t name : names)
    if (strings < elf.size() && name < elf.size() - strings) needed.push_back(text_at(elf, strings + name));
  return needed;
}

std::string pmi_of(const std::vector<std::string>& needed) {
  for (const std::string& name : needed) {
    // Open MPI 1.7 to 5. Before the common ABI of 2013 MPICH's number was 10.
    for (const char* open : {"libmpi.so.1", "libmpi.so.20", "libmpi.so.40"})
      if (name == open) return "pmix";
    for (const char* mpich : {"libmpi.so.12", "libmpich.so.12", "libmpich.so.10"})
      if (name == mpich) return "pmi1";
  }
  return "";
}

}  // namespace phalanx::mpi
