"""Hooks of mkdocs.yml: pages written for GitHub become pages of the site. mkdocs loads this file by its path."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from site_links import DOCS, OUTSIDE, anchor, for_the_site, outside_files, site_path

PROJECT = Path(__file__).resolve().parent.parent


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Gives headings the anchors that they have on GitHub."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchor
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files outside `docs/` to which pages link; links lead to them, the navigation does not."""
    pages = [f"{DOCS}{file.src_uri}" for file in files.documentation_pages()]
    for path in outside_files(PROJECT, pages):
        files.append(
            File.generated(
                config,
                site_path(path),
                content=(PROJECT / path).read_text(encoding="utf-8"),
                inclusion=InclusionLevel.NOT_IN_NAV,
            )
        )
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Converts the text of a page into the form that the site needs."""
    del config, files
    uri = page.file.src_uri
    source = uri.removeprefix(OUTSIDE) if uri.startswith(OUTSIDE) else f"{DOCS}{uri}"
    return for_the_site(source, markdown)
