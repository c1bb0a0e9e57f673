"""The child that imports torch and the user's model. It is loaded by path into the user's interpreter, so it needs
nothing but the standard library and torch, and keeps to the syntax of Python 3.9."""
