"""Derivatives: the reverse-mode tape, gradients of control flow, batching for `vmap`."""
