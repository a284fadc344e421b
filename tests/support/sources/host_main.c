/* What makes a program of host.c: it is put behind it. */
int main(void) {
  void *base[1] = {table}, *begin[1] = {table};
  int64_t size[1] = {sizeof table};
  int32_t type[1] = {OMP_TGT_MAPTYPE_TO | OMP_TGT_MAPTYPE_FROM | OMP_TGT_MAPTYPE_FIRST_REF};
  return __tgt_target(-1, (void *)first, 1, base, begin, size, type);
}
