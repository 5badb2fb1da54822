# For maintainers. Learners need two commands only: `python -m course_lib lab` and `... test`.
PYTHON ?= python
COMPILE = uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements"

.PHONY: notebooks exercises bench requirements lint

notebooks:  # run all notebooks and save them clean
	$(PYTHON) -m course_lib notebooks

exercises:  # make exercises/ from solutions/
	$(PYTHON) -m course_lib exercises

bench:  # speed, as ratios
	$(PYTHON) -m benchmarks

requirements:  # the lock files, from pyproject.toml; needs uv; delete the files first for newer versions
	$(COMPILE) --output-file requirements.txt
	$(COMPILE) --extra workshop --constraint requirements.txt --output-file requirements-workshop.txt
	$(COMPILE) --extra workshop --extra test --constraint requirements-workshop.txt --output-file requirements-test.txt

lint:
	ruff check .
	ruff format --check .
