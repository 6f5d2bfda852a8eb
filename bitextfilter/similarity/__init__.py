"""How alike two sentence vectors are: plain measures, margins, neighbours and a classifier."""
