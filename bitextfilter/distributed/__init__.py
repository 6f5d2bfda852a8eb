"""The engine on many machines: an ordered map of tasks on a Ray cluster."""
