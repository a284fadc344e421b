
; __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-unknown-linux--host-x86_64-unknown-linux--

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @first(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}

; __CLANG_OFFLOAD_BUNDLE____END__ host-x86_64-unknown-linux--host-x86_64-unknown-linux--

; __CLANG_OFFLOAD_BUNDLE____START__ hipv4-amdgcn-amd-amdhsa--gfx90a

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @first(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}

; __CLANG_OFFLOAD_BUNDLE____END__ hipv4-amdgcn-amd-amdhsa--gfx90a
