# What clang leaves in an object for Windows: packed images, and an entry of the program's; beside
# them what nvcc leaves. IMAGES and FATBIN are files in the folder of -I.
	.section .llvm.offloading,"dr"
	.balign 8
	.incbin "images"
	.section .nv_fatbin,"dr"
	.balign 8
	.incbin "fatbin"
	.text
	.globl main
main:
	ret
.ifdef entries
	.section omp_offloading_entries$OE,"dw"
	.quad main, 0, 0, 0
.endif
