"""Reads export files of this and of other programs into one set of validated shapes."""
