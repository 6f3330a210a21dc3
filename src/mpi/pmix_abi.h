// pmix_abi.h - what we use of the PMIx interface, declared here because libpmix is opened at run time: the
// one that the user's Open MPI brings, or the system's, from 4.2 to 6. Its structures and numbers have been
// fixed since PMIx 2 (module slots are only appended). Contract: pmix_common.h and pmix_server.h of the PMIx
// standard, version 4.1.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace phalanx::mpi::pmix {

using Status = int;
constexpr Status kSuccess = 0, kError = -1, kNotFound = -46, kNotSupported = -47, kOperationSucceeded = -157;

constexpr uint32_t kRankUndefined = UINT32_MAX, kRankWildcard = UINT32_MAX - 1;

enum Type : uint16_t {
  kBool = 1,
  kString = 3,
  kUint16 = 13,
  kUint32 = 14,
  kInfo = 24,
  kDataArray = 39,
  kRank = 40
};

struct Proc {
  char nspace[256];
  uint32_t rank;
};

struct DataArray {
  uint16_t type;
  size_t size;
  void* array;
};

struct Value {
  uint16_t type;
  union {
    bool flag;
    char* string;
    uint16_t uint16;
    uint32_t uint32;
    DataArray* array;
    unsigned char widest[24];  // pmix_envar_t
  };
};

struct Info {
  char key[512];
  uint32_t flags;
  Value value;
};
static_assert(sizeof(Value) == 32 && sizeof(Info) == 552 && sizeof(Proc) == 260);

using OpCallback = void (*)(Status, void* data);
using ReleaseCallback = void (*)(void* data);
using ModexCallback = void (*)(Status, const char* bytes, size_t count, void* data, ReleaseCallback release,
                               void* release_data);
using InfoCallback = void (*)(Status, Info*, size_t, void* data, ReleaseCallback release, void* release_data);
using ResponseCallback = void (*)(Status, char* bytes, size_t count, void* data);
using EventDone = void (*)(Status, Info*, size_t, OpCallback, void*, void*);
using EventHandler = void (*)(size_t, Status, const Proc*, Info*, size_t, Info*, size_t, EventDone, void*);

struct Module {  // slots that stay null are "not supported"
  Status (*client_connected)(const Proc*, void*, OpCallback, void*) = nullptr;
  Status (*client_finalized)(const Proc*, void*, OpCallback, void*) = nullptr;
  Status (*abort)(const Proc*, void*, int status, const char* message, Proc*, size_t, OpCallback,
                  void*) = nullptr;
  Status (*fence)(const Proc*, size_t, const Info*, size_t, char* bytes, size_t count, ModexCallback,
                  void*) = nullptr;
  Status (*direct_modex)(const Proc*, const Info*, size_t, ModexCallback, void*) = nullptr;
  void* before_group[20] = {};  // publish, lookup, spawn, connect, events, queries, ...
  Status (*group)(int operation, char* name, const Proc*, size_t, const Info*, size_t, InfoCallback,
                  void*) = nullptr;
  void* later[19] = {};
};

}  // namespace phalanx::mpi::pmix
