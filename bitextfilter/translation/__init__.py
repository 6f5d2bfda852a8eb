"""Translation models: an encoder and a decoder with attention, search, and cost of a target."""
