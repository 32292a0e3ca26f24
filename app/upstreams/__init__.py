"""The world: the only room that opens sockets outward."""
