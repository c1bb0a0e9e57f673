"""`python -m shardlint`.

With `-m`, Python looks for modules in the working directory first, which is the repository that is linted. That entry
is dropped before anything else is imported. It cannot be undone that Python has looked there for `shardlint` itself: in
a repository that is not trusted, use the console script or `python -P -m shardlint` (Python 3.11 and newer).
"""

import sys

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    from shardlint.cli import entry

    entry()
