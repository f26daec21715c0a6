"""The plots of a table: each a picture, sentences made from its numbers by rule, and the numbers themselves."""
