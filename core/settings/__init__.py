"""What a person set: a file of settings, and keys in the keyring."""
