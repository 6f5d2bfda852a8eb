"""Building blocks of the networks (torch) and the files they are kept in."""
