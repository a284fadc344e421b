// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file that the dynamic linker loads an image from. A debugger opens it later, by the same path.
#pragma once

#include "elf_image.h"
#include "file.h"

#include <optional>
#include <string>

namespace omptool::host {

class ImageFile {
public:
  // Writes the image to a file in memory, with `changed` in place of the image's own entry. The first few files stay
  // open while they are loaded, for debuggers. Returns nothing, with errno set, if there is no memory.
  static std::optional<ImageFile> in_memory(Bytes image, const std::optional<DynamicEntry>& changed);
  // Writes the image to a file in the folder that OMPTOOL_KEEP_IMAGES names, where the file stays. Returns nothing if
  // the variable is not set. Prints a line and returns nothing if others may write to the folder, or the file cannot be
  // written.
  static std::optional<ImageFile> kept(Bytes image, const std::optional<DynamicEntry>& changed);

  ~ImageFile();
  ImageFile(ImageFile&&) = default;
  ImageFile& operator=(ImageFile&&) = delete;

  const std::string& path() const { return path_; }
  // Called when the image is loaded: what is mapped stays, and only a debugger needs the descriptor.
  void loaded();

private:
  ImageFile(File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  File file_;
  std::string path_;
  std::uint64_t inode_ = 0; // of one that stays open
};

} // namespace omptool::host
