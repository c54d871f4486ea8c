"""Programs of the machine that some long tests start, and the Debian package of each."""

import shutil

import pytest

PACKAGES = {
    "promtool": "prometheus",
    "prometheus": "prometheus",
    "prometheus-pushgateway": "prometheus-pushgateway",
    "systemd-analyze": "systemd",
}


def program(name: str) -> str:
    """Returns the path of a program; fails the test with the name of the package if it is not installed."""
    path = shutil.which(name)
    if path is None:
        pytest.fail(f"{name} is not installed: apt-get install {PACKAGES[name]} (./.ci/run does it)", pytrace=False)
    return path
