"""For tests of a training repository: its parallel plan against its model, in the process of the test.

    from shardlint.testing import assert_plan_ok

    def test_the_plan_fits_the_model():
        assert_plan_ok(lambda: Transformer(ModelArgs()), PLAN, mesh={"tp": 4})

Torch must be installed; nothing else of shardlint needs it.
"""

from __future__ import annotations
