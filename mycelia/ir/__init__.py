"""The intermediate representation: types, graph, operator records, text form, verifier, interpreter."""
