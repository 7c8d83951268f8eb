"""What every room uses: records, paths, files, processes, the cache. Standard library and small helpers only."""
