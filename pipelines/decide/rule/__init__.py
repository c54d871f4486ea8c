"""The rule as pure functions over frozen values: the specification that every other form is held to."""
