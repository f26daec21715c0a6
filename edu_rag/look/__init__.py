"""What every HTML page of ours shares, the board's and the harness's: texts, links, bars, colours, templates."""
