"""The routes of the delivery log and the signing secret (spec 4.20)."""

from starlette.routing import Route

from mediakit.sandbox.webhooks import delivery_routes, secret_routes

LOG = "/v1/webhooks/deliveries"
SECRET = "/v1/webhooks/secret"

ROUTES = (
    Route(LOG, delivery_routes.read_all, methods=["GET"]),
    Route(f"{LOG}/{{delivery_id}}", delivery_routes.read, methods=["GET"]),
    Route(f"{LOG}/{{delivery_id}}/attempts", delivery_routes.attempts, methods=["GET"]),
    Route(f"{LOG}/{{delivery_id}}/replay", delivery_routes.replay, methods=["POST"]),
    Route(SECRET, secret_routes.read, methods=["GET"]),
    Route(f"{SECRET}/rotate", secret_routes.rotate, methods=["POST"]),
)
