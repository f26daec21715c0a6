"""What all engines that are asked over HTTP share: requests, their guard and key, JSON pages of results, causes of
failures.
"""
