"""Fields on a page: their values both ways, their words, and what their controls offer.

It is pure, and knows no form and no field by its name.
"""
