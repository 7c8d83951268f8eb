"""One probe in a process of its own, isolated and watched."""
