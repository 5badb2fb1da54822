"""The commands that set the course up: `lab`, `test`, `doctor`. Standard library only."""
