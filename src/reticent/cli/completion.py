"""``--install-completion`` and ``--show-completion``: the shell completes verbs, options, files and names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from reticent.errors import SpecError

PROGRAM: Final = "reticent"
VARIABLE: Final = "_RETICENT_COMPLETE"
SCRIPTS: Final = {  # in the home folder, by shell
    "bash": f".bash_completions/{PROGRAM}.sh",
    "zsh": f".zfunc/_{PROGRAM}",
    "fish": f".config/fish/completions/{PROGRAM}.fish",
}
STARTS: Final = {  # the file that the shell reads when it starts, and the line that makes it find the script
    "bash": (".bashrc", f"source ~/{SCRIPTS['bash']}"),
    "zsh": (".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
}


def _shell() -> str:
    found = Path(os.environ.get("SHELL", "")).name
    if found not in SCRIPTS:
        known = ", ".join(SCRIPTS)
        raise click.BadParameter(f"Completion is for {known}; $SHELL names '{found}'. Set it: SHELL=zsh {PROGRAM} …")
    return found


def _script(ctx: click.Context, shell: str) -> str:
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None  # click has the three shells of SCRIPTS
    return made(ctx.command, {}, PROGRAM, VARIABLE).source()


def _show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        print(_script(ctx, _shell()))
        ctx.exit()


def _install(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    shell = _shell()
    target = Path.home() / SCRIPTS[shell]
    text = _script(ctx, shell)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        if shell in STARTS:
            _begin_with(*STARTS[shell])
    except OSError:
        raise SpecError(f"{target} cannot be written: check that its folder exists and is yours.") from None
    print(f"{shell} completion installed in {target}\nCompletion will take effect once you restart the terminal")
    ctx.exit()


def _begin_with(name: str, line: str) -> None:
    """Add a line to a file that the shell reads when it starts, unless it is there."""
    start = Path.home() / name
    known = start.read_text(encoding="utf-8") if start.is_file() else ""
    if line not in known.splitlines():
        with start.open("a", encoding="utf-8") as opened:
            opened.write(f"{'' if known.endswith(chr(10)) or not known else chr(10)}{line}\n")


install = click.option(
    "--install-completion",
    is_flag=True,
    expose_value=False,
    callback=_install,
    help="Install completion for the current shell.",
)
show = click.option(
    "--show-completion",
    is_flag=True,
    expose_value=False,
    callback=_show,
    help="Show completion for the current shell, to copy it or customize the installation.",
)
