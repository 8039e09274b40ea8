print("balloon")
