# The image holds Python, the locked dependencies and Foldline; it runs as a numeric user and needs no writable root.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
RUN python -m venv /opt/foldline
# Dependencies before the project: they change rarely, and a change of the code then builds in seconds.
COPY requirements.txt ./
RUN /opt/foldline/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY app ./app
RUN /opt/foldline/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation . \
    && install -d -o 10001 -g 10001 /data

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="Foldline" \
      org.opencontainers.image.description="A stateful HTTP proxy in front of LLM APIs" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.1.0"
COPY --from=build /opt/foldline /opt/foldline
COPY --from=build --chown=10001:10001 /data /data
# A container's own loopback is reachable by nobody, so it listens on all addresses; with a provider key it then asks
# for API_KEYS, or for ALLOW_ANONYMOUS=true. Without REDIS_URL state is kept in /data.
ENV PATH=/opt/foldline/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    FOLDLINE_HOST=0.0.0.0 \
    FOLDLINE_REDIS_URL=embedded:///data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 4000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=4s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:%s/livez' % (os.environ.get('FOLDLINE_PORT') or os.environ.get('PORT') or 4000), timeout=3)"]
ENTRYPOINT ["foldline"]
CMD ["serve"]
