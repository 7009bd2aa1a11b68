# One node of compose.yaml: a broker or the name server. Everything is copied and nothing installed, so the build needs
# no network, and only Python 3.11 or later in the base image. Its context is the project's folder.
ARG BASE_IMAGE=python:3.11-slim-bookworm
FROM ${BASE_IMAGE}
LABEL pairproof.image=node
RUN python3 -c 'import sys; sys.version_info >= (3, 11) or sys.exit("BASE_IMAGE must have Python 3.11 or later")'
WORKDIR /opt/pairproof
COPY pairproof/__init__.py pairproof/
COPY harness pairproof/harness
COPY reference pairproof/reference
COPY chaos pairproof/chaos
COPY compose/node.py compose/toxiproxy.json compose/
COPY compose/pair compose/pair
# The containers' root file system is read-only: compiled at each start otherwise.
RUN python3 -m compileall -q pairproof && mkdir /store
ENV PYTHONPATH=/opt/pairproof PYTHONUNBUFFERED=1
STOPSIGNAL SIGTERM
ENTRYPOINT ["python3", "compose/node.py"]
