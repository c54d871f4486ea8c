"""A Maven repository in a folder of this machine, for those who fetch Delta's jars without a network."""

import shutil
from pathlib import Path

from jobs.cli.launch.jars import read_lock
from tests.labs.places import PROJECT


def jar_repository(folder: Path) -> Path:
    """Makes the repository of the jars in jars.lock; returns the Ivy settings that name it."""
    for jar in read_lock(PROJECT / "jars.lock"):
        home = folder / jar.organisation / jar.module / jar.revision
        home.mkdir(parents=True)
        shutil.copyfile(PROJECT / ".jars" / jar.place, home / f"{jar.module}-{jar.revision}.jar")
    settings = folder / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here">'
        f'<artifact pattern="{folder}/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"/>'
        "</filesystem></resolvers></ivysettings>"
    )
    return settings
