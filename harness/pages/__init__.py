"""HTML pages of the harness: an answer explained, two systems compared, a judge audited. One file each, no script."""
