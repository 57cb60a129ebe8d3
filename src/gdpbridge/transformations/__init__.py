"""What makes a mechanism of other mechanisms: composition, sampling, clip and rectify."""
