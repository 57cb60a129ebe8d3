"""Results as versioned plain data, and the text and JSON made from it."""
