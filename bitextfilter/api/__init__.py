"""The public functions: each does the work of a command, on Python values.

A pair is a tuple or a list: source, target, perhaps more members, and last of all its score. The
package ``bitextfilter`` has all public names; they are not imported from here.
"""
