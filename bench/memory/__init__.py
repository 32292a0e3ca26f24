"""The conversation bench: what long chats keep, send and cost through Foldline, beside two plain policies."""
