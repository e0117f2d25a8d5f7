"""The Streamlit app: draws and parses; every number comes from perfmodel."""
