"""The spend reports of an asynchronous client, as frames."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pandas as pd
from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.billing import BillingReader
from mediakit.client.budgets import AnyBudget, Budget, budget_of
from mediakit.client.history_view import AsyncHistoryView
from mediakit.clock import Clock
from mediakit.errors import IncompleteDataWarning, InputError, ServiceError
from mediakit.safe_text import shown
from mediakit.spend import forecasting
from mediakit.spend.anomalies import anomalies_frame
from mediakit.spend.budget_status import BudgetStatus, budget_days, budget_status
from mediakit.spend.charges import charges_frame, rate_audit
from mediakit.spend.dates import (
    DEFAULT_DAYS,
    ServiceClock,
    day_range,
    days_before,
    end_of_month,
    month_of,
    month_text,
    read_day,
)
from mediakit.spend.exporting import write_file
from mediakit.spend.forecasting import Forecast
from mediakit.spend.reconcile import Reconciliation, reconciled
from mediakit.spend.service_bill import read_bill
from mediakit.spend.service_reports import (
    COLUMNS,
    By,
    DailyReader,
    DayQuery,
    MonthlyReader,
    read_by,
)

OK = 200  # the status of an error about an unreadable report


class AsyncSpend:
    """Reports on spend; reading is free (spec 4.19)."""

    def __init__(
        self,
        billing: BillingReader,
        history: AsyncHistoryView,
        catalog: Catalog,
        clock: Clock,
    ) -> None:
        self._history = history
        self._catalog = catalog
        self._clock = clock
        self.service_clock = ServiceClock(clock)
        self._days = DailyReader(billing, catalog, self.service_clock)
        self._months = MonthlyReader(billing, catalog, self.service_clock)
        self._billing = billing

    def __repr__(self) -> str:
        return (
            "<spend, read by today(...), daily(...), monthly(...), monthly_csv(...), "
            "to_csv(...), charges(...), reconcile(...), rates(...), forecast(...), "
            "anomalies(...) and budget(...); report(...) writes a month as a page>"
        )

    async def daily(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        *,
        by: By = None,
        api_key_id: str | None = None,
        model: str | None = None,
        refresh: bool = False,
    ) -> pd.DataFrame:
        """Read the spend of some days by key and function (spec 4.19).

        A range is read by calendar month, a few months at a time. Days that ended two
        days ago are kept in memory and not read again: a refund of such a day shows
        only with `refresh`. A row whose charge cannot be read is not included in any
        sum; an `mk.IncompleteDataWarning` says so.

        Args:
            start: The first day, YYYY-MM-DD in UTC; 30 days up to `end` when omitted.
            end: The last day, included; today in UTC by the service's clock when
                omitted.
            by: Sum by day and any of "function", "kind", "key", "model" and "project",
                one name or a list; by day alone with an empty list.
            api_key_id: Only the spend of this key.
            model: Only the spend on this model.
            refresh: Read every day again, including those that are kept in memory.

        Returns:
            Columns day (datetime64), api_key_id, model and function (str), jobs
            (Int64), charge_micro_usd (int64; Int64 where a row names none), charge_usd
            (float64, US dollars), whatever else the service sends, kind (str:
            mediakit's name for the function, missing if its path is not bound), and
            complete (bool: False for the service's today and later); no rows but the
            same dtypes when nothing has settled.

            With `by`: day, function and kind, api_key_id, model or project, then jobs,
            charge_micro_usd, charge_usd and complete. Projects come from the history;
            charges that are not in the history are in a row without a project, so that
            the sums do not change.

        Raises:
            InputError: A day cannot be read, the end is before the start, all of the
                range is in the future, or another argument is invalid.
            ServiceError: The service does not respond.
        """
        query = DayQuery(
            None if start is None else read_day("start", start),
            None if end is None else read_day("end", end),
            api_key_id,
            model,
            refresh=refresh,
        )
        return await self._days.summed(query, by, self._charges_from)

    async def today(self, *, by: By = None) -> pd.DataFrame:
        """Read today's charges in UTC, by the service's clock (spec 4.19).

        Args:
            by: Sum by any of the names that `daily` takes.

        Returns:
            The rows of `daily` for today; none when nothing has settled yet.

        Raises:
            InputError: There is no such name.
            ServiceError: The service does not respond.
        """
        read_by(by)
        today = await self._today()
        return await self.daily(today, today, by=by)

    async def monthly(self, month: str | None = None) -> pd.DataFrame:
        """Read the report of a calendar month by settlement date (spec 4.19).

        Args:
            month: YYYY-MM in UTC; this month by the service's clock when omitted.

        Returns:
            One row per function; amounts are int64 micro-USD, charge_usd is float64,
            kind (str) is mediakit's name for the function. The report's other fields
            are in `attrs["report"]`.

        Raises:
            InputError: The month cannot be read, or is in the future.
            ServiceError: The service does not respond.
        """
        return await self._months.frame(month)

    async def monthly_csv(self, month: str | None = None) -> pd.DataFrame:
        """Read the same month from its CSV, without the totals row (spec 4.19).

        Args:
            month: YYYY-MM in UTC; this month by the service's clock when omitted.

        Returns:
            One row per function; the totals row is in `attrs["total_micro_usd"]`.

        Raises:
            InputError: The month cannot be read, or is in the future.
            ServiceError: The service does not respond.
        """
        return await self._months.csv(month)

    async def reconcile(
        self, month: str | None = None, *, own_keys: str | Iterable[str] | None = None
    ) -> Reconciliation:
        """Compare this history with the service's bill for a month (spec 4.19).

        The sums of the history, the daily report and the monthly report are compared by
        function and API key. Each row has a verdict: equal, timing (jobs that are not
        settled yet, or near the month's edge, can explain the difference), other_key,
        missing_here or missing_there; or none, if it cannot be compared.

        Args:
            month: YYYY-MM in UTC; this month by the service's clock when omitted.
            own_keys: The IDs of the API keys that belong to this history, as in
                `daily()`. When omitted, the charges of all keys are compared with it.

        Returns:
            `text` is one sentence with every amount; `is_explained` is true only if
            both reports were read and the history has the same sums; `frame()` has the
            rows.

        Raises:
            InputError: The month cannot be read or has not begun.
            AuthError: The API key may not read the bill.
            ServiceError: The service does not respond.
        """
        month_name = None if month is None else month_text(month)
        keys = _checked_keys(own_keys)
        result = await self._reconciled(month_name, keys)
        if not result.is_explained and result.is_so_far:
            # A charge may have been settled between two reads of the current month.
            result = await self._reconciled(result.month, keys)
        return result

    async def _reconciled(
        self, month: str | None, own_keys: tuple[str, ...] | None
    ) -> Reconciliation:
        # Read the history first: a charge that settles in the meantime is still an open
        # job.
        history = await self._history.frame()
        bill = await read_bill(self._billing, self._months, self.service_clock, month)
        kinds = {function.path: function.kind for function in self._catalog}
        return await to_thread.run_sync(reconciled, bill, history, kinds, own_keys)

    async def rates(self) -> pd.DataFrame:
        """Compare charges with estimates (spec 8).

        Only completed jobs with a known charge count. A job is wrong if its estimate
        was exact and its charge differs, or if it cost more than its upper bound.

        Returns:
            One row per function and kind of estimate: function, kind and estimate_kind
            (str), jobs and charge_micro_usd (int64), estimate_micro_usd and
            difference_micro_usd (Int64, charge less estimate, <NA> for unknown
            estimates), charge_by_estimate (float64, the factor by which to correct a
            nominal estimate), wrong_jobs (int64), first_wrong_day and
            out_of_date_since (datetime64: the day from which on every job is
            wrong).
        """
        return await to_thread.run_sync(rate_audit, await self._history.frame())

    async def budget(self, budget: Budget, month: str | None = None) -> BudgetStatus:
        """Report how much of a budget is used, across all clients of the history.

        Args:
            budget: The budget.
            month: The month of a monthly budget, YYYY-MM; the current one by the
                client's clock when omitted.

        Returns:
            What is spent, held and left in micro-USD, the warning level reached, and
            `frame()`: the burn-down by day.

        Raises:
            InputError: It is not a budget, or it has no such month.
        """
        history, now = self._history.store, self._clock.now()
        return await to_thread.run_sync(budget_status, history, budget, now, month)

    async def forecast(
        self,
        month: str | None = None,
        budget: AnyBudget | None = None,
        *,
        project: str | None = None,
        api_key_id: str | None = None,
        until: str | date | None = None,
    ) -> Forecast:
        """Forecast a month's total, with an 80% interval.

        It covers all keys; one project or key; or, with a `mk.Budget`, the charges
        against that budget in this history, as in `budget()`. The forecast uses the
        charges of the thirteen weeks before the month and of the month so far. `text`
        summarises the forecast, and `method` describes how it was made. If the daily
        report cannot be read, the forecast is made from the charges in this history;
        the text and an `mk.IncompleteDataWarning` say so.

        Args:
            month: YYYY-MM in UTC; this month by the service's clock when omitted. For
                a month that is over, the forecast is its exact sum.
            budget: The budget to compare with: a `mk.Budget`, or an amount such as "$5"
                for the spend of all keys, the project or the key.
            project: Only of this project, by the charges in this history.
            api_key_id: Only of this key, by the service's daily report.
            until: The last day on which spend is expected, such as the end of a
                project; the month's last day when omitted.

        Raises:
            InputError: The month or day cannot be read, the month has not begun, the
                budget is not an amount, more than one of a `mk.Budget`, a project and a
                key is given, or the service does not report keys.
            ServiceError: The service does not respond.
        """
        compared = budget_of("forecast", budget)
        named = compared if compared is not None and compared.counts_by_name else None
        if sum(each is not None for each in (named, project, api_key_id)) > 1:
            accepted = "a mk.Budget, a project or an api_key_id, and only one of them"
            got = (budget, project, api_key_id)
            raise InputError("budget", got=got, accepted=accepted, then="")
        month_wanted = None if month is None else month_text(month)
        last_day = None if until is None else read_day("until", until)
        today = await self._today()
        month_wanted = month_wanted or month_of(today)
        forecasting.refuse_future(month_wanted, today)
        first, last = (
            forecasting.first_day_needed(month_wanted),
            min(today, end_of_month(month_wanted)),
        )
        before_micro_usd = 0
        of = ""
        if named is not None:
            store = self._history.store
            totals, before_micro_usd = await to_thread.run_sync(
                budget_days, store, named, month_wanted, first, last
            )
            of = f" under the budget {shown(named.name)}"
        else:
            if project is not None:
                daily = await self._charged(first, last, project)
                of = f" for the project {shown(project)}"
            elif api_key_id is not None:
                daily = await self.daily(first, last)
            else:
                daily, of = await self._daily_or_charges(first, last)
            if api_key_id is not None:
                daily = _of_key(daily, api_key_id)
                of = f" by the key {shown(api_key_id)}"
            totals = forecasting.daily_totals(daily, first, last)
        make = partial(
            forecasting.forecast_month,
            of=of,
            before_micro_usd=before_micro_usd,
            project=project,
            api_key_id=api_key_id,
            until=last_day,
        )
        return await to_thread.run_sync(make, month_wanted, totals, today, compared)

    async def anomalies(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        *,
        by: By = None,
    ) -> pd.DataFrame:
        """Find the days that cost far more or less than their weekday usually does.

        A day is compared with the median of its weekday over the eight weeks before,
        and with how far the days before were from theirs. Today, which is not complete,
        and a day with less than three weeks of spend before it are not judged. A day
        with more refunds than charges is always listed. If the daily report cannot be
        read, the charges in this history are judged, and an `mk.IncompleteDataWarning`
        says so.

        Args:
            start: The first day, YYYY-MM-DD in UTC; 30 days up to `end` when omitted.
            end: The last day, included; yesterday by the service's clock when omitted.
            by: Judge each group separately: "function", "kind", "key", "model" or
                "project", or a list of these.

        Returns:
            One row per unusual day: day (datetime64), the columns `by` (str),
            charge_micro_usd and usual_micro_usd (int64), z_score (float64, how far off
            the logarithm is, in robust standard deviations), factor (float64, charge
            by usual) and direction (str: high, low).

        Raises:
            InputError: A day cannot be read, or there is no such column; nothing was
                sent.
            ServiceError: The service does not respond.
        """
        columns = [COLUMNS[name][0] for name in read_by(by) or ()]
        first_day = None if start is None else read_day("start", start)
        last_day = None if end is None else read_day("end", end)
        yesterday = await self._today() - timedelta(days=1)
        last = min(last_day or yesterday, yesterday)
        first = first_day or days_before(last, DEFAULT_DAYS - 1)
        day_range(first, last_day or max(first, last))
        if first > yesterday:
            accepted = f"a day that is over, up to {yesterday.isoformat()}"
            raise InputError(
                "start", got=first.isoformat(), accepted=accepted, spec="4.19", then=""
            )
        since = first - forecasting.HISTORY
        daily, _ = await self._daily_or_charges(since, last, by)
        return await to_thread.run_sync(anomalies_frame, daily, first, last, columns)

    async def _today(self) -> date:
        """Return today by the service's clock, reading the clock once."""
        if not self.service_clock.is_known:
            try:
                await self._days.rows(DayQuery(None, None))
            except ServiceError:
                if not self.service_clock.is_known:
                    raise
        return self.service_clock.today()

    async def _daily_or_charges(
        self, first: date, last: date, by: By = None
    ) -> tuple[pd.DataFrame, str]:
        """Read some days; from this history if the report is unreadable.

        Returns:
            The rows, and a note on their origin if they come from this history alone.
        """
        try:
            return await self.daily(first, last, by=by), ""
        except ServiceError as error:
            if error.status != OK or "key" in (read_by(by) or ()):
                raise
            text = f"{error.message} Only the charges in this history count."
        warnings.warn(text, IncompleteDataWarning, stacklevel=2)
        return await self._charged(first, last, None), " by the charges in this history"

    async def to_csv(self, month: str | None, path: str | Path) -> Path:
        """Save the CSV of a month as the service sends it (spec 4.19).

        Args:
            month: YYYY-MM in UTC; None for this month by the service's clock.
            path: The file; an existing file is replaced when the new one is complete.

        Returns:
            The path of the file.

        Raises:
            InputError: The month cannot be read or is in the future, or the file
                cannot be written.
            ServiceError: The service does not respond; no file is written.
        """
        content = await self._months.csv_content(month)
        return await to_thread.run_sync(write_file, path, content)

    async def charges(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        *,
        project: str | None = None,
    ) -> pd.DataFrame:
        """Return every settled charge in the history, with its request (spec 2.2).

        Nothing is sent: the charges of all keys of this service are read from the
        history.

        Args:
            start: The first day of settlement, YYYY-MM-DD in UTC; from the first
                charge on when omitted.
            end: The last day, included; up to the last charge when omitted.
            project: Only of this project.

        Returns:
            One row per charge, newest first: settled_at (datetime64 in UTC, as all
            times; when it was first read as settled) and its day, what was asked for,
            estimate, charge_micro_usd (int64), charge_usd (float64), variance_micro_usd
            (charge less the upper estimate, <NA> when that is unknown), runtime_s,
            rating and keep, then each parameter under its name, with the prefix
            `param_` if another column has that name. Text columns are str. The dtypes
            are the same without rows.

        Raises:
            InputError: A day cannot be read, the end is before the start, or the
                start is in the future.
        """
        first = None if start is None else read_day("start", start)
        last = None if end is None else read_day("end", end)
        if first is not None and last is not None:
            day_range(first, last)
        today = self.service_clock.today()
        if first is not None and first > today:
            accepted = f"a day up to today, {today.isoformat()} in UTC"
            raise InputError("start", got=first.isoformat(), accepted=accepted, then="")
        return await self._charged(first, last, project)

    async def _charges_from(self, first: date) -> pd.DataFrame:
        return await self._charged(first, None, None)

    async def _charged(
        self, first: date | None, last: date | None, project: str | None
    ) -> pd.DataFrame:
        store, service = self._history.store, self._history.service
        read = partial(charges_frame, store, service, first, last, project)
        return await to_thread.run_sync(read)

    async def report(
        self,
        month: str | None,
        path: str | Path,
        *,
        budget: AnyBudget | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Path:
        """Write the spend of a month as one HTML page, which opens without Jupyter.

        It contains the totals, the plots, the result of the reconciliation, the sums by
        function and by project, and every charge in this history as a table and as CSV.
        An existing file is replaced.

        Args:
            month: YYYY-MM in UTC; None for the current one.
            path: The file, such as "october.html".
            budget: The budget to compare with, a `Budget` or an amount.
            labels: Names for API keys, by their id, such as `{"key_...": "Mia"}`; the
                page then lists what each key spent.

        Returns:
            The file.

        Raises:
            InputError: The month cannot be read or has not begun, the budget is not
                an amount, or the file cannot be written.
            ServiceError: The service does not respond.
        """
        from mediakit.widgets.dashboard.page import write_report

        compared, names = budget_of("report", budget), labels or {}
        today = self.service_clock.today()
        return await write_report(self, today, month, Path(path), compared, names)


def _of_key(daily: pd.DataFrame, api_key_id: str) -> pd.DataFrame:
    """Return the rows of one key, if the service reports keys."""
    if len(daily) and daily["api_key_id"].isna().all():
        accepted = "omitted, because the service's daily report does not name API keys"
        raise InputError(
            "api_key_id", got=api_key_id, accepted=accepted, spec="4.19", then=""
        )
    return daily[daily["api_key_id"] == api_key_id]


def _checked_keys(own_keys: object) -> tuple[str, ...] | None:
    if own_keys is None or isinstance(own_keys, str):
        return own_keys if own_keys is None else (own_keys,)
    keys = tuple(own_keys) if isinstance(own_keys, Iterable) else (own_keys,)
    if not all(isinstance(key, str) for key in keys):
        accepted = "ids of API keys, as api_key_id in client.spend.daily()"
        raise InputError("own_keys", got=own_keys, accepted=accepted, then="")
    return keys
