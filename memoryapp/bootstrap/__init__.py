"""The commands `start` and `test`, which run before any package is installed. Standard library only.

Each completed step leaves a stamp in .venv with a hash of its inputs. After an interruption the same command
continues with the next step.
"""
