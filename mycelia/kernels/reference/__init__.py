"""kernels/reference"""
