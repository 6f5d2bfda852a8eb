# The commands and the shipped models, for a processor:
#
#     make image
#     docker run --rm -i bitextfilter bitext-score < pairs.tsv
#     docker run --rm -it -v "$PWD:/data" bitextfilter
FROM python:3.11-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1
WORKDIR /source
# Compiles the network of words. Any version of the compiler will do.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY constraints.txt LICENSE pyproject.toml README.md setup.cfg setup.py ./
COPY bitextfilter bitextfilter
# PyTorch's index has builds for processors, which are much smaller.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN python -m pip wheel --no-deps --wheel-dir /wheels . \
    && python -m venv /opt/bitextfilter \
    && /opt/bitextfilter/bin/python -m pip install --extra-index-url "$TORCH_INDEX" \
        --constraint constraints.txt /wheels/*.whl

FROM python:3.11-slim
RUN useradd --create-home --uid 1000 bitext
COPY --from=build /opt/bitextfilter /opt/bitextfilter
ENV PATH=/opt/bitextfilter/bin:$PATH
USER 1000
WORKDIR /data
CMD ["bash"]
