"""Facts → findings: one file per rule, registered by code, subscribed by annotation."""
