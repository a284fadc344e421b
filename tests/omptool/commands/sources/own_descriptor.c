/* A host that writes its descriptor itself, with the image, the file IMAGE, in .rodata. It is put behind host.c. */
extern __tgt_offload_entry __start_omptarget_entries[], __stop_omptarget_entries[];
extern char image[], image_end[];
__asm__(".section .rodata\n.balign 16\nimage: .incbin \"" IMAGE "\"\nimage_end:\n"
        ".text\n");
static __tgt_device_image images[] = {
    {image, image_end, __start_omptarget_entries, __stop_omptarget_entries}};
static __tgt_bin_desc descriptor = {
    1, images, __start_omptarget_entries, __stop_omptarget_entries};
__attribute__((constructor)) static void start(void) { __tgt_register_lib(&descriptor); }
