"""From the crawl store to the dataset's tables: pages, labels and numbers. A pure function of the store."""
