"""The rails of one host: addresses, MTU, routes and rules of its fabric's interfaces, applied so that nobody is locked out. Standard library only, Python 3.9 or later."""
