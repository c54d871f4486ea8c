"""Tables and paragraphs of the text that jobs print."""

from pipelines.common.text import text_table, wrapped


def test_columns_have_the_given_width_and_longer_cells_push_the_rest_of_their_line() -> None:
    rows = [("class", "queues"), ("NORMAL", 1234567), ("A_VERY_LONG_CLASS", 1)]
    assert list(text_table("  {:<8} {:>9}", rows)) == [
        "  class       queues",
        "  NORMAL   1,234,567",
        "  A_VERY_LONG_CLASS         1",
    ]


def test_a_column_without_a_width_is_as_wide_as_its_widest_cell() -> None:
    rows = [("", "files", "why"), ("night 1", 12_000, "all of it"), ("n", 7, "")]
    assert list(text_table("{:<}  {:>}  {:<}", rows)) == [
        "          files  why",
        "night 1  12,000  all of it",
        "n             7",
    ]


def test_words_between_columns_stay_and_no_row_is_no_line() -> None:
    assert list(text_table("{:>3} files{:>5}", [(2, "1 B")])) == ["  2 files  1 B"]
    assert list(text_table("{:<}", [])) == []


def test_paragraphs_are_indented_and_never_cut_a_name() -> None:
    name = "x" * 130
    assert wrapped(f"WAL {name} is gone", "  ") == f"  WAL\n     {name}\n     is gone"
