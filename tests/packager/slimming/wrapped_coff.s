# A library of Windows that registers a fat binary with CUDA's runtime. FATBIN is a file in the
# folder of -I.
	.section .nv_fatbin,"dr"
	.balign 8
binary:
	.incbin "fatbin"
	.section .nvFatBinSegment,"dw"
	.balign 8
	.long 0x466243B1, 1
	.quad binary, 0
	.text
	.globl main
main:
	lea wrapper(%rip), %rax
	ret
	.data
wrapper:
	.quad binary
