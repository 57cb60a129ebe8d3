"""``gdpbridge completion``: scripts with which shells complete commands, kinds and options."""

from __future__ import annotations

from collections.abc import Callable

import typer

from gdpbridge.cli.commands import Command, Group
from gdpbridge.cli.completing import ASKED, FILES
from gdpbridge.cli.output import Output

__all__ = ["add_to"]

_BASH = f"""\
_gdpbridge() {{
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == {FILES} ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do COMPREPLY+=("$line"); done \\
                < <(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")
        else
            COMPREPLY+=("${{line%%$'\\t'*}}")
        fi
    done < <({ASKED}=1 "$1" "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)
}}
complete -F _gdpbridge gdpbridge
"""
_ZSH = f"""\
#compdef gdpbridge
_gdpbridge() {{
    local line word
    local -a found
    local -x {ASKED}=1
    for line in "${{(@f)$("${{(Q)words[1]}}" "${{(@Q)words[2,$CURRENT]}}" 2>/dev/null)}}"; do
        if [[ $line == {FILES} ]]; then
            _files
        elif [[ -n $line ]]; then
            word=${{line%%$'\\t'*}}
            found+=("${{word//:/\\\\:}}:${{line#*$'\\t'}}")
        fi
    done
    (( $#found )) && _describe -V gdpbridge found
}}
compdef _gdpbridge gdpbridge
"""
_FISH = f"""\
function __gdpbridge_complete
    set -lx {ASKED} 1
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in (command $before[1] $before[2..-1] "$current" 2>/dev/null)
        if test "$line" = {FILES}
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c gdpbridge -f -a '(__gdpbridge_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_EPILOG = """\
Examples, for the file that the shell reads when it starts:

\b
  eval "$(gdpbridge completion bash)"        in ~/.bashrc
  eval "$(gdpbridge completion zsh)"         in ~/.zshrc, after compinit
  gdpbridge completion fish | source         in ~/.config/fish/config.fish
"""


class _Shells(Group):
    """The shells."""

    noun = "shell"


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    shells = typer.Typer(cls=_Shells, rich_markup_mode=None, add_completion=False)
    for shell in _SCRIPTS:
        shells.command(shell, cls=Command, help=f"For {shell}.")(_printing(shell))
    app.add_typer(
        shells,
        name=name,
        help=summary,
        short_help=summary,
        epilog=_EPILOG,
        subcommand_metavar="SHELL",
    )


def _printing(shell: str) -> Callable[[], Output]:
    def script() -> Output:
        return Output(_SCRIPTS[shell])

    return script
