"""What a notebook shows: rows as HTML, types and commits as SVG. Plain values in, text out.

Everything is escaped here: data is never markup.
"""
