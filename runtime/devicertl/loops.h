// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shares the iterations of a loop among teams and their threads. Small and without calls, so that a compiler that sees
// the body makes one loop of both.
#pragma once

#include <algorithm>

namespace omptool::devicertl {

// Calls each(begin, end) for the blocks of [0, count) that belong to sharer `mine` of `all`: the blocks mine, mine +
// all, …. `all` is 1 or more. A block size of 0 stands for one block for each sharer.
template <typename Count, typename Each>
inline void take_blocks(Count count, Count block, Count all, Count mine, const Each& each) {
  if (count == 0)
    return;
  const Count size = block > 0 ? block : (count - 1) / all + 1;
  const Count last = (count - 1) / size;
  if (mine > last)
    return;
  const Count step = all > last ? count : all * size; // never past the type's end
  for (Count begin = mine * size;; begin += step) {
    each(begin, begin + std::min(size, count - begin));
    if (count - begin <= step)
      return;
  }
}

// Sharer: one of several threads or teams that share a loop.
template <typename Count> struct Sharer {
  Count all;
  Count mine;
  Count block;
};

// Shares a loop twice: teams get blocks of the loop, and the threads of a team get blocks of each.
template <typename Count>
[[gnu::always_inline]] inline void share_loop(void (*body)(Count, void*), void* argument, Count count,
                                              Sharer<Count> team, Sharer<Count> thread) {
  take_blocks(count, team.block, team.all, team.mine, [&](Count first, Count end_of_block) {
    take_blocks(Count(end_of_block - first), thread.block, thread.all, thread.mine, [&](Count begin, Count end) {
      for (Count i = first + begin; i < first + end; ++i)
        body(i, argument);
    });
  });
}

} // namespace omptool::devicertl
