"""The catalogue: finds specs by name, reads their files and checks them."""
