// The entries of a CUDA fat binary, for stand-ins of __cudaRegisterFatBinary.
#pragma once
#include <string.h>

struct Entry {
  unsigned kind, arch, sum;
  unsigned long size;
};

// Reads the entry that begins at an address, and returns where the next one begins.
static const unsigned char* read_entry(const unsigned char* at, struct Entry* entry) {
  unsigned header;
  entry->kind = *at;
  entry->sum = 0;
  memcpy(&header, at + 4, 4);
  memcpy(&entry->size, at + 8, 8);
  memcpy(&entry->arch, at + 28, 4);
  at += header;
  for (const unsigned char* const end = at + entry->size; at < end; ++at)
    entry->sum = entry->sum * 31 + *at;
  return at;
}
