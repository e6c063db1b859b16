// How search results are ordered. Pages that tell of what was asked come first, guides and questions next, then the
// reference, and names of other libraries last. Sphinx reads this file by its setting html_search_scorer.

// Words that people look for, and the page about them; tests/test_docs.py looks whether the page has the word.
const ABOUT = {
  accuracy: "ask/score", calibration: "plots", class: "ask/classify", columns: "ask/columns",
  command: "command-line", compare: "ask/compare", conformal: "ask/sets", cost: "ask/priors", csv: "your-table",
  drift: "ask/drift", explain: "ask/explain", excel: "your-table", forest: "forest",
  forget: "editing", gpu: "embeddings", imbalance: "imbalance", importance: "ask/columns", impute: "ask/missing",
  install: "start", label: "ask/labels", leave: "ask/leave-one-out", lift: "imbalance", limits: "limits", merge: "editing",
  missing: "ask/missing", notebook: "notebooks", onehotencoder: "pipelines", onnx: "leaving", outlier: "ask/outliers",
  parquet: "scale", pipeline: "pipelines", plot: "plots", prior: "ask/priors", rare: "imbalance", reasons: "ask/explain",
  release: "editing", sample: "ask/sample", scikit: "coming-from/scikit-learn", spark: "scale", sparse: "pipelines",
  sql: "leaving", score: "ask/score", threshold: "ask/score", torch: "embeddings", weka: "coming-from/weka", page: "page",
  naive: "reference/naive-bayes", lineardiscriminantanalysis: "coming-from/scikit-learn", gaussiannb: "coming-from/scikit-learn",
};

const GROUPS = [
  [/^(drop-in|parity|reference\/drop-in)$/, -40],
  [/^reference\//, -12],
  [/^(results|add-a-family|tour\/.*|coming-from\/.*|limits)$/, -8],
  [/^(guides|api|asking)$/, -6],
  [/^(glossary|verbs)$/, -4],
];

const asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/[^a-z]+/);

var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    const about = asked.some((word) => word && (ABOUT[word] || ABOUT[word.replace(/s$/, "")]) === docname);
    const group = GROUPS.find(([pattern]) => pattern.test(docname));
    return score + (about ? 40 : 0) + (group ? group[1] : 0);
  },
  objNameMatch: 15,
  objPartialMatch: 4,
  objPrio: { 0: 2, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
