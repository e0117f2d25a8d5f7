# perfmodel in a container, from its wheel: the service (the default) and the pages.
#   docker build -t perfmodel .
#   docker run -p 8080:8080 -v "$PWD/tokens:/run/secrets/tokens:ro" perfmodel
#   docker build -t perfmodel-app --target app .
#   docker run -p 127.0.0.1:8501:8501 perfmodel-app
# Tokens belong to user 10001 and have mode 0400. docs/operating.md says what else can be set.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY perfmodel perfmodel/
COPY hardware_specs hardware_specs/
COPY validation validation/
COPY app app/
COPY docs docs/
RUN ["python", "-m", "pip", "wheel", "--no-cache-dir", "--no-deps", "--wheel-dir", "/wheels", "."]

FROM python:${PYTHON}-slim AS installed
RUN useradd --uid 10001 --create-home perfmodel
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir "$(echo /wheels/*.whl)[serve,app,stats,onnx,parquet]"
# licences of everything installed: /licences.csv
RUN --mount=type=bind,from=wheel,source=/source/docs,target=/source/docs \
    cd /source && python -m docs.site.dependencies > /licences.csv
USER 10001
WORKDIR /home/perfmodel
ENTRYPOINT ["perfmodel"]

FROM installed AS app
EXPOSE 8501
HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=5)"]
CMD ["app", "--host", "0.0.0.0", "--port", "8501", "--no-open"]

FROM installed AS service
ENV PERFMODEL_SERVE_TOKEN_FILE=/run/secrets/tokens
EXPOSE 8080
HEALTHCHECK --start-period=10s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=5)"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
