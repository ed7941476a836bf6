# Image of a Ray node that runs fsl-sweep: head, worker or a single machine.
#   docker build -t fsl-sweep .
#   docker run --rm -v "$PWD/runs:/sweep/runs" fsl-sweep fsl-sweep run quickstart
# No entry point: cluster launchers start their own commands in this image.
FROM python:3.11-slim

RUN useradd --create-home sweep && mkdir /sweep && chown sweep /sweep
COPY . /opt/fsl-sweep
RUN pip install --no-cache-dir -c /opt/fsl-sweep/constraints.txt /opt/fsl-sweep

USER sweep
WORKDIR /sweep
CMD ["fsl-sweep", "--help"]
