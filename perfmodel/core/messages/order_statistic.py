"""Order statistics."""

MESSAGES = {
    "order_statistic.others": "--order-statistic depends on the distribution alone: leave {option} out, or "
    "leave --order-statistic out",
    "order_statistic.form": "{given!r}: expected K:N, e.g. 16:16 for the slowest of 16",
    "order_statistic.classes": "order statistic {order} of classes of {value} workers: each class "
    "needs at least one, and 1 <= k <= their number",
    "order_statistic.no_mean_of_classes": "the mean of number {order} of {workers} does not exist: "
    "together the {heaviest} heaviest tails have exponent {exponent:g}, and it must exceed 1",
    "order_statistic.too_many": "number {order} of {workers} workers that differ: at most "
    "{largest_mixed} are right, or the first or the last of any number",
    "order_statistic.range": "order statistic {k:g} of {n:g}: whole numbers with 1 <= k <= n <= "
    "{largest_sample:g} are right",
    "order_statistic.no_mean": "{law}: the mean of number {k:g} of {n:g} does not exist; it needs n "
    "- k + 1 = {left:g} > 1 / {tail_exponent:g} (a thinner tail, or a smaller k)",
}
