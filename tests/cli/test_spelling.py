"""A name that is nearly right: what was probably meant is in the message."""

from __future__ import annotations

import pytest

from suffice.datasets import penguins_path

TABLE = penguins_path()


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        (["prdict"], 2, "predict"),
        (["fit", TABLE, "--targt", "species"], 2, "--target"),
        (["fit", TABLE, "--target", "specis", "-o", "m.suffice"], 1, "'species'"),
        (["fit", TABLE, "--target", "species", "--weight", "Years", "-o", "m.suffice"], 1, "'year'"),
        (["fit", TABLE, "--target", "species", "--model", "nb", "--family", "yaer=poisson", "-o", "m"], 1, "'year'"),
        (["update", "MODEL", TABLE, "--target", "spesies"], 1, "'species'"),
        (["impute", "MODEL", TABLE, "--target", "spezies"], 1, "'species'"),
        (["sample", "MODEL", "-n", "3", "--given", "iland=Dream"], 2, "'island'"),
        (["sample", "MODEL", "-n", "3", "--label", "gento"], 2, "'Gentoo'"),
        (["drop-class", "MODEL", "gentoo"], 1, "'Gentoo'"),
        (["rename-class", "MODEL", "Adelei=A"], 1, "'Adelie'"),
        (["show", "WRONG"], 1, "penguins.suffice"),
        (["merge", "MODEL", "WRONG", "-o", "m.suffice"], 1, "penguins.suffice"),
        (["predict", "MODEL", TABLE.with_name("pengiuns.csv")], 1, "penguins.csv"),
    ],
)
def test_the_nearest_name_is_told(cli, model, tmp_path, monkeypatch, words, status, wanted) -> None:
    monkeypatch.chdir(tmp_path)
    before = model.read_bytes()
    places = {"MODEL": model, "WRONG": model.with_name("pengins.sufice")}
    done = cli(*(places.get(word, word) for word in words))
    assert done.status == status
    assert wanted in done.complaint
    assert model.read_bytes() == before
