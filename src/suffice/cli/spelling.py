"""Messages of the library translated to options of the command line.

Errors and notes are written once, where they arise, for people who call the library. Here their words are exchanged.
Names and values in quotes are the users' own and stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

MODELS = {
    "GaussianDiscriminant": ("--model full", "Gaussian model"),
    "NaiveBayes": ("--model nb", "naive Bayes model"),
    "MixtureDiscriminant": ("--model mixture", "mixture model"),
    "GenerativeClassifier": ("--model auto", "automatic classifier"),
    "GenerativeForest": ("--model forest", "forest"),
}
CLASS = "|".join(MODELS)
OPTIONS = {  # keywords of the library, and the options that stand for them
    "n_components": "--components",
    "keep": "--key",
    "alpha": "--set",
    "random_state": "--seed",
    "sample_weight": "--weight",
    "families": "--family",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("by", "by_class", "costs", "decay", "dialect", "divisor", "draws"),
            *("dtype", "engine", "fdr", "folds"),
            *("given", "keep_rows", "label", "least", "like", "missing", "missing_text", "priors", "reject"),
            *("shrinkage", "smoothing", "table", "weight", "within"),
        )
    },
}
SETTINGS = (  # which the command line has no option for: models that were fitted in Python may have them
    *(
        "base",
        "columns",
        "covariance",
        "df",
        "distinct",
        "level",
        "mean_strength",
        "names",
        "orders",
        "pooled",
        "prior",
    ),
    *("shared", "strength", "unlabelled", "scale", "check", "target"),
)

# Those that reach into what is to be done next; they hold no name or value of users.
WHOLE = (
    (r"groups= \(--groups COLUMN\)", "--groups COLUMN"),
    (r"for every class in a dict by label", "for every class"),
    (
        r"\bX is an? (.*) on the device (.*) Next: (.*)move X to the CPU",
        r"The table is on the device \2 Next: \3move it",
    ),
    (r"Negative values in data passed to \w+ \(input X\)\. ", ""),
    (r"\bX is an? (.*), which cannot be read", r"The table is a \1, which cannot be read"),
    (
        r"and missing=\"error\" forbids that\. Next: fill them in, or use missing=\"em\"",
        "and the model was made to refuse that. Next: fill them in, or fit another model",
    ),
    (r"unlabelled=\"skip\", or let them join with unlabelled=\"em\"[^.]*", "`suffice fit`"),
    (r"\. Next: import it from suffice", ""),
    (r"is no dict\. Next: give \{old label: new label\}", "does not say which class gets which label"),
    (
        r"Next: use sklearn\.model_selection\.cross_val_predict\([^)]*\), or n_components=1",
        "Next: judge it by `suffice compare`, or fit with --components 1",
    ),
    (r"set SCIPY_ARRAY_API=1 in the environment and call sklearn\.set_config\([^)]*\) to compute there, or ", ""),
    (r"\. Next: see `merge` of the estimator", ": docs/editing.md says how models come to share them"),
    (r"Next: cut y into classes, or give them as text", "Next: cut them into classes, or give --labels text"),
    (r"; pass fewer rows at a time \(partial_fit, predict_proba\); or have fewer levels \([^)]*\)", ""),
    (r"Expected 2D array, got [^.:]*(?=[.:])", "This is no table of rows and columns"),
    (r"Reshape your data either using .*if it has one row", "Next: give rows and columns"),
    (r"collect it into a pandas, polars or pyarrow table, or a NumPy array", "give a table in a file"),
    (r"must be 1D array or scalar, got \d+D", "are one number for each row"),
    (r" requires y to be passed, but the target y is None", " needs labels"),
    (r"y and sample_weight go with a table of rows", "labels and weights go with a table of rows"),
    (r"such as NormalInverseWishart\(strength=1\.0\)", "above 0, by a fit in Python"),
    (r"above 0, above 0", "above 0"),
    (r"or a mapping from column names to such numbers", "or COLUMN=NUMBER"),
    (r"fit with prior=None for", "fit without a prior for"),
    (r", so that there is no coef_ or intercept_", ""),
    (r"RDA\(\.\.\.\)", "0.1"),
)

# In order; the first that fits at a place is taken. What is replaced by "" goes with the blank before it.
PHRASES: tuple[tuple[str, str], ...] = (
    # classes and their settings
    (r"GaussianDiscriminant\(shared=True[^)]*\)|\bshared=True\b", "--model shared"),
    (r"GaussianDiscriminant\(covariance=[\"']diagonal[\"'][^)]*\)|\bcovariance=[\"']diagonal[\"']", "--model diagonal"),
    (r"\bcovariance=[\"'](\w+)[\"']", r"--model \1"),
    (r"\bleave shared=False\b", "choose another --model"),
    (r"RDA\(shared=1\.0\) is the fully shared case", "--model shared is the fully shared case"),
    (r"\ban? (GenerativeClassifier) or another estimator", "a model of another kind"),
    # missing cells and missing values
    (r"; check=False (?:writes the ONNX file|returns the query) all the same", ""),
    (r"\(check=False\)", "(without --check)"),
    (r"Input X contains infinity in", "There is infinity in"),
    (r"Input X contains NaN or infinity in", "There is infinity, or no number, in"),
    (r"Input X contains NaN: cells", "Cells"),
    (r" \((?:NaN|None)\)", ""),
    (r"\bleave (keep_rows)=None", "leave out --keep-rows"),
    (r"\bleave (shrinkage)=None", "leave out --shrinkage"),
    (r"give a small shrinkage such as shrinkage=1e-3", "give a small one such as --shrinkage 0.001"),
    (r"shrinkage=0\.0\b", "--shrinkage 0"),
    (r", or None for the least that works", ", or leave out --shrinkage for the least that works"),
    (r", or None for\b", ", or leave it out for"),
    (r"\bNone is usual", "leave it out"),
    (r"is neither None nor an?\b", "is no"),
    (r"\bmust be a positive number, or None to estimate it", "must be a positive number, or left out"),
    (r"(,?) or (?:leave )?(?:\w+=)?None\b", r"\1 or leave it out"),
    (r"; tell of a class of your own by suffice\.estimators\.register", ""),
    (r", or give the statistics that method \(see `suffice\.stats`\)", ""),
    (r"a Dirichlet, or a dict of these by column", "nothing else"),
    (r"fit (it )?again with keep_rows=(\d+)", r"fit \1again with --keep-rows \2"),
    (r"fit with keep_rows\b", "fit with --keep-rows"),
    (r"fit with smoothing above", "fit with --smoothing above"),
    # the verbs
    (r"\bcall fit on\b", "run `suffice fit` on"),
    (r"as they were given to fit or partial_fit", "as they were given to `suffice fit` or `suffice update`"),
    (r"pass rows, labels and sample_weight", "give rows, labels and weights"),
    (r"with the labels and weights given to fit\b", "with their labels and weights"),
    (r"; fit, given all rows at once, can use them as they are", ""),
    (r"add rows that have one \(partial_fit\)", "add rows that have one (suffice update)"),
    (r"\bpartial_fit\b", "`suffice update`"),
    (r"rank rows by score_samples", "rank rows by the log_density of `suffice predict`"),
    (r"predict_table with priors=\"adapt\"", "--priors adapt"),
    (r"second\.release\(like=first\)", "suffice release SECOND --like FIRST"),
    (r", in the order of `classes_`", ", in the order in which `suffice show` lists the classes"),
    (r"score in Python with suffice predict", "score with suffice predict"),
    (r"pass missing=\"null\"", "give --missing null"),
    # scikit-learn's words, which the library has because scikit-learn's tests look for them
    (r"Unknown label type: continuous\. y holds", "The labels hold"),
    (r"\by mixes text and numbers", "The labels mix text and numbers"),
    (r"\by holds\b", "The labels hold"),
    (r"\by has no label in", "There is no label in"),
    (r" in y do not exist in the initial classes, the list `classes`", " are none of the classes"),
    (r"add to `classes` or correct the labels", "correct the labels"),
    (
        r"Found array with 0 feature\(s\) \(shape=\(\d+, 0\)\) while a minimum of 1 is required by \w+",
        "There is no column",
    ),
    (r"Found array with 0 sample\(s\) \(shape=\(0, \d+\)\) while a minimum of 1 is required by \w+", "There is no row"),
    (
        r"\bX has (\d+) features, but \w+ is expecting (\d+) features as input",
        r"The table has \1 columns, and the model \2",
    ),
    (r"\bX does not have valid feature names, but (?:\w+) was fitted with feature names", "The columns have no names"),
    (r"\bX has feature names, but (?:\w+) was fitted without feature names", "The model knows no names of columns"),
    (
        r"X has (\d+) rows and y has (\d+): found input variables with inconsistent numbers of samples",
        r"\1 rows, \2 labels",
    ),
    (r"every argument must be a string, or every one a number", "every cell must be text, or every one a number"),
    (r"Every sample_weight is zero", "Every weight is 0"),
    # what cyclopts says
    (
        r"unable to convert (\"[^\"]*\"|'[^']*') into int\|Literal\[(\w+)\](?:\|None)?",
        r"\1 is neither a whole number nor \2",
    ),
    (r"unable to convert (\"[^\"]*\"|'[^']*') into int\b(?:\|None)?", r"\1 is no whole number"),
    (r"unable to convert (\"[^\"]*\"|'[^']*') into float\b(?:\|None)?", r"\1 is no number"),
    (r"unable to convert (\"[^\"]*\"|'[^']*') into bool\b", r"\1 is neither true nor false"),
)


def spoken(text: object) -> str:
    """Return what the library says in the words of the command line."""
    message = str(text)
    for phrase, words in WHOLE:
        message = re.sub(phrase, words, message)
    about, mark, step = message.partition("Next: ")
    return f"{_spoken(about, 1)}{mark}{_spoken(step, 0)}" if mark else _spoken(message, 1)


def _spoken(text: str, place: int) -> str:
    """Return part of a message; classes of Python are options (0), where it says what to do, or kinds of model (1)."""
    pattern, replaced = _patterns()

    def found(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        return match[0] if kind == "own" else replaced[kind](match, place)

    return pattern.sub(found, text)


@cache
def _patterns() -> tuple[re.Pattern[str], dict[str, Callable[[re.Match[str], int], str]]]:
    """Return one pattern of all that is replaced, or skipped, and by name what takes its place."""
    replaced: dict[str, Callable[[re.Match[str], int], str]] = {}
    parts = []
    for number, (phrase, words) in enumerate(PHRASES):
        plain = re.compile(phrase)
        name = f"p{number}"
        replaced[name] = lambda match, _, plain=plain, words=words: plain.sub(words, match[0])  # type: ignore[misc]
        parts.append(f"(?P<{name}>{_without_groups(phrase)})")
    # a number in a list counts from 0, a row of a table from 1
    parts.append(r"(?P<weight>\bsample_weight\[\d+\])")
    replaced["weight"] = lambda match, _: f"the weight of row {int(match[0][14:-1]) + 1}"
    parts.append(rf"(?P<model>\b(?:[Aa]n? )?(?:{CLASS})\b(?:\([^()]*\))?)")
    replaced["model"] = _model
    names = "|".join(sorted({*OPTIONS, *SETTINGS}, key=len, reverse=True))
    parts.append(rf"(?P<setting>(?<![\w/\\-])(?:{names})=(?:\"\w[\w-]*\"|'\w[\w-]*')?)")
    replaced["setting"] = _setting
    parts.append(r"(?P<keyword>\b(?:sample_weight|keep_rows|n_components|random_state)\b(?!=))")
    replaced["keyword"] = lambda match, _: OPTIONS.get(match[0], f"--{match[0].replace('_', '-')}")
    own = r"""(?P<own>(?<![\w=])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w))"""
    return re.compile("|".join([*parts, own])), replaced


def _without_groups(phrase: str) -> str:
    """Return a pattern whose groups catch nothing, so that the one around it is the last."""
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", phrase)


def _model(match: re.Match[str], place: int) -> str:
    """Return the option that stands for a class of Python, or what such a model is called."""
    article, _, name = match[0].partition("(")[0].rpartition(" ")
    words = MODELS[name][place]
    if not article:
        return words
    if place == 0:
        return f"a model of {words}"
    an = "an" if words[0] in "aeiou" else "a"
    return f"{an.capitalize() if article[0].isupper() else an} {words}"


def _setting(match: re.Match[str], place: int) -> str:
    """Return an option, or a setting without one, in place of a keyword with its equals sign."""
    name, _, value = match[0].partition("=")
    return f"{OPTIONS.get(name) or name.replace('_', ' ')} {value.strip(chr(34) + chr(39))}"
