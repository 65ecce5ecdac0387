"""What can be counted of memory and the machine: reads only, each starting from the owner."""
