"""A local look at the site: the one part of the board with a door to the network, which no other part may open."""
