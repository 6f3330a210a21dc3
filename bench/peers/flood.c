// flood BYTES [RANK] - writes BYTES bytes to standard output as fast as it can.
// The content is determined by BYTES and RANK (else by $RANK or $OMPI_COMM_WORLD_RANK): lines of 64 bytes,
// and the first line of every 4 KiB says rank and offset. So a lost, doubled, moved or foreign piece changes
// the checksum.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLine = 64, kPage = 4096, kBlock = 64 * 1024 };

static const char* rank_of(int argc, char** argv) {
  if (argc > 2) return argv[2];
  const char* rank = getenv("RANK");
  if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
  return rank ? rank : "0";
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: flood BYTES [RANK]\n");
    return 2;
  }
  unsigned long long bytes = strtoull(argv[1], NULL, 10);
  const char* rank = rank_of(argc, argv);
  static char block[kBlock];
  memset(block, '.', sizeof block);
  for (int end = kLine - 1; end < kBlock; end += kLine) block[end] = '\n';

  for (unsigned long long offset = 0; offset < bytes;) {
    for (int page = 0; page < kBlock; page += kPage) {
      char head[kLine];
      int length = snprintf(head, sizeof head, "%8s %16llx", rank, offset + page);
      memcpy(block + page, head, (size_t)length);
    }
    size_t size = bytes - offset < kBlock ? (size_t)(bytes - offset) : kBlock;
    for (size_t written = 0; written < size;) {
      ssize_t n = write(STDOUT_FILENO, block + written, size - written);
      if (n < 0) return 1;
      written += (size_t)n;
    }
    offset += size;
  }
  return 0;
}
