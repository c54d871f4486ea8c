"""The rule as pure functions over frozen values: the specification that every other form must equal."""
