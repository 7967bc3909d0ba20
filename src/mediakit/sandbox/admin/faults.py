"""Adds, lists and removes scripted faults."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.errors import InputError
from mediakit.sandbox.core.request_body import read_object
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import service_of
from mediakit.sandbox.faults.active_faults import Fault
from mediakit.sandbox.faults.fault_rules import read_rule
from mediakit.sandbox.timing.clock import iso


async def add_fault(request: Request) -> Response:
    """Handle POST /sandbox/faults with the fault that is now in force."""
    service = service_of(request)
    try:
        rule = read_rule(await read_object(request))
        service.faults.check_function(rule)
    except InputError as problem:
        raise RequestError(422, str(problem)) from None
    fault = service.faults.add(rule, service.clock.now_us())
    service.wake_all()
    return JSONResponse(fault_object(fault), status_code=201)


async def list_faults(request: Request) -> Response:
    """Handle GET /sandbox/faults with the faults in force."""
    faults = service_of(request).faults.in_force()
    return JSONResponse({"data": [fault_object(fault) for fault in faults]})


async def remove_fault(request: Request) -> Response:
    """Handle DELETE /sandbox/faults/{fault_id}."""
    service = service_of(request)
    if not service.faults.remove(request.path_params["fault_id"]):
        raise RequestError(404, "There is no fault with this id; it may have ended.")
    service.wake_all()
    return JSONResponse({"removed_n": 1})


async def clear_faults(request: Request) -> Response:
    """Handle DELETE /sandbox/faults: all of them."""
    service = service_of(request)
    removed_n = service.faults.clear()
    service.wake_all()
    return JSONResponse({"removed_n": removed_n})


def fault_object(fault: Fault) -> dict[str, Any]:
    """Return a fault as JSON fields."""
    head = {"id": fault.id, "created_at": iso(fault.created_us), "left": fault.left_n}
    return head | fault.rule.as_json()
