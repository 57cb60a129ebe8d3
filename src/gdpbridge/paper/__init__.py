"""The source paper, reproduced: its figures, tables and numbers beside what is computed here.

The paper is Liu, Sun, Jiang and Kong, "Identification, Amplification and Measurement: A bridge to
Gaussian Differential Privacy" (NeurIPS 2022).
"""
