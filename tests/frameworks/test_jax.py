"""JAX over two nodes: Phalanx says where the coordinator is."""

from __future__ import annotations

import pytest
from conftest import Phalanx

from frameworks.helpers import EXAMPLES, completed, facts, output


def test_jax_trains_on_two_nodes(phalanx: Phalanx, jax_env: dict[str, str]) -> None:
    job = completed(phalanx, EXAMPLES / "jax/job.yml", jax_env)
    ranks = facts(job)
    assert sorted(rank["rank"] for rank in ranks) == [0, 1]
    assert all(rank["world_size"] == rank["devices"] == 2 for rank in ranks)
    assert ranks[0]["line"] == ranks[1]["line"]
    assert ranks[0]["losses"][-1] < ranks[0]["losses"][0] / 100
    assert output(job, "model/line.json") == {
        "slope": pytest.approx(3, abs=0.05),
        "height": pytest.approx(-1, abs=0.05),
    }
