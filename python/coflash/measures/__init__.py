"""What a run measures: its metrics, typed; what they are called; and in which order they are shown."""
