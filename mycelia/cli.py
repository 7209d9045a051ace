"""The command line: ``mycelia run | op | explain | doctor``."""

from __future__ import annotations

import sys

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mycelia")
def main() -> None:
    """Mycelia runs MindSpore programs, compiled through LLVM."""


_RUN_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@main.command(context_settings=_RUN_SETTINGS)
@click.option(
    "--mode",
    type=click.Choice(["GRAPH", "PYNATIVE"], case_sensitive=False),
    help="Wins over the script's set_context(mode=...).",
)
@click.option("--device", "--device_target", "device", help="Wins over the script's device_target.")
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(mode: str | None, device: str | None, script: str, args: tuple[str, ...]) -> None:
    """Run a MindSpore SCRIPT unchanged; what stands after it is the script's own."""
    from mycelia.run import run_script

    if script.startswith("-"):
        raise click.UsageError(f"unknown option {script}; options for the script stand after its name")
    try:
        status = run_script(script, args, mode.upper() if mode else None, device)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    sys.exit(status)


@main.command()
@click.option("--new", is_flag=True, help="Write the skeleton of an operator NAME into a file instead.")
@click.option("--check", is_flag=True, help="Run the operator's own samples instead: a line for each check.")
@click.argument("name")
def op(name: str, new: bool, check: bool) -> None:
    """Show an operator: definition, rules, and its layers on each device."""
    if new:
        from mycelia.tools.skeleton import write_skeleton

        sys.exit(write_skeleton(name))
    from mycelia.tools.operators import check_operator, show_operator

    sys.exit(check_operator(name) if check else show_operator(name))


@main.command(context_settings=_RUN_SETTINGS)
@click.option("--mode", type=click.Choice(["GRAPH", "PYNATIVE"], case_sensitive=False))
@click.option(
    "--all", "everything", is_flag=True, help="Every compiled graph, single operators of PyNative mode too."
)
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def explain(mode: str | None, everything: bool, script: str, args: tuple[str, ...]) -> None:
    """Run SCRIPT and show what became of each graph: model -> engine -> runtime -> device."""
    from mycelia.tools.explain import explain_script

    sys.exit(explain_script(script, args, mode.upper() if mode else None, everything))


@main.command()
def doctor() -> None:
    """Look over this machine and installation."""
    from mycelia.tools.doctor import examine

    sys.exit(examine())


if __name__ == "__main__":
    main()
