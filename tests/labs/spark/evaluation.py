"""Spark's two ways to evaluate an expression: as walsafe does for few rows, and for large listings."""

_SETTINGS = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
INTERPRETED = dict(zip(_SETTINGS, ("false", "NO_CODEGEN"), strict=True))
"""Of the session that tests share: on their small tables a tenth less CPU time than with generated code."""
COMPILED = dict(zip(_SETTINGS, ("true", "FALLBACK"), strict=True))
