"""The crawl store: raw responses as WARC, an SQLite index, and who may write them."""
