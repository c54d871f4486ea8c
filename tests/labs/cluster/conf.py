"""Writes Hadoop configuration directories for clients of the test clusters."""

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET


def write_site(path: Path, properties: Mapping[str, str]) -> None:
    """Writes one ``*-site.xml``."""
    configuration = ET.Element("configuration")
    for name in sorted(properties):
        element = ET.SubElement(configuration, "property")
        ET.SubElement(element, "name").text = name
        ET.SubElement(element, "value").text = properties[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(configuration).write(path, encoding="utf-8", xml_declaration=True)


def merged(*parts: Mapping[str, str]) -> dict[str, str]:
    """Merges properties; later ones replace earlier ones."""
    return {name: value for part in parts for name, value in part.items()}
