"""The routes of the delivery log and the signing secret (spec 4.20)."""

from starlette.routing import Route

from mediakit.sandbox.api import deliveries, signing_secret

LOG = "/v1/webhooks/deliveries"
SECRET = "/v1/webhooks/secret"

ROUTES = (
    Route(LOG, deliveries.read_all, methods=["GET"]),
    Route(f"{LOG}/{{delivery_id}}", deliveries.read, methods=["GET"]),
    Route(f"{LOG}/{{delivery_id}}/attempts", deliveries.attempts, methods=["GET"]),
    Route(f"{LOG}/{{delivery_id}}/replay", deliveries.replay, methods=["POST"]),
    Route(SECRET, signing_secret.read, methods=["GET"]),
    Route(f"{SECRET}/rotate", signing_secret.rotate, methods=["POST"]),
)
