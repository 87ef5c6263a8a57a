"""`slidewise state`: a look inside a stream's checkpoint, in the terminal, as JSON or as a picture."""
