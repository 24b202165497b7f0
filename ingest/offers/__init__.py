"""Catalogues of offers: one reader a format, names, places and prices made one."""
