"""OpenAI's formats: rules, replies and models."""
