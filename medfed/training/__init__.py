"""Training: a network and cases in, a network trained to completion out."""
