"""What becomes of bulky tool results, against passing all of them on and against cutting them at a limit."""
