"""Runs lines of Python as a notebook would and prints what each one gives.

stdin: a JSON list of lines. stdout: a JSON list with the rows of each line's
value: its last expression, or what it assigns last.
"""

import ast
import json
import sys


def rows(value):
    if hasattr(value, "fetchall"):  # duckdb
        return [dict(zip(value.columns, row)) for row in value.fetchall()]
    if hasattr(value, "to_dicts"):  # polars
        return value.to_dicts()
    return json.loads(value.to_json(orient="records", double_precision=15))  # pandas


def value_of(line):
    names = {}
    tree = ast.parse(line)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        exec(compile(ast.Module(tree.body[:-1], []), line, "exec"), names)
        return eval(compile(ast.Expression(last.value), line, "eval"), names)
    exec(compile(tree, line, "exec"), names)
    return names[last.targets[0].id]


json.dump([rows(value_of(line)) for line in json.load(sys.stdin)], sys.stdout)
