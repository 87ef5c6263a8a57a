"""`python -m slidewise` is the command line."""

from slidewise.cli import main

raise SystemExit(main())
