# walsafe in a container:  docker build -t registry.example.org/walsafe:0.1.0 .   (docs/clusters.md, Containers)
# Debian 12, because the tests prove walsafe with its Java 17 and Python 3.11.
FROM debian:bookworm-slim

# krb5-user: kinit, for sites with Kerberos. The user needs a name: Hadoop refuses a number without one.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates krb5-user openjdk-17-jre-headless python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin walsafe

WORKDIR /opt/walsafe

# The packages and Delta's jars in a layer of their own, which the next version of walsafe keeps. Behind a firewall:
# --build-arg PIP_INDEX_URL=..., and --build-arg WALSAFE_IVY_SETTINGS=ivysettings.xml with this file beside the Dockerfile
ARG PIP_INDEX_URL
ARG WALSAFE_IVY_SETTINGS
COPY spark-submit.sh requirements.txt jars.lock ivysettings.xml* ./
COPY scripts scripts
COPY jobs/cli/launch jobs/cli/launch
RUN PIP_NO_CACHE_DIR=1 ./spark-submit.sh --set-up && rm -rf .cache

# With HBase's client, if its jars are in the folder hbase-client beside the Dockerfile.
COPY . .
RUN .venv/bin/python -m compileall -q jobs pipelines schemas

# At run time only /tmp is written.
ENV HOME=/tmp LANG=C.UTF-8
USER 10001:10001
# Ctrl-C: the night ends after the batch or job at work
STOPSIGNAL SIGINT
ENTRYPOINT ["/opt/walsafe/spark-submit.sh"]
CMD ["--help"]
