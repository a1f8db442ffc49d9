"""The theory: adjacency, sensitivity, loss, conversion, guarantee, composition, explanation."""
