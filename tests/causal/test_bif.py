"""The BIF reader: equal to pgmpy's on the four networks, and one sentence for what is no network."""

import gzip
import warnings

import numpy as np
import pytest
from pgmpy_reference import table_of
from refusals import check_refused

from leakscope.causal import NETWORKS, load_network, parse_bif, read_bif
from leakscope.causal.named import _FILES
from leakscope.core.errors import InputError

GARDEN = """
network garden { }
variable rain { type discrete [ 2 ] { no, yes }; }
variable hose { type discrete [ 3 ] { off, low, high }; }
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.8, 0.2; }
probability ( hose ) { table 0.5, 0.3, 0.2; }
probability ( wet | rain, hose ) {
  (no, off) 0.9, 0.1;
  (no, low) 0.4, 0.6;
  (no, high) 0.2, 0.8;
  (yes, off) 0.1, 0.9;
  (yes, low) 0.05, 0.95;
  (yes, high) 0.0, 1.0;
}
"""
WET = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.1, 0.9], [0.05, 0.95], [0.0, 1.0]]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_tables_are_those_that_pgmpy_reads(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.readwrite import BIFReader

        model = BIFReader(string=gzip.decompress((_FILES / f"{name}.bif.gz").read_bytes()).decode()).get_model()
    network = load_network(name)
    assert set(model.nodes()) == set(network.names)
    assert set(model.edges()) == {(parent, child) for child, of in network.parents.items() for parent in of}
    for cpd in model.get_cpds():
        table, values = network.tables[cpd.variable], table_of(cpd, network)
        # Published rows are rounded; here they are divided by their sums.
        np.testing.assert_allclose(table, values / values.sum(axis=1, keepdims=True), rtol=0, atol=1e-15)


def test_rows_are_matched_by_the_levels_on_them():
    assert parse_bif(GARDEN).tables["wet"].tolist() == WET
    lines = GARDEN.splitlines()
    first = lines.index("  (no, off) 0.9, 0.1;")
    lines[first : first + 6] = reversed(lines[first : first + 6])
    assert parse_bif("\n".join(lines)).tables["wet"].tolist() == WET


def test_comments_quotes_properties_scientific_numbers_and_defaults():
    network = parse_bif("""
        // a network with everything in it
        network "my garden" { property version 1; }
        /* variable ghost { type discrete [ 1 ] { boo }; } */
        variable "it rains" { type discrete [ 2 ] { "no // none", "yes" }; property "place = (1, 2)"; }
        variable wet { type discrete [ 2 ] { <5, >=5 }; }
        probability ( "it rains" ) { table 8e-1 .2; }
        probability ( wet | "it rains" ) { default 0.25, 0.75; ("no // none") 1, 0; }
    """)
    assert network.names == ("it rains", "wet")
    assert network.levels == {"it rains": ("no // none", "yes"), "wet": ("<5", ">=5")}
    assert network.tables["it rains"].tolist() == [[0.8, 0.2]]
    assert network.tables["wet"].tolist() == [[1, 0], [0.25, 0.75]]


def test_plain_and_compressed_files_are_called_what_the_file_is(tmp_path):
    plain, packed = tmp_path / "garden.bif", tmp_path / "lawn.bif.gz"
    plain.write_bytes(b"\xef\xbb\xbf" + GARDEN.encode())
    packed.write_bytes(gzip.compress(GARDEN.encode()))
    assert (read_bif(plain).name, read_bif(packed).name) == ("garden", "lawn")
    assert read_bif(plain).tables["wet"].tolist() == read_bif(packed).tables["wet"].tolist() == WET


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("( rain ) { table", "( rain | wet ) { table", "'wet'"),
        ("( rain ) { table 0.8, 0.2;", "( rain | wet ) { (no) 0.8, 0.2; (yes) 0.5, 0.5;", "'rain'"),
        ("  (yes, low) 0.05, 0.95;\n", "", "'wet'"),
        ("(yes, low) 0.05, 0.95;", "(yes, off) 0.05, 0.95;", "'wet'"),
        ("0.9, 0.1;", "0.9, 0.2;", r"1\.1"),
        ("0.9, 0.1;", "1.9, -0.9;", "'wet'"),
        ("0.9, 0.1;", "0.9, nan;", "nan"),
        ("0.9, 0.1;", "0.9, much;", "much"),
        ("0.9, 0.1;", "0.9, 0.05, 0.05;", "'wet'"),
        ("0.9, 0.1;", ";", "'wet'"),
        ("(no, low)", "(no, medium)", "'medium'"),
        ("(no, low)", "(low)", "'wet'"),
        ("[ 3 ]", "[ 4 ]", "'hose'"),
        ("wet { type discrete [ 2 ] { no, yes }", "wet { type discrete [ 2 ] { no, no }", "'wet'"),
        ("{ off, low, high }", '{ off, low, "high, or more" }', "'hose'"),
        ("variable hose", "variable rain", "'rain'"),
        ("( wet | rain, hose )", "( wet | rain, sprinkler )", "'sprinkler'"),
        ("( hose )", "( rain )", "'rain'"),
        ("probability ( hose ) { table 0.5, 0.3, 0.2; }", "", "'hose'"),
        ("type discrete [ 2 ] { no, yes }; }\nvariable hose", "type continuous; }\nvariable hose", "'rain'"),
    ],
)  # fmt: skip
def test_bif_texts(old, new, name):
    assert old in GARDEN
    check_refused(lambda: parse_bif(GARDEN.replace(old, new, 1)), name)


def test_a_text_cut_anywhere():
    whole = GARDEN.rstrip()
    for cut in range(len(whole)):
        with pytest.raises(InputError):
            parse_bif(whole[:cut])


@pytest.mark.parametrize(
    "text", ["/*" * 50_000, "variable " * 50_000, "probability (" * 50_000, "variable x {" * 20_000]
)
def test_hostile_texts_end(text):
    """Patterns that backtrack without end would hang here."""
    with pytest.raises(InputError):
        parse_bif(text)


def test_a_table_that_would_fill_the_memory_is_refused_before_it_is_made():
    levels = ", ".join(f"l{k}" for k in range(200))
    text = "".join(f"variable v{k} {{ type discrete [ 200 ] {{ {levels} }}; }}\n" for k in range(6))
    check_refused(lambda: parse_bif(text + "probability ( v0 | v1, v2, v3, v4, v5 ) { default 1.0; }"), "'v0'")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "BIF"),
        (b"age,sex\n31,f\n", "BIF"),
        (b"<?xml version='1.0'?><BIF/>", "BIF"),
        (b"\x00\xff\xfe\x01" * 100, "bad.bif"),
        (b"\x1f\x8bnot a gzip file", "bad.bif"),
        (gzip.compress(GARDEN.encode())[:-30], "bad.bif"),
    ],
)
def test_files(tmp_path, content, name):
    path = tmp_path / "bad.bif"
    path.write_bytes(content)
    check_refused(lambda: read_bif(path), name)
    for other in (tmp_path, tmp_path / "no.bif"):
        check_refused(lambda other=other: read_bif(other), other.name)
