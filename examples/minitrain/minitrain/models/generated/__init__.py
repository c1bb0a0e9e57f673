"""What `minitrain.patchgen` writes."""
