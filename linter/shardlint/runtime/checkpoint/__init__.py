"""The keys, shapes and dtypes of a checkpoint, read without torch and without a weight, beside the facts of a model."""
