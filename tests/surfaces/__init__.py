"""Tests over one result of every kind: numbers, storage, pages, hostile names, and values of records."""
