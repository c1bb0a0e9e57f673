"""`python -m shardlint`."""

from shardlint.cli import entry

if __name__ == "__main__":
    entry()
