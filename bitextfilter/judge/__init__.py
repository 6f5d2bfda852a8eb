"""Labels of people: sampled rows, questions, pages, and what models learn of them."""
