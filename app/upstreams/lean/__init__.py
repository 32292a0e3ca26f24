"""Our own lean HTTP/1.1 client for the byte path. `LeanTransport` is the door."""
