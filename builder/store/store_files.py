"""The names of the files of a crawl store."""

WARC_FILE, INDEX_FILE, LOCK_FILE, LOG_FILE = "responses.warc.gz", "index.sqlite3", "lock", "build.log.jsonl"
