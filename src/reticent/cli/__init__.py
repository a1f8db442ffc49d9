"""The command line: parse, call one function of the study, print. Nothing is decided here.

app         the verbs, put together             output    what is printed where, once, safely
exit_codes  every ending to words and a code    layout    answers and tables as a terminal shows them
options     options that several verbs share    glossary  the texts of ``reticent explain WORD``
"""

import sys


def main() -> None:
    """Entry point of the console script; ends the process with the exit code."""
    try:
        from reticent.cli.app import app
    except KeyboardInterrupt:  # the program itself is still being read: no verb has begun
        sys.stderr.write("Stopped. Nothing was charged.\n")
        sys.exit(130)
    app(prog_name="reticent")
