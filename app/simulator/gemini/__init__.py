"""Google's generateContent family: proto-JSON, rules, thought signatures, replies and models."""
