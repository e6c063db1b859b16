"""Errors for file formats that are not read, with the command that converts them."""

from __future__ import annotations

_PANDAS = "save it as .csv or .xlsx there, or in Python: pandas.{}(…).to_csv('table.csv', index=False)"
# By their endings: what they hold, and how to go on.
CONVERTED = {
    ".json": (
        "JSON",
        "write one object a line into a .jsonl, for example by jq -c '.[]' table.json > table.jsonl",
    ),
    ".zip": ("an archive", "unpack it, and give the table in it"),
    ".7z": ("an archive", "unpack it, and give the table in it"),
    ".tar": ("an archive", "unpack it, and give the table in it"),
    ".tgz": ("an archive", "unpack it, and give the table in it"),
    ".sav": ("a table of SPSS", _PANDAS.format("read_spss")),
    ".dta": ("a table of Stata", _PANDAS.format("read_stata")),
    ".sas7bdat": ("a table of SAS", _PANDAS.format("read_sas")),
    ".xpt": ("a table of SAS", _PANDAS.format("read_sas")),
    ".rds": ("an object of R", "in R: write.csv(readRDS('table.rds'), 'table.csv', row.names = FALSE)"),
    ".rdata": ("objects of R", "in R: load it, and write.csv(table, 'table.csv', row.names = FALSE)"),
    ".numbers": ("a sheet of Numbers", "there: File, Export To, CSV or Excel"),
    ".html": ("a web page", _PANDAS.format("read_html")),
    ".xml": ("XML", _PANDAS.format("read_xml")),
    ".pdf": ("a document", "copy its table into a sheet, and save that as .csv or .xlsx"),
    ".doc": ("a document", "copy its table into a sheet, and save that as .csv or .xlsx"),
    ".docx": ("a document", "copy its table into a sheet, and save that as .csv or .xlsx"),
    ".db": (
        "a database",
        "write the result of a query as .csv, or in Python: fit_table((duckdb.connect(…), 'SELECT …'), …)",
    ),
    ".h5": ("HDF5", _PANDAS.format("read_hdf")),
    ".pkl": ("Python objects", "in Python: fit(table, labels), or table.to_csv('table.csv', index=False)"),
    ".npy": ("an array of NumPy", "in Python: fit(numpy.load(…), labels)"),
    ".npz": ("arrays of NumPy", "in Python: fit(numpy.load(…)[…], labels)"),
    ".arff": ("a table of Weka", "there: save it as .csv"),
    ".avro": ("Avro", "in Python: polars.read_avro(…).write_csv('table.csv')"),
    ".orc": ("ORC", "in Python: pyarrow.orc.read_table(…), and fit_table(table, …)"),
}
CONVERTED |= {".sqlite": CONVERTED[".db"], ".sqlite3": CONVERTED[".db"], ".duckdb": CONVERTED[".db"]}
CONVERTED |= {".htm": CONVERTED[".html"], ".hdf5": CONVERTED[".h5"], ".pickle": CONVERTED[".pkl"]}
