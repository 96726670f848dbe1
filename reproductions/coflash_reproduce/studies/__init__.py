"""The studies: questions of our own, each a module that declares a `Study`."""
