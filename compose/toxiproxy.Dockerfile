# toxiproxy 2.12.0 with the proxies of compose.yaml. Its context is this folder.
ARG BASE_IMAGE=ghcr.io/shopify/toxiproxy:2.12.0
FROM ${BASE_IMAGE}
LABEL pairproof.image=toxiproxy
COPY toxiproxy.json /etc/toxiproxy.json
CMD ["-host=0.0.0.0", "-config=/etc/toxiproxy.json", "-proxy-metrics"]
