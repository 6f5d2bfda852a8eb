"""What trains and evaluates: the parts of the rooms below, put together."""
