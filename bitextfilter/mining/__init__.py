"""Mining of translations in two collections, and alignment of documents."""
