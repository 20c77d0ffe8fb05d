"""``python -m leakscope``: the command line where ``leakscope`` is not on the path."""

from leakscope.cli.main import main

if __name__ == "__main__":
    main()
