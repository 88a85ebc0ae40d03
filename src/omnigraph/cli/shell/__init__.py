"""The prompt: ``prompt`` reads lines, ``statements`` knows when one is whole, ``session`` does what
it says, ``words`` proposes how to go on."""
