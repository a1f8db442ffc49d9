"""Certificates: the record of what was let out, its verification, and how it is shown.

record -> verify, summary, officer, render   what takes a record
certificate                                  the record with these as its verbs
makers                                       certificates of models and sessions
"""
