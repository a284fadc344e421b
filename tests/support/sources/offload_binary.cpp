// llvm-offload-binary of LLVM 23 for the tests: its packages lack the program, and have the library that does the work.
// Packs device code into one OffloadBinary. Usage: llvm-offload-binary -o OUT --image=KEY=VALUE[,KEY=VALUE...]...

#include <llvm/BinaryFormat/Magic.h>
#include <llvm/Object/OffloadBinary.h>

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

using namespace llvm;
using namespace llvm::object;

namespace {

int fail(const Twine& what) {
  errs() << "llvm-offload-binary: error: " << what << "\n";
  return 1;
}

// The keys "file" and "kind" say what is packed; the others are packed with it, in their order.
bool read(StringRef fields, OffloadBinary::OffloadingImage& image) {
  SmallVector<StringRef, 8> pairs;
  fields.split(pairs, ',');
  for (const StringRef pair : pairs) {
    const auto [key, value] = pair.split('=');
    if (key == "kind") {
      image.TheOffloadKind = getOffloadKind(value);
    } else if (key == "file") {
      ErrorOr<std::unique_ptr<MemoryBuffer>> content = MemoryBuffer::getFile(value);
      if (!content)
        return false;
      // Bitcode has the ending of objects where clang leaves it to be linked.
      const bool is_bitcode = identify_magic((*content)->getBuffer()) == file_magic::bitcode;
      image.TheImageKind = is_bitcode ? IMG_Bitcode : getImageKind(sys::path::extension(value).drop_front());
      image.Image = std::move(*content);
    } else {
      image.StringData[key] = value;
    }
  }
  return image.Image != nullptr;
}

} // namespace

int main(int argc, char** argv) {
  SmallVector<OffloadBinary::OffloadingImage> images;
  StringRef out;
  for (int at = 1; at < argc; ++at) {
    StringRef word = argv[at];
    if (word == "-o" && at + 1 < argc)
      out = argv[++at];
    else if (!word.consume_front("--image="))
      return fail("unknown argument '" + word + "'");
    else if (!read(word, images.emplace_back()))
      return fail("cannot read '" + word + "'");
  }
  std::error_code error;
  raw_fd_ostream stream(out, error);
  if (error)
    return fail(out + ": " + error.message());
  stream << OffloadBinary::write(images);
  return 0;
}
