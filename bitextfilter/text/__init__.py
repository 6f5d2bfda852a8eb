"""From sentences to numbers: normalise, segment, look up; and which language a text is in."""
