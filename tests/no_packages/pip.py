"""In place of `pip`, whose answer takes a quarter of a second in each run of the engine.

The engine asks for installed packages whose plugins it could fetch. Stacks of tests fetch none: they have the project's own plugin, and their clouds' by path.
"""

print([])
