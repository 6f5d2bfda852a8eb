"""Choice of training data: subsets of a corpus, judged by models that are trained on them."""
