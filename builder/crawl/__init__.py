"""Crawling: searching, fetching, and rounds of it, into the crawl store."""
